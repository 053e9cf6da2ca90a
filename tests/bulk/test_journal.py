"""How far a run has come: whatever moment it is killed at, nothing is lost and nothing twice."""

import json

import pytest

from koala.bulk.journal import Job, Journal, list_files
from koala.errors import FileError

JOB = Job((("in.jsonl", 10),), "model", "knowledge:none", 2)
CHUNKS = [("a\nb\n", ""), ("c\n", "bad\n"), ("d\ne\n", "")]
GRIDS, BAD = b"a\nb\nc\nd\ne\n", b"bad\n"


class KilledError(BaseException):
    pass


def run(output, *, resume=False, kill_at=None):
    """Write the chunks from where the journal is; perhaps die before adding one of them."""
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
def test_a_run_goes_on_behind_the_last_chunk(tmp_path, kill_at):
    output = tmp_path / "out"
    with pytest.raises(KilledError):
        run(output, kill_at=kill_at)
    run(output, resume=True)
    assert is_whole(output)


def test_what_is_not_noted_is_cut_off(tmp_path, monkeypatch):
    output = tmp_path / "out"
    monkeypatch.setattr("koala.bulk.journal._SECONDS", 1e9)
    journal = Journal(output, JOB, resume=False)
    journal._note()
    for grids, bad in CHUNKS[:2]:
        journal.add(grids, bad, 2, bad.count("\n"))
    # Written to the disk, but killed before the journal says so.
    journal.close()
    assert output.with_name("out.part").stat().st_size == 6
    run(output, resume=True)
    assert is_whole(output)


def test_chunks_that_come_quickly_share_a_note(tmp_path, monkeypatch):
    notes = []
    note = Journal._note
    monkeypatch.setattr(Journal, "_note", lambda self: (notes.append(1), note(self)))
    run(tmp_path / "out")
    assert len(notes) == 2  # the first chunk's, and the end's
    assert is_whole(tmp_path / "out")


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_run_that_is_killed_while_files_get_their_names_has_ended(tmp_path, monkeypatch, steps):
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
    journal._note()
    monkeypatch.setattr(Journal, "_note", lambda _: None)
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


def test_a_run_goes_on_only_with_the_same_knowledge(tmp_path):
    with pytest.raises(KilledError):
        run(tmp_path / "out", kill_at=1)
    other = Job(JOB.inputs, JOB.model, "knowledge:b14d4ff5ab95", JOB.chunk)
    with pytest.raises(FileError, match="other knowledge"):
        Journal(tmp_path / "out", other, resume=True)


def test_a_run_of_which_nothing_came_leaves_nothing(tmp_path):
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
def test_what_is_no_journal_is_refused_by_name_and_kept(tmp_path, value):
    path = tmp_path / "out.journal"
    path.write_text(json.dumps(value))
    with pytest.raises(FileError, match=r"out\.journal: not a journal of this version"):
        Journal(tmp_path / "out", JOB, resume=True)
    assert [each.name for each in tmp_path.iterdir()] == ["out.journal"]
    path.write_text("{")
    with pytest.raises(FileError, match="not a journal"):
        Journal(tmp_path / "out", JOB, resume=True)
    path.write_text(json.dumps({"job": OURS, "position": POSITION}))
    run(tmp_path / "out", resume=True)
    assert is_whole(tmp_path / "out")


def test_two_runs_do_not_write_one_output(tmp_path):
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


def test_a_run_of_bad_records_leaves_only_what_is_wrong_with_them(tmp_path):
    output = tmp_path / "out"
    output.write_bytes(b"of a run before\n")
    with Journal(output, JOB, resume=False) as journal:
        journal.add("", "bad\n", 1, 1)
        journal.give_up()
    assert output.read_bytes() == b"of a run before\n"
    assert output.with_name("out.errors").read_bytes() == BAD
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.errors"]


def test_the_files_of_a_run_are_known(tmp_path):
    with pytest.raises(KilledError):
        run(tmp_path / "out", kill_at=2)
    assert set(tmp_path.iterdir()) < set(list_files(tmp_path / "out"))
