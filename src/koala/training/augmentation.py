"""Other texts made of those of a corpus, whose answers stay true: names exchanged, steps left out.

An entity gets the name of an entity of another text, everywhere: what is learnt of a text is then
what its words say happens, not what usually happens to such a thing. A step in which nothing
changes may be left out.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from koala.corpora import Example
from koala.document import Procedure
from koala.grid import Cell, Grid
from koala.states import Action
from koala.text import Word, analyze

_NOUNS = frozenset({"NOUN", "PROPN"})
_FEWEST_STEPS = 2


def make_copies(
    examples: Sequence[Example], n_copies: int, *, renamed: float, dropped: float
) -> list[Example]:
    """Make changed copies of each text; one in which nothing changed is left out.

    Renamed: a share of the entities whose name is a single noun; dropped: of the steps in which
    nothing happens.
    """
    generator = random.Random(0)
    texts = [step.text for example in examples for step in example.procedure.steps]
    found = iter(analyze(texts))
    words = [[next(found).words for _ in example.procedure.steps] for example in examples]
    lemmas = [_find_lemmas(example, own) for example, own in zip(examples, words, strict=True)]
    pool = sorted({lemma for own in lemmas for lemma in own})
    copies = []
    for number in range(n_copies):
        for example, own_words, own_lemmas in zip(examples, words, lemmas, strict=True):
            names = _draw_names(own_lemmas, pool, own_words, renamed, generator)
            copy = rename(example, own_words, names)
            copy = drop_steps(copy, dropped, generator)
            if copy != example:
                copies.append(_with_id(copy, f"{example.procedure.id}~{number + 1}"))
    return copies


def _find_lemmas(example: Example, words: Iterable[Sequence[Word]]) -> list[str]:
    """Find the entities whose name is a single noun, and a noun wherever it stands: as lemmas."""
    seen = [word for step in words for word in step]
    lemmas = []
    for entity in example.procedure.entities:
        name = entity.name.lower()
        own = [word for word in seen if name in (word.lemma, word.text.lower())]
        if name.isalpha() and own and all(word.pos in _NOUNS for word in own):
            lemmas.append(own[0].lemma)
    return [
        lemma
        for lemma in dict.fromkeys(lemmas)
        if all(word.pos in _NOUNS for word in seen if word.lemma == lemma)
    ]


def _draw_names(
    lemmas: Sequence[str],
    pool: Sequence[str],
    words: Iterable[Sequence[Word]],
    share: float,
    generator: random.Random,
) -> dict[str, str]:
    """Draw a new name for some lemmas: one that does not stand in the text, each once."""
    known = {word.lemma for step in words for word in step}
    free = [name for name in pool if name not in known]
    chosen = [lemma for lemma in lemmas if generator.random() < share][: len(free)]
    return dict(zip(chosen, generator.sample(free, len(chosen)), strict=True))


def rename(example: Example, words: Sequence[Sequence[Word]], names: Mapping[str, str]) -> Example:
    """Put new names for some lemmas in a text, its entities and its answers."""
    forms = {
        word.text.lower(): _inflect(word, names[word.lemma])
        for step in words
        for word in step
        if word.lemma in names
    } | dict(names)
    procedure = example.procedure
    steps = tuple(
        replace(step, text=_rename_words(step.text, own, names))
        for step, own in zip(procedure.steps, words, strict=True)
    )
    entities = tuple(
        replace(entity, name=_rename_name(entity.name, forms)) for entity in procedure.entities
    )
    gold = example.gold
    if gold is not None:
        gold = replace(
            gold,
            steps=tuple(step.text for step in steps),
            rows=tuple(
                replace(
                    row,
                    name=_rename_name(row.name, forms),
                    steps=tuple(_rename_cell(cell, forms) for cell in row.steps),
                )
                for row in gold.rows
            ),
        )
    prompt = _rename_name(procedure.prompt, forms)
    return replace(
        example,
        procedure=replace(procedure, steps=steps, entities=entities, prompt=prompt),
        gold=gold,
    )


def _rename_cell(cell: Cell, forms: Mapping[str, str]) -> Cell:
    before, after = (_rename_name(place, forms) for place in (cell.before, cell.after))
    return replace(cell, before=before, after=after)


def _inflect(word: Word, name: str) -> str:
    """Give a name the number of the word it stands for."""
    is_plural = word.text.lower() != word.lemma and word.text.endswith("s")
    return f"{name}s" if is_plural and not name.endswith("s") else name


def _rename_words(text: str, words: Sequence[Word], names: Mapping[str, str]) -> str:
    for word in reversed(words):
        if word.lemma in names:
            new = _inflect(word, names[word.lemma])
            new = new.capitalize() if word.text[:1].isupper() else new
            text = text[: word.start] + new + text[word.end :]
    return text


def _rename_name(name: str, forms: Mapping[str, str]) -> str:
    """Exchange the words of a name; what stands between them stays."""
    return " ".join(
        forms.get(word.lower().rstrip(";"), word.rstrip(";")) + ";" * word.endswith(";")
        for word in name.split(" ")
    )


def drop_steps(example: Example, share: float, generator: random.Random) -> Example:
    """Leave out some of the steps in which nothing changes and nothing is used."""
    gold = example.gold
    if gold is None or not share:
        return example
    kept = [
        number
        for number in range(len(gold.steps))
        if not _is_still(example, gold, number) or generator.random() >= share
    ]
    if len(kept) < _FEWEST_STEPS:
        return example
    procedure, takes_part = example.procedure, example.takes_part
    return replace(
        example,
        procedure=replace(procedure, steps=tuple(procedure.steps[number] for number in kept)),
        gold=replace(
            gold,
            steps=tuple(gold.steps[number] for number in kept),
            rows=tuple(
                replace(row, steps=tuple(row.steps[number] for number in kept)) for row in gold.rows
            ),
        ),
        takes_part=takes_part
        and tuple(tuple(used[number] for number in kept) for used in takes_part),
    )


def _is_still(example: Example, gold: Grid, number: int) -> bool:
    if any(row.steps[number].action != Action.NONE for row in gold.rows):
        return False
    return not any(used[number] for used in example.takes_part or ())


def _with_id(example: Example, name: str) -> Example:
    procedure: Procedure = replace(example.procedure, id=name)
    gold = example.gold
    return replace(example, procedure=procedure, gold=gold and replace(gold, id=name))
