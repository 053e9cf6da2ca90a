"""Tables and datasets are read like the same objects as JSON lines."""

import json

import pytest

from koala.bulk.records import Limits, parse_record, read_records
from koala.bulk.sources import measure
from koala.errors import FileError, KoalaError

TABLE = """\ufeffid,text,entities,source
1,"Water boils
in the pot.",water|"pot; pots",a
2,Ice melts.,"[""ice""]",
3,Steam rises.,,,too,many
4,,water,
"""


def write(tmp_path, text, name="in.csv"):
    path = tmp_path / name
    path.write_text(text.replace('"pot; pots"', "pot; pots"), encoding="utf-8")
    return path


def test_a_csv_table_has_a_record_in_every_row(tmp_path):
    records = list(read_records([write(tmp_path, TABLE)]))
    assert [record.line for record in records] == [3, 4, 5, 6]
    assert records[0].raw == {
        "id": "1", "text": "Water boils\nin the pot.", "entities": ["water", "pot; pots"],
        "source": "a",
    }  # fmt: skip
    assert records[1].raw == {"id": "2", "text": "Ice melts.", "entities": ["ice"]}
    assert records[-1].end == measure([tmp_path / "in.csv"])
    task = parse_record(records[0], Limits())
    assert [entity.name for entity in task.procedure.entities] == ["water", "pot; pots"]
    assert task.rest == {"source": "a"}
    with pytest.raises(KoalaError, match="2 more cells than the header"):
        parse_record(records[2], Limits())
    with pytest.raises(KoalaError, match=r'"text" .* is missing'):
        parse_record(records[3], Limits())


def test_tabs_and_lines_as_steps(tmp_path):
    path = write(tmp_path, 'steps\tid\n"Ice melts.\nIt boils."\t7\n', "in.tsv")
    (record,) = read_records([path])
    assert record.raw == {"id": "7", "steps": ["Ice melts.", "It boils."]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [("id,title\n1,Tea\n", "text or steps was expected .* found id, title"), ("", "found nothing")],
)
def test_a_table_without_texts_is_refused(tmp_path, text, problem):
    with pytest.raises(FileError, match=problem):
        list(read_records([write(tmp_path, text)]))


def test_a_table_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"text\nCr\xe8me\n")
    with pytest.raises(FileError, match="cannot be read after line 1"):
        list(read_records([path]))


def test_a_saved_dataset_is_read_in_order(tmp_path):
    datasets = pytest.importorskip("datasets")
    rows = [
        {"id": str(n), "text": "Ice melts.", "entities": ["ice"] if n else None} for n in range(9)
    ]
    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "in")
    records = list(read_records([tmp_path / "in"], start=7))
    assert [record.raw["id"] for record in records] == ["7", "8"]
    assert json.loads(json.dumps(records[0].raw)) == rows[7]
    assert records[-1].end == measure([tmp_path / "in"])
    first = next(read_records([tmp_path / "in"]))
    assert first.raw == {"id": "0", "text": "Ice melts."}
    datasets.DatasetDict(train=datasets.Dataset.from_list(rows)).save_to_disk(tmp_path / "two")
    with pytest.raises(FileError, match=r"several splits. Give one or more: .*train"):
        measure([tmp_path / "two"])


def test_other_folders_are_refused(tmp_path):
    with pytest.raises(FileError, match="this is a folder"):
        measure([tmp_path])
