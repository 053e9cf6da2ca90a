"""The format of koala's own corpus, and its size."""

from pathlib import Path

import pytest

from koala.corpora import read_corpus
from koala.corpora.written import build_written, read_examples, read_file, write_procedures
from koala.errors import FileError, KoalaError
from koala.grid import Grid, Row

IRON = """\
# [appliances] How does a steam iron work?
1. Water is poured into the tank of the iron.
2. Water drips onto the hot plate.
3. It turns into steam.
water | ? | tank | plate | -
steam ; hot steam | - | - | - | plate
"""

CORPUS = Path(__file__).parents[2] / "corpus"


def write(folder: Path, text: str, name: str = "household.txt") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def test_a_procedure_in_the_format_of_the_guide_is_read(tmp_path):
    (written,) = read_file(write(tmp_path, IRON))
    procedure, gold = written.example.procedure, written.example.gold
    assert (written.field, written.topic, written.line) == ("household", "appliances", 1)
    assert procedure.id == "household/how-does-a-steam-iron-work"
    assert procedure.question == "How does a steam iron work?"
    assert procedure.convention == "koala"
    assert [step.text for step in procedure.steps][2] == "It turns into steam."
    assert gold["water"].locations == ("?", "tank", "plate", "-")
    assert gold["hot steam"].name == "steam; hot steam"


def test_procedures_survive_a_round_trip(tmp_path):
    read = read_file(write(tmp_path, IRON))
    assert write_procedures(read) == IRON


def test_splits_are_folders(tmp_path):
    write(tmp_path / "train", IRON)
    write(tmp_path / "dev", IRON.replace("steam iron", "kettle"))
    corpus = read_corpus(tmp_path)
    assert (corpus.name, list(corpus.splits)) == ("written", ["train", "dev"])
    assert [e.procedure.id for e in read_examples(tmp_path)] == [
        "household/how-does-a-steam-iron-work"
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("# [appliances]", "#", "sub-field"),
        ("| plate | -\n", "| plate\n", "expected 4 cells, got 3"),
        ("| ? |", "|  |", "empty name or cell"),
        ("2. Water drips", "Water drips", "neither"),
        ("steam ; hot steam", "4. The end.\nsteam", "is after the entities"),
    ],
)
def test_invalid_procedures_are_rejected_with_their_line(tmp_path, old, new, problem):
    text = IRON.replace(old, new)
    if new.startswith("4."):
        text = IRON + "4. The end.\n"
    with pytest.raises(FileError, match=problem) as error:
        read_file(write(tmp_path, text))
    assert error.value.line == 1


def test_titles_are_unique_in_a_file(tmp_path):
    with pytest.raises(FileError, match="occurs twice"):
        read_file(write(tmp_path, f"{IRON}\n{IRON}"))


def build_grid(step="1. Pour  water.", name="water;drops", location="a cup"):
    return Grid("1", (step,), (Row.from_locations(name, ["?", location]),))


def test_a_grid_becomes_a_procedure_that_is_read_back(tmp_path):
    written = build_written(build_grid(), title="Pour it ]", topic="kitchen  work")
    text = write_procedures([written])
    assert text == "# [kitchen work] Pour it ]\n1. 1. Pour water.\nwater ; drops | ? | a cup\n"
    (again,) = read_file(write(tmp_path, text))
    assert again.example.gold.rows == written.example.gold.rows
    assert again.example.gold.steps == ("1. Pour water.",)


@pytest.mark.parametrize(
    ("grid", "title", "topic", "problem"),
    [
        (build_grid(), " ", "kitchen", "title and a sub-field"),
        (build_grid(), "Pour", "a]b", "square bracket"),
        (build_grid(step="Salt | pepper"), "Pour", "kitchen", "separates cells"),
        (build_grid(location="a|b"), "Pour", "kitchen", "separates cells"),
        (Grid("1", ("Pour.",), ()), "Pour", "kitchen", "needs steps and entities"),
    ],
)
def test_what_the_format_cannot_hold_is_refused(grid, title, topic, problem):
    with pytest.raises(KoalaError, match=problem):
        build_written(grid, title=title, topic=topic)


def test_the_corpus_has_the_size_given_in_its_data_card():
    corpus = read_corpus(CORPUS)
    sizes = {split: len(examples) for split, examples in corpus.splits.items()}
    assert sizes["dev"] == sizes["test"] == 200
    assert sizes["train"] >= 2100
    card = (CORPUS / "README.md").read_text()
    assert all(f"{size:,}" in card for size in (sizes["train"], sum(sizes.values())))
