"""Related supervision as grids: location changes of OpenPI, and who is where in bAbI's tasks 1–3.

    python benchmarks/related_grids.py openpi DATA/other/openpi.tar.gz -o runs/openpi
    python benchmarks/related_grids.py babi DATA/other/babi.tar.gz -o runs/babi

The folder is as ProPara's leaderboard has it, so `koala train CONFIG --data runs/openpi` learns
from it; `training.start` then begins with that. Nothing is created or destroyed here.

OpenPI: "location of flour was in the bag before and in the bowl afterwards". Of an entity that the
text names, the places that it names count; others are unknown. What changed otherwise stays where
it is. bAbI: a text is the first ten statements of a story; who carries a thing takes it along.
"""

import argparse
import html
import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from openpi_texts import read_labelled

from koala.files import write_text
from koala.grid import Grid, Row
from koala.states import UNKNOWN

_CHANGE = re.compile(
    r"(?:^|, )([a-z ]+?) of (.+?) (?:was|were) (.+?) before and (.+?) afterwards(?=,|$)"
)
_LEADING = re.compile(
    r"^(?:now|still|placed|put|lying|sitting|in|into|inside|on|onto|at|off|out|outside|of|from|under|"
    r"over|near|by|beside|around|to|the|a|an|his|her|your|their|its|some) "
)
_STORY_STEPS = 10
_DEV = 10
"""Of so many procedures one is dev."""

Change = tuple[str, str, str, str]
"""Attribute, entity, before, after."""


def read_openpi(path: Path) -> Iterator[Grid]:
    """Give the grids of train and dev."""
    for id, article in (read_labelled(path, "dev") | read_labelled(path, "train")).items():
        if 3 <= len(article) <= 12:
            steps = tuple(" ".join(html.unescape(step).split()) for step, _ in article)
            changes = [_CHANGE.findall(html.unescape(answer).lower()) for _, answer in article]
            rows = _build_rows(" ".join(steps).lower(), changes)
            if rows:
                yield Grid(id.removeprefix("www.wikihow.com/"), steps, tuple(rows))


def _build_rows(text: str, changes: Sequence[Sequence[Change]]) -> list[Row]:
    """Build the rows of all entities that the text names from what changes in each step."""
    rows = []
    for name in dict.fromkeys(_strip(entity) for own in changes for _, entity, _, _ in own):
        if not _is_named(name, text):
            continue
        places = [UNKNOWN] * (len(changes) + 1)
        has_moved = False
        for step, own in enumerate(changes, 1):
            for attribute, entity, before, after in own:
                if attribute != "location" or _strip(entity) != name:
                    continue
                if not has_moved:
                    places[:step] = [_name_place(before, name, text)] * step
                has_moved = True
                places[step:] = [_name_place(after, name, text)] * (len(places) - step)
        rows.append(Row.from_locations(name, places))
    return rows


def _name_place(phrase: str, entity: str, text: str) -> str:
    place = _strip(phrase)
    return place if place != entity and _is_named(place, text) else UNKNOWN


def _strip(phrase: str) -> str:
    phrase = phrase.strip()
    while (shorter := _LEADING.sub("", phrase)) != phrase:
        phrase = shorter
    return phrase


def _is_named(name: str, text: str) -> bool:
    is_short = len(name) > 2 and len(name.split()) <= 3
    return is_short and re.search(rf"\b{re.escape(name)}s?\b", text) is not None


def read_babi(path: Path) -> Iterator[Grid]:
    """Give a grid of the beginning of every story of the training files."""
    for name, lines in _read_files(path):
        story: list[str] = []
        number = 0
        for line in [*lines, "1 "]:
            count, _, text = line.partition(" ")
            if count == "1" and story:
                number += 1
                yield _build_story(f"{name.split('/')[-1].split('_')[0]}-{number}", story)
                story = []
            if "\t" not in text and text.strip() and len(story) < _STORY_STEPS:
                story.append(text.strip())


def _read_files(path: Path) -> Iterator[tuple[str, list[str]]]:
    with tarfile.open(path) as archive:
        for member in archive:
            if member.name.endswith("_train.txt"):
                yield member.name, archive.extractfile(member).read().decode().splitlines()


_MOVES = re.compile(r"^(\w+) (?:moved|journeyed|went back|went|travelled) to the (\w+)\.$")
_TAKES = re.compile(r"^(\w+) (?:got|took|grabbed|picked up) the (\w+)(?: there)?\.$")
_LEAVES = re.compile(r"^(\w+) (?:left|dropped|discarded|put down) the (\w+)(?: there)?\.$")


def _build_story(id: str, steps: Sequence[str]) -> Grid:
    places: dict[str, list[str]] = {}
    carriers: dict[str, str] = {}
    for number, step in enumerate(steps, 1):
        for row in places.values():
            row.append(row[-1])
        if found := _MOVES.match(step):
            name, place = found.groups()
            for moved in (name, *(thing for thing, who in carriers.items() if who == name)):
                places.setdefault(moved, [UNKNOWN] * (number + 1))[-1] = place
        elif found := _TAKES.match(step):
            name, thing = found.groups()
            carriers[thing] = name
            here = places.setdefault(name, [UNKNOWN] * (number + 1))[-1]
            # It was there before it was taken.
            row = places.setdefault(thing, [here] * (number + 1))
            row[-1] = here
        elif found := _LEAVES.match(step):
            carriers.pop(found.group(2), None)
        else:
            raise SystemExit(f"{id}, step {number}: {step!r} is no statement that is known.")
    rows = [Row.from_locations(name.lower(), row) for name, row in places.items()]
    return Grid(id, tuple(steps), tuple(rows))


def write_folder(grids: Sequence[Grid], folder: Path) -> None:
    """Write sentences and answers of train and dev."""
    for split in ("train", "dev"):
        own = [grid for n, grid in enumerate(grids) if (n % _DEV == 0) == (split == "dev")]
        here = folder / "leaderboard" / split
        here.mkdir(parents=True, exist_ok=True)
        sentences = (
            f"{grid.id}\t{number}\t{step}\n"
            for grid in own
            for number, step in enumerate(grid.steps, 1)
        )
        write_text(here / "sentences.tsv", "".join(sentences))
        write_text(here / "answers.tsv", "".join(grid.to_tsv() for grid in own))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source", choices=("openpi", "babi"))
    parser.add_argument("archive", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    read = read_openpi if arguments.source == "openpi" else read_babi
    grids = list(read(arguments.archive))
    write_folder(grids, arguments.output)
    moves = sum(cell.action == "MOVE" for g in grids for row in g.rows for cell in row.steps)
    rows = sum(len(grid.rows) for grid in grids)
    print(f"{len(grids)} procedures, {rows} entities, {moves} moves")


if __name__ == "__main__":
    main()
