"""Options that commands share, and what the help of the command line loads."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("old", "now"), [("expected", "mbr"), ("together", "viterbi"), ("places", "presence")]
)
def test_decodings_have_their_earlier_names_too(koala, tmp_path, old, now):
    text = tmp_path / "text.txt"
    text.write_text("Beat the eggs with sugar in a bowl.\n")
    words = ("track", text, "--entity", "eggs", "--model", "small", "--format", "json")
    ours, theirs = (koala(*words, "--decoding", name) for name in (old, now))
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == theirs.stdout


def test_an_unknown_decoding_names_the_known_ones(koala):
    done = koala("track", "-", "--decoding", "beam", stdin=b"Water boils.")
    assert done.returncode == 2
    for name in ("beam", "viterbi", "mbr", "repair", "presence"):
        assert name in done.stderr


def test_the_help_loads_no_library_of_the_models():
    code = "import sys, koala.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    modules = set(loaded.stdout.split())
    assert "koala.cli.train" in modules
    assert not modules & {
        "numpy",
        "spacy",
        "torch",
        "koala.document",
        "koala.grid",
        "koala.registry",
    }
