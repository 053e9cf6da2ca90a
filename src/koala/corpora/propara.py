"""ProPara: the released CSV files and the leaderboard's TSV files."""

from collections.abc import Sequence
from pathlib import Path

from koala.corpora.corpus import Corpus, Example
from koala.document import Entity, Procedure, Step
from koala.errors import FileError
from koala.files import read_csv, read_int, read_tsv
from koala.grid import COLUMNS, EMPTY, Cell, Grid, Row
from koala.states import ABSENT, Action

SPLITS = ("train", "dev", "test")
_ANNOTATIONS = "State_change_annotations.csv"


def is_here(folder: Path) -> bool:
    """Tell whether a folder holds ProPara."""
    return any((folder / name).is_dir() for name in ("csv", "leaderboard")) or (
        folder / _ANNOTATIONS
    ).is_file()


def read(folder: Path) -> Corpus:
    """Read ProPara; the CSV files have the prompts, the leaderboard the entities of test."""
    csv_folder = folder / "csv" if (folder / "csv").is_dir() else folder
    leaderboard = folder / "leaderboard"
    if not (csv_folder / _ANNOTATIONS).is_file():
        return read_leaderboard(leaderboard)
    corpus = read_released(csv_folder)
    if not leaderboard.is_dir():
        return corpus
    # The annotations of test are not public: its entities come from the template.
    test = read_leaderboard(leaderboard).splits.get("test", ())
    prompts = {e.procedure.id: e.procedure.prompt for e in corpus.splits["test"]}
    with_prompts = tuple(_with_prompt(example, prompts) for example in test)
    return Corpus("propara", {**corpus.splits, "test": with_prompts or corpus.splits["test"]})


def _with_prompt(example: Example, prompts: dict[str, str]) -> Example:
    old = example.procedure
    prompt = prompts.get(old.id, "")
    return Example(Procedure(old.id, old.steps, old.entities, prompt), example.gold)


# The released CSV files ---------------------------------------------------------------------------


def read_released(folder: str | Path) -> Corpus:
    """Read `Train_Dev_Test.csv`, `State_change_annotations.csv` and `Paragraphs.csv`.

    The text comes from the annotations: nine paragraphs differ from `Paragraphs.csv`, which is only
    read for paragraphs without annotations.
    """
    folder = Path(folder)
    partition = _read_partition(folder / "Train_Dev_Test.csv")
    annotated = _read_annotations(folder / _ANNOTATIONS)
    plain = _read_paragraphs(folder / "Paragraphs.csv")
    splits: dict[str, list[Example]] = {split: [] for split in SPLITS}
    for id, split in partition.items():
        example = annotated.get(id) or plain.get(id)
        if example is None:
            problem = f"paragraph {id} of {split} has neither annotations nor a text."
            raise FileError(folder, problem)
        splits[split].append(example)
    return Corpus("propara", {split: tuple(examples) for split, examples in splits.items()})


def _read_partition(path: Path) -> dict[str, str]:
    partition: dict[str, str] = {}
    for number, row in read_csv(path):
        if not any(row) or (number == 1 and row[0].lower() == "partition"):
            continue
        if len(row) < 2 or row[0] not in SPLITS:
            problem = f"{row!r} came; a split ({', '.join(SPLITS)}) and a paragraph were expected."
            raise FileError(path, problem, line=number)
        partition[row[1].strip()] = row[0]
    return partition


def _read_paragraphs(path: Path) -> dict[str, Example]:
    examples: dict[str, Example] = {}
    for number, row in read_csv(path):
        if not any(row) or number == 1:
            continue
        if len(row) < 4:
            problem = f"{len(row)} columns came; topic, prompt, paragraph and sentences expected."
            raise FileError(path, problem, line=number)
        sentences = [cell.strip() for cell in row[3:] if cell.strip()]
        steps = tuple(Step(sentence) for sentence in sentences)
        examples[row[2].strip()] = Example(Procedure(row[2].strip(), steps, prompt=row[1].strip()))
    return examples


