"""koala's own corpus: plain text, a folder per split, a file per field. The format of a procedure
(`corpus/GUIDE.md`):

# [sub-field] Title or question
1. First step.
2. Second step.
entity ; alias | before step 1 | after step 1 | after step 2
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from koala.corpora.corpus import SPLITS, Corpus, Example
from koala.document import Entity, Procedure, Step
from koala.errors import FileError, KoalaError
from koala.files import read_text
from koala.grid import Grid, Row

NAME = "written"
"""The name of the corpus in settings."""

_TITLE = re.compile(r"#\s*\[(?P<topic>[^\]]+)\]\s*(?P<title>\S.*)")
_STEP = re.compile(r"\d+[.)]\s+(?P<text>\S.*)")
_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class WrittenProcedure:
    """A procedure of the corpus, with its field and where it is in the file."""

    field: str
    """The name of the file: kitchen, wet-lab, …"""
    topic: str
    """The sub-field, in square brackets before the title."""
    example: Example
    line: int
    """The line of the title."""


def is_here(folder: Path) -> bool:
    """Tell whether a folder holds a corpus of this format."""
    return any(any((folder / split).glob("*.txt")) for split in SPLITS)


def read(folder: Path) -> Corpus:
    """Read all splits in a folder."""
    splits = {
        split: tuple(each.example for each in read_split(folder / split))
        for split in SPLITS
        if (folder / split).is_dir()
    }
    return Corpus(NAME, splits)


def read_corpus_grids(folder: Path) -> dict[str, Grid]:
    """Read the gold grids of all splits, by the id of the procedure."""
    examples = [e for split in read(folder).splits.values() for e in split]
    return {e.procedure.id: e.gold for e in examples if e.gold is not None}


def read_split(folder: Path) -> list[WrittenProcedure]:
    """Read all files of a folder in the order of their names."""
    return [each for path in sorted(folder.glob("*.txt")) for each in read_file(path)]


def read_examples(path: str | Path) -> list[Example]:
    """Read a file, all files of a folder, or the train split of a whole corpus."""
    path = Path(path)
    if not path.is_dir():
        return [each.example for each in read_file(path)]
    if is_here(path):
        path = path / "train"
    examples = [each.example for each in read_split(path)]
    if not examples:
        raise FileError(path, "this folder has no *.txt files; expected files of procedures.")
    return examples


def read_file(path: str | Path) -> list[WrittenProcedure]:
    """Read the procedures of one field."""
    path = Path(path)
    found: dict[str, WrittenProcedure] = {}
    for block in _split_blocks(read_text(path)):
        number = block[0][0]
        try:
            written = _read_block(block, path.stem)
            if written.example.procedure.id in found:
                raise KoalaError("This title occurs twice. Give each procedure its own title.")
        except KoalaError as error:
            raise FileError(path, str(error), line=number) from None
        found[written.example.procedure.id] = written
    return list(found.values())


def _split_blocks(text: str) -> Iterator[list[tuple[int, str]]]:
    """Give blocks of lines, separated by blank lines; each line has its number."""
    block: list[tuple[int, str]] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.strip():
            block.append((number, line.strip()))
        elif block:
            yield block
            block = []


def _read_block(block: Sequence[tuple[int, str]], field: str) -> WrittenProcedure:
    number, first = block[0]
    title = _TITLE.fullmatch(first)
    if title is None:
        raise KoalaError(f"Expected '# [sub-field] Title', got {first!r}.")
    steps: list[str] = []
    rows: list[Row] = []
    for _, line in block[1:]:
        if "|" in line:
            rows.append(_read_row(line, len(steps)))
        elif rows:
            raise KoalaError(f"{line!r} is after the entities; put all steps before them.")
        elif (step := _STEP.fullmatch(line)) is not None:
            steps.append(step["text"])
        else:
            raise KoalaError(f"{line!r} is neither '1. A step.' nor 'entity | cell | …'.")
    if not steps or not rows:
        missing = "lines of entities" if steps else "steps"
        raise KoalaError(f"The procedure has no {missing}.")
    name = title["title"].strip()
    id = f"{field}/{_SLUG.sub('-', name.lower()).strip('-')}"
    procedure = Procedure(
        id, tuple(map(Step, steps)), tuple(Entity(row.name) for row in rows), question=name
    )
    return WrittenProcedure(
        field,
        title["topic"].strip(),
        Example(procedure, Grid(id, tuple(steps), tuple(rows))),
        number,
    )


def _read_row(line: str, n_steps: int) -> Row:
    name, *cells = (cell.strip() for cell in line.split("|"))
    if len(cells) != n_steps + 1:
        raise KoalaError(f"{name}: expected {n_steps + 1} cells, got {len(cells)}.")
    if not name or not all(cells):
        raise KoalaError(f"{line!r} has an empty name or cell; write - or ?.")
    return Row.from_locations("; ".join(part.strip() for part in name.split(";")), cells)


def build_written(grid: Grid, *, title: str, topic: str) -> WrittenProcedure:
    """Build a procedure of the corpus from a grid, as gold; refuse what the format cannot hold."""
    title, topic = " ".join(title.split()), " ".join(topic.split())
    if not title or not topic:
        raise KoalaError("A procedure of the corpus needs a title and a sub-field; one is empty.")
    if "]" in topic:
        raise KoalaError(f"The sub-field {topic!r} has a square bracket; leave it out.")
    for row in grid.rows:
        if row.problem:
            raise KoalaError(f"Entity {row.name!r}: {row.problem}")
    texts = [*grid.steps, *(text for row in grid.rows for text in (row.name, *row.locations))]
    for text in texts:
        if "|" in text:
            raise KoalaError(f"{text!r:.80} has a |, which separates cells here; replace it.")
    if not grid.steps or not grid.rows:
        raise KoalaError("A procedure of the corpus needs steps and entities; there are none.")
    steps = tuple(" ".join(step.split()) for step in grid.steps)
    rows = tuple(
        Row.from_locations("; ".join(row.aliases), [" ".join(c.split()) for c in row.locations])
        for row in grid.rows
    )
    procedure = Procedure(
        grid.id, tuple(map(Step, steps)), tuple(Entity(row.name) for row in rows), question=title
    )
    gold = Grid(grid.id, steps, rows)
    return WrittenProcedure("", topic, Example(procedure, gold), line=1)


def write_procedures(procedures: Iterable[WrittenProcedure]) -> str:
    """Give procedures as text in the format that `read_file` reads."""
    blocks = []
    for written in procedures:
        procedure, gold = written.example.procedure, written.example.gold
        lines = [f"# [{written.topic}] {procedure.question}"]
        lines += [f"{number}. {step.text}" for number, step in enumerate(procedure.steps, 1)]
        for row in gold.rows if gold else ():
            lines.append(" | ".join([" ; ".join(row.aliases), *row.locations]))
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)
