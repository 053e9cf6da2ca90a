"""Words that measure others: numbers, units and nouns of quantity."""

from collections.abc import Sequence

from koala.text.nlp import Word

# Units of measurement after a number: "20 minutes", "60 μl beads".
_UNITS = frozenset(
    {"second", "sec", "s", "minute", "min", "hour", "hr", "h", "day", "week", "month", "year"}
    | {"millimeter", "mm", "centimeter", "cm", "meter", "m", "kilometer", "km", "mile", "yard"}
    | {"inch", "in", "foot", "feet", "ft", "degree", "deg", "°", "°c", "°f", "ºc", "c", "f"}
    | {"gram", "g", "mg", "μg", "µg", "ug", "ng", "kilogram", "kg", "ounce", "oz", "pound", "lb"}
    | {"liter", "litre", "l", "ml", "μl", "µl", "ul", "cup", "pint", "quart", "gallon", "percent"}
    | {"teaspoon", "tsp", "tablespoon", "tbsp", "mol", "mm", "μm", "µm", "um", "nm", "rpm", "xg"}
    | {"fold", "mph", "psi", "time", "volt", "watt", "x", "%", "bar", "kpa", "mpa", "kw", "hz"}
    | {"v", "a", "u", "unit", "bp", "kda", "mile", "metre", "centimetre", "millimetre", "kilometre"}
    | {"kilo", "gramme", "dl", "cl", "microliter", "microlitre", "milliliter", "millilitre"}
)
# Symbols that mean nothing but a unit, with a number or without.
_SYMBOLS = frozenset(
    {
        "ml",
        "μl",
        "µl",
        "ul",
        "mg",
        "μg",
        "µg",
        "ug",
        "ng",
        "kg",
        "mm",
        "cm",
        "km",
        "nm",
        "rpm",
        "xg",
    }
    | {"mol", "mmol", "μmol", "µmol", "umol", "nmol", "pmol", "fmol", "μm", "µm", "°c"}
    | {"°f", "ºc", "tsp", "tbsp", "psi", "kpa", "mpa", "mph", "kda", "min", "sec", "hr"}
)
# Nouns that measure what follows *of*: "a splash of milk" is milk.
_MEASURES = frozenset(
    {"amount", "couple", "dash", "dozen", "drizzle", "glug", "gram", "half", "hundred", "kilo"}
    | {"kind", "knob", "liter", "litre", "lot", "majority", "million", "number", "ounce", "pair"}
    | {"pinch", "plenty", "pound", "quantity", "scoop", "sort", "splash", "spoon", "sprinkle"}
    | {
        "squirt",
        "tablespoon",
        "teaspoon",
        "thousand",
        "touch",
        "trace",
        "type",
        "variety",
        "volume",
    }
)


def is_measure(words: Sequence[Word], index: int) -> bool:
    """Return whether a word measures others: "60 μl", "12-inch", "27ul", "a splash of milk"."""
    word = words[index]
    form = word.text.lower()
    if word.pos == "NUM" or word.text[0].isdigit() or form in _SYMBOLS:
        return True
    is_quantity = word.lemma in _MEASURES or form.endswith(("ful", "fuls"))
    if is_quantity and index + 1 < len(words) and words[index + 1].text.lower() == "of":
        return True
    if form not in _UNITS and word.lemma not in _UNITS:
        return False
    before = index - 1
    if before > 0 and words[before].text == "-":
        before -= 1
    return before >= 0 and (words[before].pos == "NUM" or words[before].text[-1].isdigit())
