"""Checks of koala's own corpus."""

from pathlib import Path

import pytest

from koala.corpora import checks, read_corpus
from koala.corpora.written import read_file
from koala.grid.states import Action

CORPUS = Path(__file__).parents[2] / "corpus"
GOOD = """\
# [baking] Toast
1. Put the bread in the toaster.
2. It browns to toast.
3. Put the toast on a plate.
bread | ? | toaster | - | -
toast | - | - | toaster | plate
"""


def problems_of(folder: Path, text: str) -> list[str]:
    path = folder / "kitchen.txt"
    path.write_text(text)
    return [problem for each in read_file(path) for problem in checks.find_problems(each)]


def test_a_good_procedure_has_no_problems(tmp_path):
    assert problems_of(tmp_path, GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("| toaster | plate", "| oven | plate", "the text has no 'oven'"),
        ("| toaster | plate", "| bread | plate", "at 'bread' in cell 2, which does not exist then"),
        ("bread |", "loaf |", "the text never names 'loaf'"),
        ("toast | - | - | toaster | plate", "toast | - | - | - | -", "never exists"),
        ("| toaster | plate", "| toast | plate", "located in itself in cell 2"),
        ("toast |", "bread |", "an entity has two lines"),
    ],
)
def test_impossible_cells_are_found(tmp_path, old, new, problem):
    assert any(problem in each for each in problems_of(tmp_path, GOOD.replace(old, new)))


def test_two_entities_inside_each_other_are_found(tmp_path):
    text = "# [x] Nut\n1. The nut is on the bolt.\nnut | bolt | bolt\nbolt | nut | nut\n"
    assert any("which is at 'nut'" in each for each in problems_of(tmp_path, text))


def test_plural_endings_are_ignored_but_other_endings_are_not(tmp_path):
    text = "# [x] Gas\n1. Waste rots in the digesters.\n2. Digestate is left.\n"
    text += "waste | digester | digester | -\ndigestate | - | - | digester\n"
    assert problems_of(tmp_path, text) == []


def test_near_duplicates_and_texts_similar_to_unseen_ones_are_found(tmp_path):
    (tmp_path / "a.txt").write_text(GOOD)
    (tmp_path / "b.txt").write_text(GOOD.replace("Toast\n", "How to toast bread\n", 1))
    other = "# [x] Mail\n1. The letter goes into the box.\n2. Wait.\nletter | ? | box | box\n"
    (tmp_path / "c.txt").write_text(other)
    read, bad = checks.read_checked(checks.find_files([tmp_path]))
    assert bad == []
    assert [d.path.name for d in checks.find_defects(read)] == ["b.txt"]
    unseen = [read[0][1].example.procedure]
    assert sum("too similar" in d.problem for d in checks.find_defects(read, unseen)) == 2


def test_the_other_files_are_read_if_one_is_invalid(tmp_path):
    (tmp_path / "a.txt").write_text("no title\n")
    (tmp_path / "b.txt").write_text(GOOD)
    read, defects = checks.read_checked(checks.find_files([tmp_path]))
    assert (len(read), len(defects)) == (1, 1)


def test_shares_of_a_worked_example(tmp_path):
    (tmp_path / "a.txt").write_text(GOOD)
    shares = checks.measure_shares(read_file(tmp_path / "a.txt"))
    assert shares.actions == {Action.NONE: 2, Action.MOVE: 2, Action.CREATE: 1, Action.DESTROY: 1}
    assert shares.cells == {"-": 3, "location": 3}
    assert shares.changes_unnamed == 1  # step 2 calls the bread "it"


def test_the_corpus_has_no_defects(data):
    read, defects = checks.read_checked(checks.find_files([CORPUS]))
    splits = read_corpus(data / "propara").splits
    unseen = [e.procedure for split in ("dev", "test") for e in splits[split]]
    assert [str(defect) for defect in [*defects, *checks.find_defects(read, unseen)]] == []
