"""Grids of ProPara's single annotators."""

import pytest

from koala.corpora import read_corpus
from koala.corpora.annotators import NOT_ANNOTATED, Change, build_grids, find_changes, read_changes
from koala.errors import FileError
from koala.grid import Grid, Row
from koala.grid.states import ABSENT, is_legal

HEADER = "PID\tSID\tStep\tParticipant\tType\tFrom\tTo\n"
CHANGES = (
    HEADER
    + "7\t1\tIt melts.\tice; glacier\tmove\t?\tIn the Lake\n"
    + "7\t?\tNever.\twater\tmove\ta\tb\n"
    + "7\t2\tIt runs.\twater\tcreate\t-\t\n"
    + "\n"
    + "7\t2\tIt runs.\twater\tcreate\t-\triver\n"
    + "8\t1\tIt stands.\trock\tdestroy\thill\t-\n"
)

GOLD = Grid(
    "7",
    ("It melts.", "It runs."),
    (
        Row.from_locations("glacier", ["?", "lake", "lake"]),
        Row.from_locations("water", ["-", "-", "river"]),
    ),
)


def test_blank_lines_and_paragraphs_separate_annotators(tmp_path):
    path = tmp_path / "all-moves.tsv"
    path.write_text(CHANGES)
    assert find_changes(tmp_path) == path
    assert read_changes(path) == {
        "7": [
            [
                Change(1, "ice; glacier", "move", "?", "in the lake"),
                Change(2, "water", "create", "-", ""),
            ],
            [Change(2, "water", "create", "-", "river")],
        ],
        "8": [[Change(1, "rock", "destroy", "hill", "-")]],
    }


def test_each_annotator_has_a_grid(tmp_path):
    path = tmp_path / "all-moves.tsv"
    path.write_text(CHANGES)
    first, second = build_grids(GOLD, read_changes(path)["7"])
    assert first["glacier"].locations == ("?", "in the lake", "in the lake")
    assert first["water"].locations == ("-", "-", "?")
    # The second annotator marked no change of the glacier, so its location is not given.
    assert second["glacier"].locations == (NOT_ANNOTATED,) * 3
    assert second["water"].locations == ("-", "-", "river")


def test_an_entity_that_an_annotator_skipped_is_copied_from_gold():
    (grid,) = build_grids(GOLD, [[Change(1, "glacier", "move", "?", "sea")]])
    assert grid["water"] == GOLD["water"]


def test_entities_with_the_same_name_are_copied_from_gold():
    row = Row.from_locations("plate", ["-", "sea", "sea"])
    twice = Grid("9", GOLD.steps, (row, Row.from_locations("plate", ["?", "?", "land"])))
    (grid,) = build_grids(twice, [[Change(2, "plate", "destroy", "sea", "-")]])
    assert grid == twice


def test_later_changes_count_and_an_entity_that_never_exists_is_copied_from_gold():
    changes = [
        Change(2, "glacier", "move", "hill", "valley"),
        Change(1, "glacier", "move", "?", "lake"),
        Change(1, "water", "destroy", "-", "-"),
        Change(0, "glacier", "move", "valley", "sun"),
        Change(3, "glacier", "move", "valley", "moon"),
    ]
    (grid,) = build_grids(GOLD, [changes])
    assert grid["glacier"].locations == ("?", "lake", "valley")
    assert grid["water"] == GOLD["water"]


def test_a_missing_file_of_changes_is_an_error(tmp_path):
    with pytest.raises(FileError, match=r"all-moves.*found none"):
        find_changes(tmp_path)


def test_propara_annotators_agree_on_existence(propara):
    """The published number of annotators; they agree with gold on existence nearly everywhere."""
    splits = read_corpus(propara).splits
    counts = [len(e.annotators) for split in ("train", "dev") for e in splits[split]]
    assert (len(counts), sum(counts)) == (434, 2153)
    assert all(not example.annotators for example in splits["test"])
    same = total = 0
    for example in splits["train"]:
        for grid in example.annotators:
            for row, gold in zip(grid.rows, example.gold.rows, strict=True):
                assert is_legal(row.tags)
                pairs = list(zip(row.locations, gold.locations, strict=True))
                same += sum((ours == ABSENT) == (theirs == ABSENT) for ours, theirs in pairs)
                total += len(pairs)
    assert same / total > 0.99
