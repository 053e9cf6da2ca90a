"""Stdout that is full, closed or a broken pipe."""

import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
KOALA = [sys.executable, "-m", "koala"]
WORDS = (
    ("show",),
    ("show", "--format", "html"),
    ("models",),
    ("models", "--json"),
    ("--version",),
)


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", WORDS)
def test_a_full_stdout_is_reported_in_one_sentence(words, monkeypatch):
    # With the usual buffering: Python flushes the rest of the buffer again at exit.
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with FULL.open("wb") as full:
        done = subprocess.run([*KOALA, *words], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"Error: stdout cannot be written to (No space left on device).\n"


def test_a_closed_stdout_is_reported_only_if_it_is_needed(tmp_path):
    for words, code, said in (
        ([], 1, "Error: stdout is closed.\n"),
        (["-o", tmp_path / "x"], 0, f"Wrote {tmp_path}/x.\n"),
    ):
        command = ["sh", "-c", 'exec "$@" >&-', "sh", *KOALA, "show", *words]
        done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr.decode()) == (code, said)


@pytest.mark.parametrize("words", WORDS)
def test_a_broken_pipe_ends_quietly(words):
    with subprocess.Popen(
        [*KOALA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
