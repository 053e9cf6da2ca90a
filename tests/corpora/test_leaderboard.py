"""The leaderboard's TSV files."""

import pytest

from koala.corpora import leaderboard as corpus
from koala.errors import FileError


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "f.tsv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_entities_with_the_same_name_are_separated_without_contradictions(propara):
    splits = corpus.read_leaderboard(propara / "leaderboard").splits
    repeated = {
        example.procedure.id: example.gold
        for example in splits["train"]
        if len(set(example.gold.names)) < len(example.gold.names)
    }
    assert set(repeated) == {"1151", "263", "893", "901"}
    assert all(row.problem is None for gold in repeated.values() for row in gold.rows)


ROW = "4\t1\toil\tNONE\t-\t-\n"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("4\t0\toil\tNONE\t-\t-", "the step is '0'"),
        ("4\tone\toil\tNONE\t-\t-", "the step is 'one'"),
        ("4\t1\toil\tVIBRATE\t-\t-", "the action is 'VIBRATE'; expected one of NONE, CREATE"),
        ("4\t1\toil\tnone\t-\t-", "the action is 'none'"),
        ("4\t1\toil\tNONE\t-", "6 tab-separated columns .*, got 5"),
        ("4,1,oil,NONE,-,-", "6 tab-separated columns .*, got 1"),
        ("\t1\toil\tNONE\t-\t-", "paragraph is empty"),
        ("4\t1\t \tNONE\t-\t-", "participant is empty"),
        ("4\t1\toil\tNONE\ta\tb", "NONE from 'a' to 'b'"),
        ("4\t1\toil\tCREATE\ta\tb", "CREATE from 'a' to 'b'"),
        ("4\t1\toil\tCREATE\t-\t-", "CREATE from '-' to '-'"),
        ("4\t1\toil\tCREATE\t-\t", "CREATE from '-' to ''"),
        ("4\t1\toil\tMOVE\t-\tb", "MOVE from '-' to 'b'"),
        ("4\t1\toil\tDESTROY\ta\tb", "DESTROY from 'a' to 'b'"),
    ],
)
def test_invalid_rows_are_rejected_with_their_line(write, row, problem):
    path = write(ROW + row + "\n")
    for read in (corpus.read_predictions, corpus.read_grids):
        with pytest.raises(FileError, match=problem) as caught:
            read(path)
        assert caught.value.line == 2


def test_missing_rows_are_unknown_and_the_last_of_two_rows_counts(write):
    path = write("4\t3\toil\tNONE\ta\ta\n4\t1\toil\tCREATE\t-\ta\textra\n4\t1\toil\tCREATE\t-\tb\n")
    (row,) = corpus.read_predictions(path)["4"].rows
    assert row.locations == ("-", "b", "?", "a")


def test_windows_files_are_read_like_others(write):
    plain = corpus.read_predictions(write(ROW))
    path = write("")
    path.write_bytes(b"\xef\xbb\xbf" + ROW.replace("\n", "\r\n").encode())
    assert corpus.read_predictions(path) == plain


def test_sentences_must_be_complete(write):
    with pytest.raises(FileError, match="step 1 of paragraph 4 is missing"):
        corpus.read_sentences(write("4\t2\tB.\n"))
    with pytest.raises(FileError, match="occurs twice"):
        corpus.read_sentences(write("4\t1\tA.\n4\t1\tB.\n"))
    with pytest.raises(FileError, match="has a step 2, but only 1 sentences"):
        corpus.read_grids(write(ROW.replace("\t1\t", "\t2\t")), {"4": ("A.",)})
    with pytest.raises(FileError, match="no sentences"):
        corpus.read_grids(write(ROW), {"5": ("A.",)})
