"""Shared fixtures: tiny settings, the real data, the command line, runs of several processes."""

import io
import os
import subprocess
import sys
import traceback
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

# Threads do not speed up tiny models, and slow them down on busy cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No deadline, because the time of an example depends on the machine. In CI the examples are fixed.
settings.register_profile(
    "koala",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("koala")

TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}


@pytest.fixture(scope="session", name="settings")
def tiny_settings(tmp_path_factory):
    """Give the settings of a tiny network with knowledge; needs torch."""
    from . import tiny

    folder = tmp_path_factory.mktemp("tiny")
    return tiny.build_settings(tiny.build_encoder(folder / "encoder"), tiny.build_store(folder))


@pytest.fixture(scope="session")
def data() -> Path:
    """Give the folder of the real data, or skip the test if KOALA_DATA is not set."""
    folder = os.environ.get("KOALA_DATA")
    if not folder:
        pytest.skip("needs the real data: set KOALA_DATA to its folder")
    if not Path(folder).is_dir():
        pytest.fail(f"KOALA_DATA is {folder}, which is not a folder")
    return Path(folder)


@pytest.fixture(scope="session")
def propara(data: Path) -> Path:
    return data / "propara"


@pytest.fixture(scope="session")
def koala_process():
    """Run the command line in a separate process, as a user does; slow."""

    def run(*words: object, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "koala", *map(str, words)]
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            env=os.environ | TERMINAL,
            timeout=120,
            check=False,
        )
        return subprocess.CompletedProcess(
            command, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run


@pytest.fixture(scope="session")
def koala():
    """Run the command line in this process: the same arguments, streams and exit codes."""
    from koala import files
    from koala.cli import main

    def run(*words: object, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
        command = ["koala", *map(str, words)]
        # A new process would have no cached input.
        files._read_stdin.cache_clear()
        files._read_once.cache_clear()
        # Text streams over bytes, like those of a process.
        streams = {
            name: io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")
            for name, raw in (("stdin", stdin), ("stdout", b""), ("stderr", b""))
        }
        with (
            mock.patch.dict(os.environ, TERMINAL),
            mock.patch.multiple(sys, argv=command, **streams),
        ):
            try:
                main()
                code = 0
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(end.code is not None)
            except Exception:
                traceback.print_exc()
                code = 1
            for name in ("stdout", "stderr"):
                streams[name].flush()
        printed = (streams[name].buffer.getvalue().decode() for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(command, code, *printed)

    return run


@pytest.fixture(scope="session")
def alone_and_together(tmp_path_factory) -> tuple[Path, Path, str]:
    """Train with one process, and with two processes of `accelerate launch`, without a GPU.

    Gives the folders of both and the output of the two processes.
    """
    pytest.importorskip("torch")
    from . import processes

    home = processes.prepare(tmp_path_factory.mktemp("processes"))
    processes.run_all(home, home / "alone")
    words = ("--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--main_process_port",
             "0", "--mixed_precision", "no", "--dynamo_backend", "no")  # fmt: skip
    command = [sys.executable, "-m", "accelerate.commands.launch", *words, processes.__file__]
    done = subprocess.run(
        [*command, home, home / "together"],
        capture_output=True,
        env={**os.environ, "ACCELERATE_USE_CPU": "true"},
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return home / "alone", home / "together", done.stdout.decode()
