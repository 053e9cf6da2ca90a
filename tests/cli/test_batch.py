import json
import signal

import pytest

TEXT = {"text": "Roots absorb water from the soil. The water flows to the leaf."}


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps(TEXT) + "\n" + json.dumps({"text": "Hello."}) + "\n")
    return path


def test_show_reads_the_output_of_batch(koala, source, tmp_path):
    out = tmp_path / "out.jsonl"
    done = koala("batch", source, source, "-o", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    shown = koala("show", out, "--format", "json")
    assert shown.returncode == 0, shown.stderr
    grids = [json.loads(line) for line in out.read_text().splitlines()]
    assert [grid["id"] for grid in grids] == ["1", "2", "3", "4"]
    assert [len(grid["entities"]) > 0 for grid in grids] == [True, False, True, False]
    for format in ("table", "html", "tsv", "mermaid", "dot"):
        assert koala("show", out, "--format", format).returncode == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("-", "-o", "out"), "does not read stdin"),
        (("in.jsonl", "-", "-o", "out"), "does not read stdin"),
        (("in.jsonl", "-o", "-"), "does not write to stdout"),
        (("in.jsonl", "-o", "out.tsv"), "writes plain JSON lines"),
        (("in.jsonl", "-o", "out.jsonl.GZ"), "writes plain JSON lines"),
        (("in.jsonl", "-o", "in.jsonl"), "Write to another file"),
        (("in.jsonl", "./in.jsonl", "-o", "../in/in.jsonl"), "Write to another file"),
        (("in.jsonl", "-o", "out", "--model", "base"), "koala encoders fetch mpnet"),
    ],
)
def test_wrong_calls(koala, source, tmp_path, monkeypatch, words, problem):
    folder = tmp_path / "in"
    folder.mkdir()
    source.rename(folder / "in.jsonl")
    before = (folder / "in.jsonl").read_bytes()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KOALA_CACHE", str(tmp_path / "cache"))
    done = koala("batch", *words, stdin=json.dumps(TEXT).encode())
    assert done.returncode == 2
    assert problem in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in folder.iterdir()] == ["in.jsonl"]
    assert (folder / "in.jsonl").read_bytes() == before


def test_repeated_ids_give_a_warning(koala, tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines = [json.dumps({"id": id, "steps": ["Water boils."]}) for id in (2, "a", "a", 1, "a")]
    # The last record has no id, so its number, 6, is its id.
    source.write_text("\n".join([*lines, json.dumps(TEXT)]) + "\n")
    done = koala("batch", source, "-o", out, "--no-knowledge")
    assert done.returncode == 0
    assert "Warning: 2 grids repeat the id of an earlier one" in done.stderr
    assert koala("show", out).returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_resume(koala, source, tmp_path, monkeypatch, number):
    def stop(*_words, **_options):
        # A shell starts background jobs with SIGINT ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.raise_signal(number)
        pytest.fail("not stopped")

    monkeypatch.setattr("koala.bulk.local.run_local", stop)
    before, ctrl_c = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    done = koala("batch", source, "-o", tmp_path / "out.jsonl")
    signal.signal(signal.SIGINT, ctrl_c)
    assert done.returncode == 130
    assert done.stderr.count("\n") == 1
    assert "with --resume to continue" in done.stderr
    assert signal.getsignal(signal.SIGTERM) == before
