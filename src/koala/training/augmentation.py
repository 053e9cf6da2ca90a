"""Other texts made of those of a corpus, whose answers stay true: names exchanged, steps left out.

An entity gets the name of an entity of another text, everywhere: what is learnt of a text is then
what its words say happens, not what usually happens to such a thing. A step in which nothing
changes may be left out. A copy in which names are found in other steps than before, or in which the
answers name a place that is no longer found, is thrown away. Prompts may be hidden.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from koala.corpora import Example
from koala.document import Procedure
from koala.grid import Cell, Row
from koala.items import Item, group_items
from koala.prediction import annotate_as
from koala.settings import TextSettings, TrainingSettings
from koala.states import Action
from koala.text import Word

_NOUNS = frozenset({"NOUN", "PROPN"})
_FEWEST_STEPS = 2
_PLAIN = TextSettings()
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _Copy:
    """A changed example, the one it was made of as the tagger reads it, and the steps it keeps."""

    example: Example
    original: Example
    kept: Sequence[int]


def make_copies(
    examples: Sequence[Example], settings: TrainingSettings, text: TextSettings = _PLAIN
) -> list[Example]:
    """Make changed copies of each text; those in which nothing changed are left out."""
    generator = random.Random(0)
    procedures = annotate_as(text, [example.procedure for example in examples])
    nouns = [_find_nouns(procedure) for procedure in procedures]
    pool = sorted({noun for own in nouns for noun in own})
    made = []
    for number in range(1, settings.n_copies + 1):
        for example, procedure, own in zip(examples, procedures, nouns, strict=True):
            names = _draw_names(example, procedure, own, pool, settings.renamed, generator)
            kept = choose_steps(example, settings.dropped, generator)
            if not names and len(kept) == len(procedure.steps):
                continue
            copy = keep_steps(rename(example, procedure, names), kept)
            copy = _with_id(copy, f"{example.procedure.id}~{number}")
            made.append(_Copy(copy, replace(example, procedure=procedure), kept))
    found = annotate_as(text, [copy.example.procedure for copy in made])
    pairs = zip(made, found, strict=True)
    return [copy.example for copy, procedure in pairs if _is_true(copy, procedure)]


def hide_prompts(items: Sequence[Item], share: float, seed: int) -> list[Item]:
    """Leave out the prompts of some procedures, by chance.

    Those of koala's own corpus are always left out: they are titles, and who brings a text of that
    kind seldom gives one.
    """
    generator = random.Random(seed)
    found: list[Item] = []
    for group in group_items(items):
        if generator.random() < share or group[0].procedure.convention == "koala":
            bare = replace(group[0].procedure, prompt="")
            group = [replace(item, procedure=bare) for item in group]
        found += group
    return found


def _find_nouns(procedure: Procedure) -> list[str]:
    """Find the entities whose name is a single noun, and a noun wherever it stands: as lemmas."""
    words = [word for step in procedure.steps for word in step.words]
    found = []
    for entity in procedure.entities:
        name = entity.name.lower()
        lemmas = {word.lemma for word in words if name in (word.lemma, word.text.lower())}
        lemma = next(iter(lemmas), "")
        own = [word for word in words if word.lemma == lemma]
        if name.isalpha() and len(lemmas) == 1 and all(word.pos in _NOUNS for word in own):
            found.append(lemma)
    return list(dict.fromkeys(found))


def _draw_names(
    example: Example,
    procedure: Procedure,
    nouns: Sequence[str],
    pool: Sequence[str],
    share: float,
    generator: random.Random,
) -> dict[str, str]:
    """Draw a new name for some nouns: one that neither text nor answers have, each once."""
    rows = example.gold.rows if example.gold else ()
    said = [place for row in rows for place in row.locations]
    said += [entity.name for entity in procedure.entities]
    known = {word for phrase in said for word in _WORD.findall(phrase.lower())}
    for step in procedure.steps:
        known |= {form for word in step.words for form in (word.lemma, word.text.lower())}
    free = [name for name in pool if name not in known]
    chosen = [noun for noun in nouns if generator.random() < share][: len(free)]
    return dict(zip(chosen, generator.sample(free, len(chosen)), strict=True))


def rename(example: Example, annotated: Procedure, names: Mapping[str, str]) -> Example:
    """Put new names for some nouns, which are given as lemmas, in a text and its answers."""
    words = [word for step in annotated.steps for word in step.words if word.lemma in names]
    forms = dict(names) | {word.text.lower(): _inflect(word, names[word.lemma]) for word in words}

    def renamed(phrase: str) -> str:
        return _WORD.sub(lambda found: forms.get(found[0].lower(), found[0]), phrase)

    def renamed_cell(cell: Cell) -> Cell:
        return replace(cell, before=renamed(cell.before), after=renamed(cell.after))

    def renamed_row(row: Row) -> Row:
        return Row(renamed(row.name), tuple(map(renamed_cell, row.steps)))

    procedure, gold = example.procedure, example.gold
    steps = tuple(
        replace(step, text=_rename_words(step.text, tagged.words, names))
        for step, tagged in zip(procedure.steps, annotated.steps, strict=True)
    )
    entities = tuple(replace(each, name=renamed(each.name)) for each in procedure.entities)
    if gold is not None:
        texts, rows = tuple(step.text for step in steps), tuple(map(renamed_row, gold.rows))
        gold = replace(gold, steps=texts, rows=rows)
    prompt = renamed(procedure.prompt)
    procedure = replace(procedure, steps=steps, entities=entities, prompt=prompt)
    return replace(example, procedure=procedure, gold=gold)


def _inflect(word: Word, name: str) -> str:
    """Give a name the number of the word it stands for."""
    if word.text.lower() == word.lemma or not word.text.endswith("s"):
        return name
    if name.endswith(("s", "x", "z", "ch", "sh")):
        return f"{name}es"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return f"{name[:-1]}ies"
    return f"{name}s"


def _rename_words(text: str, words: Sequence[Word], names: Mapping[str, str]) -> str:
    for word in reversed(words):
        if word.lemma in names:
            new = _inflect(word, names[word.lemma])
            new = new.capitalize() if word.text[:1].isupper() else new
            text = text[: word.start] + new + text[word.end :]
    return text


def choose_steps(example: Example, share: float, generator: random.Random) -> list[int]:
    """Choose which steps stay: those in which something happens or is used, and some others."""
    numbers = range(len(example.procedure.steps))
    kept = [n for n in numbers if not _is_still(example, n) or generator.random() >= share]
    return kept if len(kept) >= _FEWEST_STEPS else list(numbers)


def _is_still(example: Example, number: int) -> bool:
    if example.gold is None:
        return False
    is_used = any(used[number] for used in example.takes_part or ())
    return not is_used and all(r.steps[number].action == Action.NONE for r in example.gold.rows)


def keep_steps(example: Example, kept: Sequence[int]) -> Example:
    """Leave out all steps but some."""
    procedure, gold, takes_part = example.procedure, example.gold, example.takes_part
    if gold is not None:
        rows = (replace(row, steps=tuple(row.steps[n] for n in kept)) for row in gold.rows)
        gold = replace(gold, steps=tuple(gold.steps[n] for n in kept), rows=tuple(rows))
    if takes_part is not None:
        takes_part = tuple(tuple(used[n] for n in kept) for used in takes_part)
    procedure = replace(procedure, steps=tuple(procedure.steps[n] for n in kept))
    return replace(example, procedure=procedure, gold=gold, takes_part=takes_part)


def _is_true(copy: _Copy, found: Procedure) -> bool:
    """Whether all is named where it was, and all places of the answers that were found still are.

    An entity or a place that was named may not lose its last mention.
    """
    before = copy.original.procedure
    for ours, theirs in zip(found.entities, before.entities, strict=True):
        named = {mention.step for mention in theirs.mentions}
        expected = {new for new, old in enumerate(copy.kept) if old in named}
        if {mention.step for mention in ours.mentions} != expected or bool(named) != bool(expected):
            return False
    known, was_known = ({c.name for c in each.candidates} for each in (found, before))
    return all(
        new in known
        for new, old in zip(_list_places(copy.example), _list_kept_places(copy), strict=True)
        if old in was_known
    )


def _list_places(example: Example) -> list[str]:
    rows = example.gold.rows if example.gold else ()
    return [place for row in rows for cell in row.steps for place in (cell.before, cell.after)]


def _list_kept_places(copy: _Copy) -> list[str]:
    return _list_places(keep_steps(copy.original, copy.kept))


def _with_id(example: Example, name: str) -> Example:
    gold = example.gold and replace(example.gold, id=name)
    return replace(example, procedure=replace(example.procedure, id=name), gold=gold)
