"""`koala batch` on one machine: every record is tracked once, or reported as bad."""

import gzip
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

import koala
from koala.bulk.journal import Job, Journal
from koala.bulk.local import CHUNK, Plan, run_local
from koala.bulk.records import Limits, read_records
from koala.bulk.sources import LONGEST
from koala.errors import FileError, KoalaError
from koala.registry import sign, sign_knowledge

STEPS = [
    "Roots absorb water from the soil.",
    "The water flows to the leaf.",
    "The leaf makes sugar from the water.",
    "The sugar moves to the root.",
]


def build_record(number: int) -> dict[str, object]:
    rng = random.Random(number)
    steps = [rng.choice(STEPS) for _ in range(rng.randint(1, 5))]
    return {"id": f"p{number}", "steps": steps, "entities": ["water", "sugar"], "source": number}


def write_records(path: Path, records) -> Path:
    lines = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The input and output of an uninterrupted run."""
    folder = tmp_path_factory.mktemp("whole")
    source = write_records(folder / "in.jsonl", map(build_record, range(3 * CHUNK + 5)))
    run_local([source], folder / "out.jsonl")
    return source, folder / "out.jsonl"


def test_grids_are_in_order_and_keep_other_fields(whole):
    _, output = whole
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["source"] for line in lines] == list(range(3 * CHUNK + 5))
    assert not output.with_name("out.jsonl.errors").exists()
    tracker = koala.load()
    for number in (0, CHUNK, 3 * CHUNK + 4):
        record = build_record(number)
        alone = tracker.track(record["steps"], record["entities"], id=record["id"])
        found = koala.Grid.from_dict(lines[number])
        assert [row.locations for row in found.rows] == [row.locations for row in alone.rows]


RECIPE = ["Beat the eggs with sugar.", "Pour the batter into a pan.", "Bake it in the oven."]


def test_auto_chooses_the_recipes_model_and_resumes_only_as_auto(tmp_path):
    recipe = {"id": "cake", "steps": RECIPE, "entities": ["eggs", "sugar"]}
    source = write_records(tmp_path / "in.jsonl", [build_record(0), recipe, build_record(1)])
    run_local([source], tmp_path / "out.jsonl", model="auto")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["p0", "cake", "p1"]
    small, recipes = (koala.load(name) for name in ("small", "recipes"))
    assert [line["signature"] for line in lines] == [
        tracker.card.signature for tracker in (small, recipes, small)
    ]
    alone = recipes.track(RECIPE, ["eggs", "sugar"])
    found = koala.Grid.from_dict(lines[1])
    assert [row.locations for row in found.rows] == [row.locations for row in alone.rows]
    # An interrupted run of `auto` cannot be resumed with the small model.
    job = Job(((source.name, source.stat().st_size),), sign("auto"), sign_knowledge("auto"), CHUNK)
    with Journal(tmp_path / "stopped.jsonl", job, resume=False) as journal:
        journal.add("", "", 0, 0)
    with pytest.raises(FileError, match=r"model: .* there, .* here"):
        run_local([source], tmp_path / "stopped.jsonl", model="small", resume=True)
    run_local([source], tmp_path / "stopped.jsonl", resume=True)
    stopped, whole = (tmp_path / f"{name}.jsonl" for name in ("stopped", "out"))
    assert stopped.read_bytes() == whole.read_bytes()


def test_more_workers_give_the_same_bytes(whole, tmp_path):
    source, output = whole
    told = []
    plan = Plan(n_workers=2)
    run_local([source], tmp_path / "out.jsonl", plan=plan, progress=lambda *n: told.append(n))
    assert (tmp_path / "out.jsonl").read_bytes() == output.read_bytes()
    size = source.stat().st_size
    assert told[-1] == (size, size, 3 * CHUNK + 5)
    assert [n for _, _, n in told[:2]] == [CHUNK, 2 * CHUNK]


def test_a_killed_run_resumes_and_gives_the_same_bytes(whole, tmp_path):
    source, output = whole
    command = [sys.executable, "-m", "koala", "batch", str(source), "-o", str(tmp_path / "o")]
    # Killed during the start, in the middle and later; each time it is resumed.
    for seconds in (0.5, 4, 5):
        process = subprocess.Popen(
            [*command, *(["--resume"] if (tmp_path / "o.journal").exists() else [])],
            stderr=subprocess.PIPE,
        )
        time.sleep(seconds)
        process.kill()
        # The worker shares stderr, which closes when both have ended.
        process.communicate(timeout=60)
        if (tmp_path / "o").exists():
            break
    if not (tmp_path / "o").exists():
        resume = ["--resume"] if (tmp_path / "o.journal").exists() else []
        subprocess.run([*command, *resume], check=True, stderr=subprocess.DEVNULL)
    assert (tmp_path / "o").read_bytes() == output.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o"]


BAD = {
    "empty": (b"", "empty"),
    "not JSON": (b"{", "Not JSON"),
    "not UTF-8": (b'{"text": "\xff"}', "0xff is not UTF-8"),
    "no object": (b"[1, 2]", "object was expected"),
    "no text": (b'{"id": 1}', "missing"),
    "wrong type": (b'{"text": 3}', "missing"),
    "wrong entities": (b'{"text": "Water boils.", "entities": "water"}', "must be a list"),
    "empty text": (b'{"text": "  "}', "empty"),
    "empty entity": (b'{"text": "Water boils.", "entities": [""]}', "empty"),
    "huge text": (json.dumps({"text": "a " * 150_000}).encode(), "characters"),
    "huge line": (b"x" * (LONGEST + 10), "longer than"),
    "many entities": (json.dumps({"text": "A.", "entities": ["a"] * 101}).encode(), "entities"),
    "a step that is too long": (
        json.dumps({"steps": ["water " * 400], "entities": ["water"]}).encode(),
        "subwords",
    ),
}


def test_bad_records_are_reported_and_do_not_stop_the_run(tmp_path):
    good = [build_record(number) for number in range(len(BAD) + 1)]
    records = [good[0]]
    for (raw, _), record in zip(BAD.values(), good[1:], strict=True):
        records += [raw, record]
    source = write_records(tmp_path / "in.jsonl", records)
    done = run_local([source], tmp_path / "out")
    assert (done.n_records, done.n_bad) == (len(records), len(BAD))
    ids = [json.loads(line)["id"] for line in (tmp_path / "out").read_text().splitlines()]
    assert ids == [record["id"] for record in good]
    reports = [json.loads(line) for line in (tmp_path / "out.errors").read_text().splitlines()]
    assert [report["line"] for report in reports] == [2 * n + 2 for n in range(len(BAD))]
    for report, (name, (_, reason)) in zip(reports, BAD.items(), strict=True):
        assert reason in report["reason"], name
        assert len(report["record"]) <= 200


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", r"in\.jsonl: no record was found; JSON lines, or a \.csv or \.parquet table, were"),
        (b"Roots absorb water.\nIt flows.\n", r"None of the 2 records .* first: Not JSON \("),
        ('{"text": "Café."}\n'.encode("latin-1"), r"None of the 1 records .* 0xe9 is not UTF-8\."),
        ('{"text": "Water boils."}\n'.encode("utf-16"), r"None of the 2 records .* 0xff is not"),
        (bytes(range(256)), r"None of the 2 records .*out\.errors lists the reasons of all\.$"),
    ],
)
def test_input_without_a_usable_record_is_refused(tmp_path, raw, problem):
    source = tmp_path / "in.jsonl"
    source.write_bytes(raw)
    with pytest.raises(KoalaError, match=problem):
        run_local([source], tmp_path / "out", plan=Plan(has_knowledge=False))
    left = {path.name for path in tmp_path.iterdir()} - {"in.jsonl"}
    assert left == ({"out.errors"} if raw else set())
    if raw:
        n_reports = (tmp_path / "out.errors").read_text().count("\n")
        assert f"None of the {n_reports} records" in problem


def test_an_unfinished_run_is_not_overwritten_or_mixed_with_another(whole, tmp_path):
    source, _ = whole
    job = {"inputs": [["x", 1]], "model": "m", "knowledge": "knowledge:none", "chunk": 1}
    (tmp_path / "o.journal").write_text(json.dumps({"job": job, "position": {}}))
    with pytest.raises(FileError, match="unfinished run"):
        run_local([source], tmp_path / "o")
    with pytest.raises(FileError, match=r"inputs: x of 1 bytes there, in\.jsonl of .* here"):
        run_local([source], tmp_path / "o", resume=True)
    with pytest.raises(FileError, match="no such file"):
        run_local([tmp_path / "none"], tmp_path / "p")
    with pytest.raises(FileError, match="folder is missing"):
        run_local([source], tmp_path / "no" / "p")


def test_records_are_streamed_from_any_start(whole):
    source, _ = whole
    records = list(read_records([source, source], start=3 * CHUNK))
    assert len(records) == 3 * CHUNK + 10
    assert records[0].line == records[0].number == 3 * CHUNK + 1
    assert (records[-1].line, records[-1].number) == (3 * CHUNK + 5, 6 * CHUNK + 10)
    assert records[-1].end == 2 * source.stat().st_size
    assert Limits().steps == 1000


def read_ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


class StopError(Exception):
    pass


def stop(_done: int, _total: int, _n: int) -> None:
    raise StopError


def test_records_without_an_id_are_numbered_over_all_files(tmp_path):
    bare = {"steps": STEPS[:1], "entities": ["water"]}
    one = write_records(tmp_path / "one.jsonl", [bare, b"{", bare] * 11)
    two = write_records(tmp_path / "two.jsonl", [bare, {**bare, "id": "mine"}, bare])
    run_local([one, two], tmp_path / "out")
    ids = read_ids(tmp_path / "out")
    assert ids[:3] == ["1", "3", "4"]
    assert ids[-4:] == ["33", "34", "mine", "36"]
    with pytest.raises(StopError):
        run_local([one, two], tmp_path / "stopped", progress=stop)
    run_local([one, two], tmp_path / "stopped", resume=True)
    assert (tmp_path / "stopped").read_bytes() == (tmp_path / "out").read_bytes()


def test_grids_with_and_without_knowledge_are_not_mixed(whole, tmp_path):
    source, output = whole
    without = Plan(has_knowledge=False)
    with pytest.raises(StopError):
        run_local([source], tmp_path / "o", plan=without, progress=stop)
    with pytest.raises(FileError, match=r"knowledge: knowledge:none .* there"):
        run_local([source], tmp_path / "o", resume=True)
    run_local([source], tmp_path / "o", plan=without, resume=True)
    signatures = [
        {json.loads(line)["signature"] for line in path.read_text().splitlines()}
        for path in (output, tmp_path / "o")
    ]
    assert signatures == [{sign("small")}, {f"{sign('small')}|knowledge:none"}]


@pytest.mark.parametrize("name", ["in", "out/../in", "link", "in.jsonl.part"])
def test_inputs_are_not_overwritten(tmp_path, name):
    (tmp_path / "out").mkdir()
    source = write_records(tmp_path / "in", [build_record(0)])
    (tmp_path / "link").symlink_to(source)
    other = write_records(tmp_path / "in.jsonl.part", [build_record(1)])
    before = source.read_bytes(), other.read_bytes()
    output = tmp_path / ("in.jsonl" if name == "in.jsonl.part" else "in")
    with pytest.raises(FileError, match=r"is an input that .* would overwrite"):
        run_local([other, tmp_path / name], output)
    assert (source.read_bytes(), other.read_bytes()) == before


def test_damaged_gzip_files_are_refused_by_name(tmp_path):
    path = tmp_path / "in.jsonl.gz"
    rng = random.Random(0)
    lines = [json.dumps({"text": rng.random()}) + "\n" for _ in range(20_000)]
    whole = gzip.compress("".join(lines).encode())
    half = len(whole) // 2
    holed = whole[:half] + bytes(100) + whole[half + 100 :]
    for raw in (whole[:half], holed):
        path.write_bytes(raw)
        read = []
        with pytest.raises(FileError, match=r"in\.jsonl\.gz: damaged after line \d+ ") as caught:
            read.extend(record.raw for record in read_records([path]))
        number = int(str(caught.value).split("after line ")[1].split()[0])
        assert 1000 < number < len(lines)
    for raw in (b'{"text": "Water boils."}\n', b"\x1f\x8bx"):
        path.write_bytes(raw)
        with pytest.raises(FileError, match=r"not a gzip file|damaged after line 0"):
            run_local([path], tmp_path / "out")
        assert [each.name for each in tmp_path.iterdir()] == ["in.jsonl.gz"]


def test_grids_before_the_damage_are_kept(tmp_path):
    path = tmp_path / "in.jsonl.gz"
    good = gzip.compress(b"".join(json.dumps(build_record(n)).encode() + b"\n" for n in range(99)))
    # Two whole members of a gzip file, and a third that is cut off.
    path.write_bytes(good * 2 + good[: len(good) // 2])
    with pytest.raises(FileError, match="damaged after line"):
        run_local([path], tmp_path / "out")
    n_lines = (tmp_path / "out.part").read_text().count("\n")
    journal = json.loads((tmp_path / "out.journal").read_text())
    assert n_lines == journal["position"]["n_records"] >= CHUNK
    with pytest.raises(FileError, match="damaged after line"):
        run_local([path], tmp_path / "out", resume=True)
    assert (tmp_path / "out.part").read_text().count("\n") >= n_lines


def test_a_model_that_cannot_be_opened_is_an_error(whole, tmp_path, monkeypatch):
    source, _ = whole
    monkeypatch.setenv("KOALA_CACHE", str(tmp_path / "cache"))
    with pytest.raises(KoalaError, match="koala encoders fetch mpnet"):
        run_local([source], tmp_path / "o", model="base")
    assert list(tmp_path.iterdir()) == []
