"""Rows of Parquet tables are read like the same objects as JSON lines."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from koala.bulk.local import run_local
from koala.bulk.records import Limits, Record, parse_record, read_records
from koala.errors import FileError, KoalaError

pa = pytest.importorskip("pyarrow", reason="needs pyarrow: the extra parquet")
parquet = pytest.importorskip("pyarrow.parquet")

ROWS = [
    {"id": "a", "steps": ["Roots absorb water.", "It flows."], "entities": ["water"], "n": 1},
    {"id": "b", "text": "Water boils in the pot. Steam rises.", "source": {"page": [3, 4]}},
    {"id": "c", "n": 3},
    {"id": "d", "text": "  "},
    {"id": "e", "text": "Ice melts.", "entities": ["ice"], "n": 5, "source": {"page": None}},
]


def write_table(path, rows, **options):
    parquet.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_give_the_same_grids_as_lines(tmp_path):
    # A column that only some rows have is null in the others, which counts as missing.
    columns = dict.fromkeys(key for row in ROWS for key in row)
    rows = [{key: row.get(key) for key in columns} for row in ROWS]
    done = run_local([write_table(tmp_path / "in.parquet", rows)], tmp_path / "table")
    truth = run_local([write_lines(tmp_path / "in.jsonl", ROWS)], tmp_path / "lines")
    assert (done.n_records, done.n_bad) == (truth.n_records, truth.n_bad) == (5, 2)
    mine, theirs = (
        [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        for name in ("table", "lines")
    )
    assert mine == theirs
    assert mine[1]["source"] == {"page": [3, 4]}
    reports = [json.loads(line) for line in (tmp_path / "table.errors").read_text().splitlines()]
    assert [(report["file"], report["line"]) for report in reports] == [
        ("in.parquet", 3),
        ("in.parquet", 4),
    ]
    assert "'id': 'c'" in reports[0]["record"]


def test_tables_are_read_in_order_from_any_row(tmp_path):
    rows = [{"id": str(number), "text": "Water boils."} for number in range(1000)]
    path = write_table(tmp_path / "in.parquet", rows, row_group_size=300)
    records = list(read_records([path, path], start=700))
    assert [record.raw["id"] for record in records[:2]] == ["700", "701"]
    assert [record.line for record in records[299:301]] == [1000, 1]
    assert len(records) == 1300
    assert records[-1].end == 2 * path.stat().st_size
    assert list(read_records([write_table(tmp_path / "no.parquet", [])])) == []


def parse(row):
    return parse_record(Record("f", 1, row, 0, 1), Limits())


def test_times_and_decimals_become_strings(tmp_path):
    row = {
        "text": "Water boils.",
        "day": date(2024, 2, 29),
        "when": datetime(2024, 2, 29, 12, tzinfo=UTC),
        "price": Decimal("1.50"),
    }
    (record,) = read_records([write_table(tmp_path / "in.parquet", [row])])
    assert parse(record.raw).rest == {
        "day": "2024-02-29",
        "when": "2024-02-29T12:00:00+00:00",
        "price": "1.50",
    }


def test_a_value_that_json_cannot_represent_is_a_bad_record(tmp_path):
    rows = [{"text": "Water boils.", "picture": b"\x89PNG"}, {"text": "Ice melts."}]
    (record, good) = read_records([write_table(tmp_path / "in.parquet", rows)])
    with pytest.raises(KoalaError, match="holds bytes"):
        parse(record.raw)
    assert parse(good.raw).rest == {}


def test_broken_tables_are_refused_by_name(tmp_path):
    path = tmp_path / "in.parquet"
    for raw in (b"", b"PAR1", b'{"text": "Water boils."}\n' * 9):
        path.write_bytes(raw)
        with pytest.raises(FileError, match="not a Parquet file"):
            list(read_records([path]))
    rows = [{"id": str(number), "text": f"Water boils {number}."} for number in range(2000)]
    whole = write_table(path, rows, row_group_size=500).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match="not a Parquet file"):
        list(read_records([path]))
    # Zeros in the middle, with an intact footer: the rows before them can be read.
    third = len(whole) // 3
    path.write_bytes(whole[:third] + bytes(third) + whole[2 * third :])
    with pytest.raises(FileError, match="damaged after row"):
        list(read_records([path]))