def _read_annotations(path: Path) -> dict[str, Example]:
    """Read blocks of rows: participants, prompt, then states and events in turn."""
    blocks: list[list[tuple[int, list[str]]]] = []
    for number, row in read_csv(path):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) < 4:
            problem = f"{len(row)} columns came; paragraph, row, text and a participant expected."
            raise FileError(path, problem, line=number)
        if row[1] == "SID":
            blocks.append([])
        if not blocks:
            problem = f"row {row[1]!r} came before a row with SID and the participants."
            raise FileError(path, problem, line=number)
        blocks[-1].append((number, row))
    examples = (_read_block(path, block) for block in blocks)
    return {example.procedure.id: example for example in examples}


def _read_block(path: Path, block: Sequence[tuple[int, list[str]]]) -> Example:
    first_line, header = block[0]
    id = header[0].strip()
    columns = [index for index in range(3, len(header)) if header[index].strip()]
    names = [header[index].strip() for index in columns]
    prompt = ""
    texts: list[str] = []
    states: list[list[str]] = []
    for number, row in block[1:]:
        kind = row[1].strip()
        if row[0].strip() != id:
            problem = f"paragraph {row[0]!r} came inside paragraph {id!r}."
            raise FileError(path, problem, line=number)
        if kind == "":
            prompt = row[2].removeprefix("PROMPT:").strip()
        elif kind == f"state{len(states) + 1}" and len(states) == len(texts):
            states.append([row[index].strip() for index in columns])
            if not all(states[-1]):
                name = names[states[-1].index("")]
                raise FileError(path, f"the place of {name!r} is empty; use - or ?.", line=number)
        elif kind == f"event{len(texts) + 1}" and len(states) == len(texts) + 1:
            texts.append(row[2].strip())
        else:
            problem = (
                f"row {kind!r} came; "
                f"{f'event{len(texts) + 1}' if len(states) > len(texts) else f'state{len(states) + 1}'} "
                "was expected."
            )
            raise FileError(path, problem, line=number)
    if not texts or len(states) != len(texts) + 1:
        problem = f"paragraph {id}: {len(texts)} events and {len(states)} states; one more expected."
        raise FileError(path, problem, line=first_line)
    rows = (
        Row.from_locations(name, [state[column] for state in states])
        for column, name in enumerate(names)
    )
    steps = tuple(Step(text) for text in texts)
    procedure = Procedure(id, steps, tuple(Entity(name) for name in names), prompt)
    return Example(procedure, Grid(id, tuple(texts), tuple(rows)))


# The leaderboard's TSV files ----------------------------------------------------------------------


def read_leaderboard(folder: str | Path) -> Corpus:
    """Read `sentences.tsv` and `answers.tsv` (without it the template) of every split."""
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
        raise FileError(folder, f"none of the folders {', '.join(SPLITS)} is here.")
    return Corpus("propara", splits)


def _example_of(grid: Grid, has_answers: bool) -> Example:
    steps = tuple(Step(text) for text in grid.steps)
    entities = tuple(Entity(name) for name in grid.names)
    return Example(Procedure(grid.id, steps, entities), grid if has_answers else None)


