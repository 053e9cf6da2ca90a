"""Triple: one fact of ConceptNet, as data and as a sentence."""

from dataclasses import dataclass

PHRASES: dict[str, tuple[str, str | None]] = {
    "HasProperty": ("is", None),
    "DistinctFrom": ("is different from", None),
    "CapableOf": ("can", None),
    "ReceivesAction": ("can be", None),
    "IsA": ("is a type of", None),
    "AtLocation": ("can be found in", None),
    "HasSubevent": ("includes", "can mean that you"),
    "InstanceOf": ("is an example of", None),
    "HasPrerequisite": ("requires", "requires that you"),
    "SymbolOf": ("is a symbol of", None),
    "Entails": ("means to", None),
    "HasFirstSubevent": ("begins with", "begins when you"),
    "HasA": ("has", None),
    "CreatedBy": ("is created by", None),
    "DerivedFrom": ("is derived from", None),
    "MadeOf": ("is made of", None),
    "HasContext": ("is a word used in", None),
    "Desires": ("wants", "wants to"),
    "UsedFor": ("is used for", "is used to"),
    "LocatedNear": ("is near", None),
    "DefinedAs": ("is defined as", None),
    "NotCapableOf": ("cannot", None),
    "SimilarTo": ("is similar to", None),
    "Antonym": ("is the opposite of", None),
    "NotHasProperty": ("is not", None),
    "MannerOf": ("is a way to", None),
    "Synonym": ("means the same as", None),
    "NotDesires": ("does not want", "does not want to"),
    "PartOf": ("is a part of", None),
    "RelatedTo": ("is related to", None),
    "HasLastSubevent": ("ends with", "ends when you"),
    "Causes": ("causes", "makes you"),
}
"""Relation → its phrase, and the phrase before a verb ("is used to cut bread") if it differs."""

RELATIONS = tuple(PHRASES)
"""The 32 relations that the paper uses."""

EITHER_SIDE = frozenset(
    {
        "DistinctFrom",
        "HasSubevent",
        "HasPrerequisite",
        "Entails",
        "HasFirstSubevent",
        "HasA",
        "LocatedNear",
        "DefinedAs",
        "SimilarTo",
        "Antonym",
        "Synonym",
        "PartOf",
        "RelatedTo",
        "HasLastSubevent",
        "Causes",
    }
)
"""Relations in which the entity may be head or tail; in all others it must be the head."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_VERBS = _set(
    """
    absorb accept achieve acquire add adjust admit affect agree allow analyze announce apply argue
    arrange arrive ask attend attract avoid bake be become begin believe belong borrow breathe bring
    build bury buy calculate carry celebrate chew choose clean collect come commit communicate
    compare compete complain concentrate connect consider construct consume contain continue convert
    cook create decide decorate defend deliver describe destroy determine develop die digest
    discover discuss do drown earn eat eliminate enjoy enroll enter entertain establish examine
    explain explode expose express fail feel fill find follow forget gather get give go grow happen
    have hear hurt identify improve include inhale injure interact introduce invest investigate
    invite join keep know lay learn leave lend let lie listen live locate lose maintain make manage
    marry meet observe obtain operate organize pay perceive perform pick pour pray prepare pretend
    prevent protect prove provide punish put read receive recognize reduce relax remember remove
    represent reproduce save say see seek select sell send separate serve settle shut sing sit
    socialize solve speak spend stay steal straighten strengthen succeed suffer take teach tell
    think throw understand wait wake want wear weigh wipe write
    """
)
"""Verbs that begin ConceptNet's activities ("make bread") and hardly ever a noun phrase."""

_VERBS_AND_NOUNS = _set(
    """
    cut dig drink fall fix gain grab hold kill lift look move pass play produce purchase raise reach
    ride stand start stop study swim talk thank travel try turn use visit walk wash watch win work
    """
)
"""Words that are verbs only if more words follow: "play the piano", but not "play"."""

_EVENTS = frozenset(
    {"HasSubevent", "HasPrerequisite", "HasFirstSubevent", "HasLastSubevent", "Causes"}
)
_BETWEEN_VERBS = frozenset({"Entails", "MannerOf"})
_PREPOSITIONS = _set("at by for from in of on to with without")
_PLURALS = _set(
    """
    algae bacteria cattle children feet fungi geese larvae men mice people police teeth women
    """
)
_SINGULARS = _set(
    """
    atlas bias canvas christmas diabetes gas lens mars mathematics molasses news pancreas physics
    series texas
    """
)


@dataclass(frozen=True, slots=True)
class Triple:
    """A head and a tail concept, in lower case with spaces, and the relation between them."""

    head: str
    relation: str
    tail: str
    weight: float = 1.0
    """ConceptNet's weight after the paper's re-weighting."""
    is_estimate: bool = False
    """Whether the source gave no weight, so that it is estimated."""
    head_pos: str | None = None
    """n, v, a, r: noun, verb, adjective, adverb; None: unknown."""
    tail_pos: str | None = None

    @property
    def phrase(self) -> str:
        """The relation in natural language, as an encoder reads it: `is a part of`."""
        return PHRASES[self.relation][0]

    @property
    def sentence(self) -> str:
        """The triple as a pseudo-sentence.

        >>> Triple("leaf", "PartOf", "plant").sentence
        'leaf is a part of plant'
        >>> Triple("knives", "UsedFor", "cut bread", tail_pos="v").sentence
        'knives are used to cut bread'
        """
        head, (phrase, before_verb) = self.head, PHRASES[self.relation]
        is_event = self.relation in _EVENTS
        if before_verb and _is_verb(self.tail, self.tail_pos):
            phrase = before_verb
        if self.relation in _BETWEEN_VERBS or (is_event and _is_verb(head, self.head_pos)):
            head = f"to {head}"
        elif _is_plural(head) and not (is_event and _is_gerund(head)):
            phrase = _agree(phrase)
        return f"{head} {phrase} {self.tail}"


def _is_verb(text: str, pos: str | None) -> bool:
    if pos is not None:
        return pos == "v"
    first, _, rest = text.partition(" ")
    return first in _VERBS or (rest != "" and first in _VERBS_AND_NOUNS)


def _is_gerund(text: str) -> bool:
    """Return whether a phrase is an activity: making bread."""
    first, _, rest = text.partition(" ")
    return first.endswith("ing") and rest != ""


def _is_plural(text: str) -> bool:
    """Judge by the head of the noun phrase: cans of soup, tectonic plates."""
    words = text.split(" ")
    cut = next((n for n, word in enumerate(words) if n and word in _PREPOSITIONS), len(words))
    word = words[cut - 1]
    if word in _PLURALS:
        return True
    return len(word) > 3 and word.endswith("s") and not _is_singular_in_s(word)


def _is_singular_in_s(word: str) -> bool:
    return word in _SINGULARS or word.endswith(("ss", "us", "is", "'s"))


def _agree(phrase: str) -> str:
    """Turn the verb into the plural: is → are, requires → require."""
    verb, space, rest = phrase.partition(" ")
    irregular = {"is": "are", "has": "have", "does": "do"}
    return irregular.get(verb, verb.removesuffix("s")) + space + rest
