"""ProPara as released: CSV files with questions ("prompts") and the grids of train and dev."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from koala.corpora.annotators import PATTERN, build_grids, find_changes, read_changes
from koala.corpora.corpus import SPLITS, Corpus, Example
from koala.corpora.leaderboard import read_leaderboard
from koala.document import Entity, Procedure, Step
from koala.errors import FileError
from koala.files import read_csv
from koala.grid import Grid, Row

_ANNOTATIONS, _PARAGRAPHS = "State_change_annotations.csv", "Paragraphs.csv"
_DEPTH = 3
"""Folders from a file of answers up to the corpus: `leaderboard/dev/answers.tsv`."""


def is_here(folder: Path) -> bool:
    """Tell whether a folder holds ProPara."""
    return (
        any((folder / name).is_dir() for name in ("csv", "leaderboard"))
        or (folder / _ANNOTATIONS).is_file()
    )


def read(folder: Path) -> Corpus:
    """Read ProPara: questions from the CSV files, the entities of test from the leaderboard."""
    csv_folder = folder / "csv" if (folder / "csv").is_dir() else folder
    leaderboard = folder / "leaderboard"
    labels = folder / "sentence-labels"
    if not (csv_folder / _ANNOTATIONS).is_file():
        return add_annotators(read_leaderboard(leaderboard), labels)
    corpus = add_annotators(read_released(csv_folder), labels)
    if not leaderboard.is_dir():
        return corpus
    # The annotations of test are not public; its entities are in the leaderboard's template.
    test = read_leaderboard(leaderboard).splits.get("test", ())
    questions = {e.procedure.id: e.procedure.question for e in corpus.splits["test"]}
    with_questions = tuple(_with_question(example, questions) for example in test)
    return Corpus("propara", {**corpus.splits, "test": with_questions or corpus.splits["test"]})


def add_annotators(corpus: Corpus, folder: Path) -> Corpus:
    """Add the grids of single annotators, if the folder of the published labels exists."""
    if not any(folder.glob(PATTERN)):
        return corpus
    changes = read_changes(find_changes(folder))
    splits = {
        split: tuple(
            replace(
                example,
                annotators=build_grids(example.gold, changes.get(example.procedure.id, ())),
            )
            if example.gold
            else example
            for example in examples
        )
        for split, examples in corpus.splits.items()
    }
    return replace(corpus, splits=splits)


def _with_question(example: Example, questions: dict[str, str]) -> Example:
    procedure = example.procedure
    question = questions.get(procedure.id, "")
    return replace(example, procedure=replace(procedure, question=question))


def read_released(folder: str | Path) -> Corpus:
    """Read `Train_Dev_Test.csv`, `State_change_annotations.csv` and `Paragraphs.csv`.

    Texts are taken from the annotations, as nine paragraphs differ in `Paragraphs.csv`; that file
    is read only for paragraphs without annotations.
    """
    folder = Path(folder)
    partition = _read_partition(folder / "Train_Dev_Test.csv")
    annotated = _read_annotations(folder / _ANNOTATIONS)
    plain = _read_paragraphs(folder / _PARAGRAPHS)
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
            problem = f"expected a split ({', '.join(SPLITS)}) and a paragraph, got {row!r}."
            raise FileError(path, problem, line=number)
        partition[row[1].strip()] = row[0]
    return partition


def read_questions(path: str | Path) -> dict[str, str]:
    """Read the question of every paragraph from `Paragraphs.csv`."""
    examples = _read_paragraphs(Path(path))
    return {id: example.procedure.question for id, example in examples.items()}


def find_questions(answers: Path) -> Path | None:
    """Find `Paragraphs.csv` of the ProPara folder that a file of answers is in, if there is one."""
    for folder in answers.resolve().parents[:_DEPTH]:
        for path in (folder / _PARAGRAPHS, folder / "csv" / _PARAGRAPHS):
            if path.is_file():
                return path
    return None


def _read_paragraphs(path: Path) -> dict[str, Example]:
    examples: dict[str, Example] = {}
    for number, row in read_csv(path):
        if not any(row) or number == 1:
            continue
        if len(row) < 4:
            problem = f"expected topic, prompt, paragraph and sentences, got {len(row)} columns."
            raise FileError(path, problem, line=number)
        sentences = [cell.strip() for cell in row[3:] if cell.strip()]
        steps = tuple(Step(sentence) for sentence in sentences)
        examples[row[2].strip()] = Example(
            Procedure(row[2].strip(), steps, question=row[1].strip())
        )
    return examples


def _read_annotations(path: Path) -> dict[str, Example]:
    """Read blocks of rows: participants, prompt, then alternating states and events."""
    blocks: list[list[tuple[int, list[str]]]] = []
    for number, row in read_csv(path):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) < 4:
            problem = f"expected paragraph, row, text and a participant, got {len(row)} columns."
            raise FileError(path, problem, line=number)
        if row[1] == "SID":
            blocks.append([])
        if not blocks:
            problem = f"expected a row with SID and the participants first, got {row[1]!r}."
            raise FileError(path, problem, line=number)
        blocks[-1].append((number, row))
    examples = (_read_block(path, block) for block in blocks)
    return {example.procedure.id: example for example in examples}


def _read_block(path: Path, block: Sequence[tuple[int, list[str]]]) -> Example:
    first_line, header = block[0]
    id = header[0].strip()
    columns = [index for index in range(3, len(header)) if header[index].strip()]
    names = [header[index].strip() for index in columns]
    question = ""
    texts: list[str] = []
    states: list[list[str]] = []
    for number, row in block[1:]:
        kind = row[1].strip()
        is_event = len(states) > len(texts)
        expected = f"event{len(texts) + 1}" if is_event else f"state{len(states) + 1}"
        if row[0].strip() != id:
            problem = f"expected a row of paragraph {id!r}, got one of {row[0]!r}."
            raise FileError(path, problem, line=number)
        if kind == "":
            question = row[2].removeprefix("PROMPT:").strip()
        elif kind != expected:
            raise FileError(path, f"expected row {expected}, got {kind!r}.", line=number)
        elif is_event:
            texts.append(row[2].strip())
        else:
            locations = [row[index].strip() if index < len(row) else "" for index in columns]
            if not all(locations):
                name = names[locations.index("")]
                raise FileError(
                    path, f"the location of {name!r} is empty; use - or ?.", line=number
                )
            states.append(locations)
    if not texts or len(states) != len(texts) + 1:
        problem = (
            f"paragraph {id} has {len(texts)} events and {len(states)} states; "
            "expected one or more events and one state more."
        )
        raise FileError(path, problem, line=first_line)
    return _build_example(id, question, names, texts, states)


def _build_example(
    id: str,
    question: str,
    names: Sequence[str],
    texts: Sequence[str],
    states: Sequence[Sequence[str]],
) -> Example:
    rows = (
        Row.from_locations(name, [state[column] for state in states])
        for column, name in enumerate(names)
    )
    steps = tuple(Step(text) for text in texts)
    entities = tuple(Entity(name) for name in names)
    procedure = Procedure(id, steps, entities, question, convention="propara")
    return Example(procedure, Grid(id, tuple(texts), tuple(rows)))
