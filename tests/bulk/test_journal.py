"""A run that is killed at any moment loses no record and writes none twice."""

import json
import re
from dataclasses import replace

import pytest

from koala.bulk.journal import Job, Journal, list_files
from koala.errors import FileError

JOB = Job((("in.jsonl", 10),), "model", "knowledge:none", 2)
CHUNKS = [("a\nb\n", ""), ("c\n", "bad\n"), ("d\ne\n", "")]
GRIDS, BAD = b"a\nb\nc\nd\ne\n", b"bad\n"


class KilledError(BaseException):
    pass


def run(output, *, resume=False, kill_at=None):
    """Write the chunks after the journal's position; raise KilledError before chunk `kill_at`."""
    with Journal(output, JOB, resume=resume) as journal:
        for number in range(journal.position.n_records // 2, len(CHUNKS)):
            if number == kill_at:
                raise KilledError
            grids, bad = CHUNKS[number]
            journal.add(grids, bad, 2, bad.count("\n"))
        journal.finish()


def is_whole(output):
    return (
        output.read_bytes() == GRIDS
        and output.with_name("out.errors").read_bytes() == BAD
        and sorted(path.name for path in output.parent.iterdir()) == ["out", "out.errors"]
    )


@pytest.mark.parametrize("kill_at", [0, 1, 2])
def test_a_run_resumes_after_the_last_chunk(tmp_path, kill_at):
    output = tmp_path / "out"
    with pytest.raises(KilledError):
        run(output, kill_at=kill_at)
    run(output, resume=True)
    assert is_whole(output)


def test_lines_beyond_the_journal_are_cut_off(tmp_path, monkeypatch):
    output = tmp_path / "out"
    monkeypatch.setattr("koala.bulk.journal._SECONDS", 1e9)
    journal = Journal(output, JOB, resume=False)
    journal._save()
    for grids, bad in CHUNKS[:2]:
        journal.add(grids, bad, 2, bad.count("\n"))
    # Killed after the lines are on disk, but before the journal is updated.
    journal.close()
    assert output.with_name("out.part").stat().st_size == 6
    run(output, resume=True)
    assert is_whole(output)


def test_the_journal_is_not_written_for_every_chunk(tmp_path, monkeypatch):
    calls = []
    save = Journal._save
    monkeypatch.setattr(Journal, "_save", lambda self: (calls.append(1), save(self)))
    run(tmp_path / "out")
    assert len(calls) == 2  # after the first chunk and at the end
    assert is_whole(tmp_path / "out")


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_run_killed_while_files_are_renamed_is_finished(tmp_path, monkeypatch, steps):
    output = tmp_path / "out"
    done = []

    def die_after(work):
        def step(self, *args, **options):
            if self.parent == tmp_path and not self.name.startswith("."):
                if len(done) == steps:
                    raise KilledError
                done.append(self.name)
            return work(self, *args, **options)

        return step

    journal = Journal(output, JOB, resume=False)
    for grids, bad in CHUNKS:
        journal.add(grids, bad, 2, bad.count("\n"))
    journal._save()
    monkeypatch.setattr(Journal, "_save", lambda _: None)
    with monkeypatch.context() as patch:
        for name in ("replace", "unlink"):
            patch.setattr(type(output), name, die_after(getattr(type(output), name)))
        if steps < 3:
            with pytest.raises(KilledError):
                journal.finish()
        else:
            journal.finish()
    assert done[0] == "out.part"
    with pytest.raises(FileError, match="finished already"):
        run(output, resume=True)
    assert is_whole(output)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (
            {"knowledge": "knowledge:b14d4ff5ab95"},
            "(knowledge: knowledge:none there, knowledge:b14d4ff5ab95 here)",
        ),
        (
            {"inputs": (("in.jsonl", 12),), "model": "other"},
            "(inputs: in.jsonl of 10 bytes there, in.jsonl of 12 bytes here; "
            "model: model there, other here)",
        ),
    ],
)
def test_a_run_resumes_only_as_the_same_job(tmp_path, change, difference):
    with pytest.raises(KilledError):
        run(tmp_path / "out", kill_at=1)
    with pytest.raises(FileError, match=re.escape(f"a run that differs {difference}")):
        Journal(tmp_path / "out", replace(JOB, **change), resume=True)


def test_a_run_killed_before_its_first_chunk_leaves_no_files(tmp_path):
    with pytest.raises(KilledError), Journal(tmp_path / "out", JOB, resume=False):
        raise KilledError
    assert list(tmp_path.iterdir()) == []


POSITION = {"n_records": 0, "n_bad": 0, "n_bytes": 0, "n_bad_bytes": 0}
OURS = {"inputs": [["in.jsonl", 10]], "model": "model", "knowledge": "knowledge:none", "chunk": 2}


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        3,
        None,
        {"job": 1, "position": {}},
        {"job": {}, "position": {}},
        {"job": OURS},
        {"job": OURS | {"inputs": [1]}, "position": POSITION},
        {"job": OURS | {"inputs": [["in.jsonl", "x"]]}, "position": POSITION},
        {"job": OURS | {"more": 1}, "position": POSITION},
        {"job": {k: OURS[k] for k in OURS if k != "knowledge"}, "position": POSITION},
        {"job": OURS, "position": POSITION | {"more": 1}},
        {"job": OURS, "position": POSITION | {"n_bytes": -1}},
        {"job": OURS, "position": POSITION | {"n_records": "2"}},
    ],
)
def test_a_broken_journal_is_refused_by_name_and_kept(tmp_path, value):
    path = tmp_path / "out.journal"
    path.write_text(json.dumps(value))
    with pytest.raises(FileError, match=r"out\.journal: is not a journal of this version"):
        Journal(tmp_path / "out", JOB, resume=True)
    assert [each.name for each in tmp_path.iterdir()] == ["out.journal"]
    path.write_text("{")
    with pytest.raises(FileError, match="not a journal"):
        Journal(tmp_path / "out", JOB, resume=True)
    path.write_text(json.dumps({"job": OURS, "position": POSITION}))
    run(tmp_path / "out", resume=True)
    assert is_whole(tmp_path / "out")


def test_two_runs_cannot_write_the_same_output(tmp_path):
    output = tmp_path / "out"
    with Journal(output, JOB, resume=False) as journal:
        for resume in (False, True):
            with pytest.raises(FileError, match=r"out\.part: another koala batch is writing it"):
                run(output, resume=resume)
        for grids, bad in CHUNKS:
            journal.add(grids, bad, 2, bad.count("\n"))
        with pytest.raises(FileError, match="another koala batch"):
            run(output, resume=True)
        journal.finish()
    assert is_whole(output)


def test_a_run_with_only_bad_records_leaves_only_their_reports(tmp_path):
    output = tmp_path / "out"
    output.write_bytes(b"of an earlier run\n")
    with Journal(output, JOB, resume=False) as journal:
        journal.add("", "bad\n", 1, 1)
        journal.give_up()
    assert output.read_bytes() == b"of an earlier run\n"
    assert output.with_name("out.errors").read_bytes() == BAD
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.errors"]


def test_list_files_names_all_files_of_a_run(tmp_path):
    with pytest.raises(KilledError):
        run(tmp_path / "out", kill_at=2)
    assert set(tmp_path.iterdir()) < set(list_files(tmp_path / "out"))
