"""Gold locations of koala's own corpus, as the text writes them, matched to location candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from koala.corpora.corpus import Example
from koala.document import Procedure
from koala.document.candidates import surface_of
from koala.grid import Grid, Row
from koala.grid.states import ABSENT, UNKNOWN
from koala.text.nlp import stem


def name_as_candidates(
    examples: Sequence[Example], procedures: Sequence[Procedure]
) -> list[Example]:
    """Rename the gold locations of koala's own corpus to the names of the candidates.

    The corpus writes a location as the text does ("drying cabinets"), while a candidate's name
    consists of lemmas ("dry cabinet"). Grids in ProPara's convention are in lemmas already.
    """
    return [
        replace(example, gold=_rename(example.gold, find_written_names(procedure)))
        if example.gold is not None and procedure.convention == "koala"
        else example
        for example, procedure in zip(examples, procedures, strict=True)
    ]


def find_written_names(procedure: Procedure) -> dict[str, str]:
    """Map the spellings of every candidate to its name, as `squeeze` gives them and by stems."""
    names: dict[str, str] = {}
    for key in (squeeze, _squeeze_stems):
        for candidate in procedure.candidates:
            for span in candidate.mentions:
                names.setdefault(key(surface_of(procedure.steps, span)), candidate.name)
            names.setdefault(key(candidate.name), candidate.name)
    return names


def squeeze(phrase: str) -> str:
    """Keep only letters and digits, in lower case: "Round-bottom flask" is "roundbottomflask"."""
    return "".join(letter for letter in phrase.lower() if letter.isalnum())


def _squeeze_stems(phrase: str) -> str:
    return "".join(stem(squeeze(word)) for word in phrase.replace("-", " ").split())


def _rename(grid: Grid, names: Mapping[str, str]) -> Grid:
    def named(location: str) -> str:
        if location in (ABSENT, UNKNOWN):
            return location
        return names.get(squeeze(location)) or names.get(_squeeze_stems(location)) or location

    rows = tuple(
        Row.from_locations(row.name, [named(location) for location in row.locations])
        for row in grid.rows
    )
    return replace(grid, rows=rows)
