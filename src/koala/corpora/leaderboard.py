"""The ProPara leaderboard's TSV files: sentences, and grids in six columns."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from koala.corpora.corpus import SPLITS, Corpus, Example
from koala.document import Entity, Procedure, Step
from koala.errors import FileError
from koala.files import read_int, read_tsv
from koala.grid import COLUMNS, EMPTY, Cell, Grid, Row
from koala.grid.states import ABSENT, Action


def read_leaderboard(folder: str | Path) -> Corpus:
    """Read `sentences.tsv` and `answers.tsv` of every split; without answers, the template."""
    folder = Path(folder)
    splits = {}
    for split in SPLITS:
        here = folder / split
        if not here.is_dir():
            continue
        sentences = read_sentences(here / "sentences.tsv")
        answers = here / "answers.tsv"
        has_answers = answers.is_file()
        path = answers if has_answers else here / "dummy-predictions.tsv"
        grids = read_grids(path, sentences)
        splits[split] = tuple(_example_of(grid, has_answers) for grid in grids.values())
    if not splits:
        raise FileError(folder, f"has none of the folders {', '.join(SPLITS)}.")
    return Corpus("propara", splits)


def _example_of(grid: Grid, has_answers: bool) -> Example:
    steps = tuple(Step(text) for text in grid.steps)
    entities = tuple(Entity(name) for name in grid.names)
    procedure = Procedure(grid.id, steps, entities, convention="propara")
    return Example(procedure, grid if has_answers else None)


def read_sentences(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Read the sentences of every paragraph."""
    found: dict[str, dict[int, str]] = {}
    for number, row in read_tsv(path, ("paragraph", "step", "sentence")):
        step = read_int(row[1], "the step", path=path, line=number)
        steps = found.setdefault(row[0].strip(), {})
        if step in steps:
            raise FileError(path, f"step {step} of paragraph {row[0]} occurs twice.", line=number)
        steps[step] = " ".join(cell.strip() for cell in row[2:]).strip()
    for id, steps in found.items():
        missing = next((s for s in range(1, len(steps) + 1) if s not in steps), None)
        if missing is not None:
            raise FileError(path, f"step {missing} of paragraph {id} is missing.")
    return {id: tuple(steps[s] for s in sorted(steps)) for id, steps in found.items()}


def read_grids(
    path: str | Path, sentences: dict[str, tuple[str, ...]] | None = None
) -> dict[str, Grid]:
    """Read grids from the six columns; entities with the same name stay separate.

    Rows of two entities with the same name are interleaved in the file. A row continues the entity
    whose last `after` is its `before`.
    """
    rows: dict[str, dict[str, dict[int, list[Cell]]]] = {}
    for id, name, step, cell in _read_cells(path):
        rows.setdefault(id, {}).setdefault(name, {}).setdefault(step, []).append(cell)
    return {
        id: _build_grid(
            path,
            id,
            [(name, cells) for name, steps in by_name.items() for cells in _separate(steps)],
            sentences,
        )
        for id, by_name in rows.items()
    }


def read_predictions(
    path: str | Path, sentences: dict[str, tuple[str, ...]] | None = None
) -> dict[str, Grid]:
    """Read grids as the official evaluator does: one entity per name, and the last row counts.

    The location at a step without a row is unknown; columns after the sixth are ignored.
    """
    rows: dict[str, dict[str, dict[int, Cell]]] = {}
    for id, name, step, cell in _read_cells(path):
        rows.setdefault(id, {}).setdefault(name, {})[step] = cell
    return {
        id: _build_grid(path, id, list(by_name.items()), sentences) for id, by_name in rows.items()
    }


def fill_template(path: str | Path, grids: Mapping[str, Grid]) -> str:
    """Fill the rows of a template with predicted grids, in the template's order.

    If several entities have the same name, its rows at a step are filled with them in turn.
    """
    n_filled: Counter[tuple[str, str, int]] = Counter()
    lines = []
    for id, name, step, _ in _read_cells(path):
        rows = [row for row in grids[id].rows if row.name == name]
        index = n_filled[id, name, step]
        n_filled[id, name, step] += 1
        cell = rows[min(index, len(rows) - 1)].steps[step - 1]
        lines.append(f"{id}\t{step}\t{name}\t{cell.action}\t{cell.before}\t{cell.after}\n")
    return "".join(lines)


def _read_cells(path: str | Path) -> list[tuple[str, str, int, Cell]]:
    cells = []
    for number, row in read_tsv(path, COLUMNS):
        id, name = row[0].strip(), row[2]
        step = read_int(row[1], "the step", path=path, line=number)
        if not id or not name.strip():
            what = "participant" if id else "paragraph"
            raise FileError(path, f"the {what} is empty.", line=number)
        if row[3] not in Action.__members__:
            problem = f"the action is {row[3]!r}; expected one of {', '.join(Action)}."
            raise FileError(path, problem, line=number)
        cell = Cell(Action(row[3]), row[4], row[5])
        if cell.problem:  # the official evaluator also rejects these rows
            raise FileError(path, cell.problem, line=number)
        cells.append((id, name, step, cell))
    return cells


def _separate(steps: dict[int, list[Cell]]) -> list[dict[int, Cell]]:
    """Assign the rows of one name to the entities that have it."""
    entities: list[dict[int, Cell]] = [{} for _ in range(max(len(c) for c in steps.values()))]
    locations: list[str | None] = [None] * len(entities)
    has_existed = [False] * len(entities)
    for step in sorted(steps):
        free = list(range(len(entities)))
        # A creation goes first, to an entity that has not existed: being created again is rare.
        for cell in sorted(steps[step], key=lambda cell: step > 1 and cell.action != Action.CREATE):
            index = min(free, key=lambda i: (locations[i] != cell.before, has_existed[i], i))
            free.remove(index)
            entities[index][step] = cell
            locations[index] = cell.after
            has_existed[index] |= cell.before != ABSENT or cell.after != ABSENT
    return entities


def _build_grid(
    path: str | Path,
    id: str,
    named: list[tuple[str, dict[int, Cell]]],
    sentences: dict[str, tuple[str, ...]] | None,
) -> Grid:
    n_steps = max(max(cells) for _, cells in named)
    if sentences is None:
        steps: tuple[str, ...] = ("",) * n_steps
    elif id not in sentences:
        raise FileError(path, f"paragraph {id} has no sentences in the file of sentences.")
    elif len(sentences[id]) < n_steps:
        problem = f"paragraph {id} has a step {n_steps}, but only {len(sentences[id])} sentences."
        raise FileError(path, problem)
    else:
        steps = sentences[id]
    rows = (
        Row(name, tuple(cells.get(step, EMPTY) for step in range(1, len(steps) + 1)))
        for name, cells in named
    )
    return Grid(id, steps, tuple(rows))
