"""The output as a table: the same grids as JSON lines, and the same after a kill."""

import csv
import json

import pytest

from koala.bulk.journal import Job, Journal
from koala.bulk.tables import find_format, publish
from koala.errors import FileError
from koala.grid import Grid, Row, TextSpan

pa = pytest.importorskip("pyarrow")

JOB = Job((("in.csv", 10),), "model", "knowledge:none", 32)
ICE = Row.from_locations("ice", ["pot", "-"], [0.5])
GRIDS = [
    Grid("1", ("Ice melts.",), (ICE,), "s", (TextSpan(0, 10),)),
    Grid("2", ("Hello.",), (), "s", (TextSpan(0, 6),)),
]
RESTS = [{"page": 3, "tags": ["a"], "n": 1}, {"page": 4, "tags": "b", "n": 1.5}]
LINES = [{**rest, **grid.to_dict()} for rest, grid in zip(RESTS, GRIDS, strict=True)]
TEXT = "".join(json.dumps(line) + "\n" for line in LINES)


@pytest.fixture
def part(tmp_path):
    path = tmp_path / "lines"
    path.write_text(TEXT)
    return path


def check(rows):
    """Check the rows of a table of procedures, which hold null where JSON has no value."""
    assert [row["id"] for row in rows] == ["1", "2"]
    assert [row["page"] for row in rows] == [3, 4]
    assert [row["n"] for row in rows] == [1.0, 1.5]
    # Values of several types are written as JSON.
    assert [row["tags"] for row in rows] == ['["a"]', '"b"']
    assert [Grid.from_dict(row) for row in rows] == GRIDS


def test_a_parquet_table_holds_the_grids(part, tmp_path):
    from pyarrow import parquet

    publish(part, tmp_path / "out.parquet")
    check(parquet.read_table(tmp_path / "out.parquet").to_pylist())
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_dataset_holds_the_grids(part, tmp_path):
    datasets = pytest.importorskip("datasets")
    out = tmp_path / "out.dataset"
    publish(part, out)
    check(list(datasets.load_from_disk(out)))
    part.write_text(TEXT)
    publish(part, out)
    assert len(datasets.load_from_disk(out)) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out.dataset"]


def test_a_csv_table_has_a_line_for_every_cell(part, tmp_path):
    publish(part, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as file:
        first, second = csv.DictReader(file)
    assert first["entity"] == "ice"
    assert (first["step"], first["action"], first["before"], first["after"]) == (
        "1", "DESTROY", "pot", "-",
    )  # fmt: skip
    assert (first["confidence"], first["page"], first["tags"]) == ("0.5", "3", '["a"]')
    assert (second["id"], second["entity"], second["page"]) == ("2", "", "4")


def test_other_folders_are_not_replaced(tmp_path):
    (tmp_path / "out.dataset").mkdir()
    with pytest.raises(FileError, match="this is a folder"):
        Journal(tmp_path / "out.dataset", JOB, resume=False)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.jsonl"])
def test_a_run_killed_while_its_table_is_written_can_be_resumed(tmp_path, monkeypatch, name):
    out = tmp_path / name
    monkeypatch.setattr("koala.bulk.journal.publish", lambda *_: 1 / 0)
    first, second = TEXT.splitlines(keepends=True)
    with Journal(out, JOB, resume=False) as journal:
        journal.add(first, "", 1, 0)
        journal.add(second, "", 1, 0)
        with pytest.raises(ZeroDivisionError):
            journal.finish()
    monkeypatch.undo()
    assert not out.exists()
    with Journal(out, JOB, resume=True) as journal:
        assert journal.position.n_records == 2
        journal.finish()
    (tmp_path / "lines").write_text(TEXT)
    publish(tmp_path / "lines", tmp_path / f"whole.{name}")
    assert out.read_bytes() == (tmp_path / f"whole.{name}").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {name, f"whole.{name}"}


def test_the_suffix_is_the_format(tmp_path):
    names = ("a.csv", "a.CSV", "a.parquet", "a.dataset", "a.jsonl", "a")
    assert [find_format(tmp_path / name) for name in names] == [
        "csv", "csv", "parquet", "dataset", "jsonl", "jsonl",
    ]  # fmt: skip
