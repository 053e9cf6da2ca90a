"""`koala batch --engine ray` writes the same files as the local engine."""

import gzip
import json
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import pytest
from typer.testing import CliRunner

from koala.bulk.local import CHUNK, Plan, run_local
from koala.bulk.ray_chunks import _open, _sign, run_ray
from koala.bulk.records import Limits
from koala.cli import app
from koala.errors import KoalaError

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

N_CHUNKS = 6


def build_line(number: int) -> bytes:
    if number % 20 == 7:
        return [b"", b"{", b'{"text": "\xff"}', b'{"id": 1}'][number // 20 % 4]
    steps = ["Roots absorb water from the soil.", "The water flows to the leaf."]
    value = {"id": f"p{number}", "steps": steps[: 1 + number % 2], "entities": ["water"], "n": "é"}
    return json.dumps(value, ensure_ascii=False).encode()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Two inputs, the second one compressed, and the output of the local engine."""
    folder = tmp_path_factory.mktemp("remote")
    lines = [build_line(number) + b"\n" for number in range(N_CHUNKS * CHUNK - 5)]
    inputs = [folder / "a.jsonl", folder / "b.jsonl.gz"]
    inputs[0].write_bytes(b"".join(lines[:50]))
    inputs[1].write_bytes(gzip.compress(b"".join(lines[50:])))
    done = run_local(inputs, folder / "out")
    assert done.n_bad > 4
    return inputs, folder / "out", done


def assert_same(output: Path, truth: Path) -> None:
    for suffix in ("", ".errors"):
        mine, theirs = (path.with_name(path.name + suffix) for path in (output, truth))
        assert mine.read_bytes() == theirs.read_bytes()
    assert sorted(path.name for path in output.parent.iterdir()) == ["o", "o.errors"]


def find_workers() -> list[int]:
    """Give the process ids of Ray actors that descend from this process."""
    parents, actors = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int(
                (folder / "stat").read_text().rpartition(")")[2].split()[1]
            )
            title = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if title.startswith(b"ray::MapWorker"):
            actors.append(int(folder.name))

    def is_mine(process: int) -> bool:
        while process in parents and process != os.getpid():
            process = parents[process]
        return process == os.getpid()

    return [actor for actor in actors if is_mine(actor)]


@pytest.mark.usefixtures("ray_here")
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the workers in /proc")
def test_the_output_is_the_same_if_workers_are_killed(whole, tmp_path, monkeypatch):
    inputs, truth, _ = whole
    killed = []

    def kill_once(_done: int, _total: int, _n: int) -> None:
        if not killed:
            killed.extend(find_workers())
            for worker in killed:
                os.kill(worker, signal.SIGKILL)

    monkeypatch.setattr("koala.cli.batch.show_progress", lambda _label: nullcontext(kill_once))
    words = [*inputs, "-o", tmp_path / "o", "--engine", "ray", "--workers", 2]
    done = CliRunner().invoke(app, ["batch", *map(str, words)])
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert killed
    assert_same(tmp_path / "o", truth)


class StopError(Exception):
    pass


def stop_after(n_chunks: int):
    told = []

    def progress(done: int, _total: int, _n: int) -> None:
        told.append(done)
        if len(told) == n_chunks:
            raise StopError

    return progress


@pytest.mark.usefixtures("ray_here")
def test_each_engine_resumes_a_run_of_the_other(whole, tmp_path):
    inputs, truth, position = whole
    with pytest.raises(StopError):
        run_local(inputs, tmp_path / "o", progress=stop_after(2))
    with pytest.raises(StopError):
        run_ray(inputs, tmp_path / "o", resume=True, progress=stop_after(2))
    journal = json.loads((tmp_path / "o.journal").read_text())
    assert journal["position"]["n_records"] == 4 * CHUNK
    assert run_local(inputs, tmp_path / "o", resume=True) == position
    assert_same(tmp_path / "o", truth)


@pytest.mark.parametrize("changed", [0, 1])
def test_a_worker_with_another_model_or_store_is_refused(changed):
    signatures = ["koala-small|network:0", "knowledge:none"]
    own = _sign("small", has_knowledge=False)
    signatures[1 - changed] = own[1 - changed]
    if changed:
        signatures[1] = "knowledge:b14d4ff5ab95"
    with pytest.raises(KoalaError, match=r"Model small of a worker is .* KOALA_STORE"):
        _open("small", tuple(signatures), has_knowledge=False, limits=Limits())
    assert callable(_open("small", own, has_knowledge=False, limits=Limits()))


def test_wrong_calls_are_refused_before_ray_is_started(whole, tmp_path):
    inputs, _, _ = whole
    words = ["batch", str(inputs[0]), "-o", str(tmp_path / "o"), "--address", "127.0.0.1:6379"]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, KoalaError)
    assert "--engine ray" in str(done.exception)
    with pytest.raises(KoalaError, match="no such file"):
        run_ray([tmp_path / "none"], tmp_path / "o", plan=Plan())
    assert list(tmp_path.iterdir()) == []