def read_sentences(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Read paragraph, step and sentence of every line."""
    found: dict[str, dict[int, str]] = {}
    for number, row in read_tsv(path, ("paragraph", "step", "sentence")):
        step = read_int(row[1], "the step", path=path, line=number)
        steps = found.setdefault(row[0].strip(), {})
        if step in steps:
            raise FileError(path, f"step {step} of paragraph {row[0]} came twice.", line=number)
        steps[step] = row[2].strip()
    for id, steps in found.items():
        missing = next((s for s in range(1, len(steps) + 1) if s not in steps), None)
        if missing is not None:
            raise FileError(path, f"step {missing} of paragraph {id} is missing.")
    return {id: tuple(steps[s] for s in sorted(steps)) for id, steps in found.items()}


def read_grids(
    path: str | Path, sentences: dict[str, tuple[str, ...]] | None = None
) -> dict[str, Grid]:
    """Read grids from the six columns; entities of the same name stay apart.

    Rows of two entities with one name come interleaved: each is continued by the row whose `before`
    is its last `after`.
    """
    rows: dict[str, dict[str, dict[int, list[Cell]]]] = {}
    for id, name, step, cell in _read_cells(path):
        rows.setdefault(id, {}).setdefault(name, {}).setdefault(step, []).append(cell)
    return {
        id: _build_grid(
            path,
            id,
            [(name, cells) for name, steps in by_name.items() for cells in _pair(steps)],
            sentences,
        )
        for id, by_name in rows.items()
    }


def read_predictions(
    path: str | Path, sentences: dict[str, tuple[str, ...]] | None = None
) -> dict[str, Grid]:
    """Read grids as the official evaluator does: one entity a name, of two rows the last counts.

    Steps without a row count as unknown; columns past the sixth are ignored.
    """
    rows: dict[str, dict[str, dict[int, Cell]]] = {}
    for id, name, step, cell in _read_cells(path):
        rows.setdefault(id, {}).setdefault(name, {})[step] = cell
    return {
        id: _build_grid(path, id, list(by_name.items()), sentences) for id, by_name in rows.items()
    }


def _read_cells(path: str | Path) -> list[tuple[str, str, int, Cell]]:
    cells = []
    for number, row in read_tsv(path, COLUMNS):
        id, name = row[0].strip(), row[2]
        step = read_int(row[1], "the step", path=path, line=number)
        if not id or not name.strip():
            what = "participant" if id else "paragraph"
            raise FileError(path, f"the {what} is empty.", line=number)
        if row[3] not in Action.__members__:
            problem = f"the action is {row[3]!r}; one of {', '.join(Action)} was expected."
            raise FileError(path, problem, line=number)
        cell = Cell(Action(row[3]), row[4], row[5])
        problem_or_none = _contradiction(cell)
        if problem_or_none:
            raise FileError(path, problem_or_none, line=number)
        cells.append((id, name, step, cell))
    return cells


def _contradiction(cell: Cell) -> str | None:
    """Say what is wrong with a row on its own; the official evaluator refuses these too."""
    before_exists, after_exists = cell.before != ABSENT, cell.after != ABSENT
    match cell.action:
        case Action.NONE:
            is_fine, rule = cell.before == cell.after, "before and after are the same"
        case Action.CREATE:
            is_fine = not before_exists and after_exists
            rule = "before is - and after is a place or ?"
        case Action.MOVE:
            is_fine = before_exists and after_exists
            rule = "before and after are places or ?"
        case Action.DESTROY:
            is_fine = before_exists and not after_exists
            rule = "before is a place or ? and after is -"
    if is_fine and (cell.action == Action.NONE or (cell.before and cell.after)):
        return None
    return f"{cell.action} from {cell.before!r} to {cell.after!r}; with {cell.action}, {rule}."


def _pair(steps: dict[int, list[Cell]]) -> list[dict[int, Cell]]:
    """Deal the rows of one name to the entities that have it."""
    entities: list[dict[int, Cell]] = [{} for _ in range(max(len(c) for c in steps.values()))]
    places: list[str | None] = [None] * len(entities)
    has_existed = [False] * len(entities)
    for step in sorted(steps):
        free = list(range(len(entities)))
        # A creation is dealt first, to an entity that was never there: being created again is rare.
        for cell in sorted(steps[step], key=lambda cell: step > 1 and cell.action != Action.CREATE):
            index = min(free, key=lambda i: (places[i] != cell.before, has_existed[i], i))
            free.remove(index)
            entities[index][step] = cell
            places[index] = cell.after
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
        problem = f"paragraph {id} has {len(sentences[id])} sentences, step {n_steps} came."
        raise FileError(path, problem)
    else:
        steps = sentences[id]
    rows = (
        Row(name, tuple(cells.get(step, EMPTY) for step in range(1, len(steps) + 1)))
        for name, cells in named
    )
    return Grid(id, steps, tuple(rows))
