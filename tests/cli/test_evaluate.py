"""`koala evaluate` as users call it; tests/evaluation checks the scores in more detail."""

import json

import pytest

ROW = "4\t1\toil\tNONE\t-\t-\n"


@pytest.fixture
def dev(propara):
    return propara / "leaderboard" / "dev" / "answers.tsv"


@pytest.fixture
def meet(propara):
    return propara / "evaluator-cases" / "meet"


def test_json_equals_the_official_scores(koala, meet, dev, propara):
    labels = propara / "sentence-labels"
    done = koala("evaluate", meet / "predictions.tsv", "--gold", dev, "--labels", labels, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    ours = json.loads(done.stdout)
    official = json.loads((meet / "official-scores.json").read_text())
    assert ours["document"]["overall"] == official["document"]["overall"]
    for question, scores in official["document"]["questions"].items():
        assert ours["document"]["questions"][question] == pytest.approx(scores)
    assert ours["document"]["per_process"].keys() == official["document"]["per_process"].keys()
    assert official["sentence"].items() <= ours["sentence"].items()
    assert "propara-document|n:43" in ours["signature"]
    assert "propara-sentence-published|n:43" in ours["signature"]


def test_tables_show_the_scores_of_the_leaderboard(koala, meet, dev):
    done = koala("evaluate", meet / "predictions.tsv", "--gold", dev, "--per-process")
    assert done.returncode == 0
    assert all(figure in done.stdout for figure in ("0.773", "0.711", "0.741", "1226"))


def test_levels(koala, meet, dev):
    for level, keys in (("sentence", {"sentence"}), ("both", {"document", "sentence"})):
        done = koala(
            "evaluate", meet / "predictions.tsv", "--gold", dev, "--level", level, "--json"
        )
        assert json.loads(done.stdout).keys() == keys | {"signature"}


def test_compare(koala, meet, dev, propara):
    other = propara / "evaluator-cases" / "00" / "predictions.tsv"
    words = ("evaluate", meet / "predictions.tsv", "--gold", dev, "--compare", other)
    value = json.loads(koala(*words, "--json").stdout)["compare"]
    assert value.keys() == {"f1_difference", "low", "high", "samples", "drawn_by", "drawn"}
    assert value["low"] < value["f1_difference"] < value["high"] < 0
    assert (value["drawn_by"], value["drawn"]) == ("question", 18)
    text = " ".join(koala(*words).stdout.split())
    assert "samples drawn by question, 18 of them): significant." in text
    assert "|by:question-18|" in text.replace(" ", "")


def test_compare_draws_by_procedure_where_questions_are_unknown(
    koala, meet, dev, propara, tmp_path
):
    gold = tmp_path / "answers.tsv"
    gold.write_text(dev.read_text())
    other = propara / "evaluator-cases" / "00" / "predictions.tsv"
    words = ("evaluate", meet / "predictions.tsv", "--gold", gold, "--compare", other, "--json")
    value = json.loads(koala(*words).stdout)
    assert (value["compare"]["drawn_by"], value["compare"]["drawn"]) == ("procedure", 43)
    assert "|by:" not in value["signature"]
    questions = propara / "csv" / "Paragraphs.csv"
    known = json.loads(koala(*words, "--questions", questions).stdout)["compare"]
    assert (known["drawn_by"], known["drawn"]) == ("question", 18)
    assert known["f1_difference"] == value["compare"]["f1_difference"]
    assert known["low"] != value["compare"]["low"]


def test_questions_that_do_not_fit_are_refused(koala, meet, dev, tmp_path):
    few = tmp_path / "few.csv"
    few.write_text("Topic,Prompt,Paragraph,Sentence\nt,How?,1,A.\n")
    words = ("evaluate", meet / "predictions.tsv", "--gold", dev, "--questions", few)
    done = koala(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--questions needs --compare" in done.stderr
    done = koala(*words, "--compare", meet / "predictions.tsv")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not known" in done.stderr


def test_an_error_in_the_compared_file_names_the_option(koala, meet, dev, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text(ROW)
    done = koala("evaluate", meet / "predictions.tsv", "--gold", dev, "--compare", other)
    assert done.returncode == 2
    assert "--compare: The predictions do not fit" in done.stderr


def test_predictions_can_be_a_pipe(meet, dev):
    import subprocess
    import sys

    script = f"{sys.executable} -m koala evaluate <(cat {meet}/predictions.tsv) --gold {dev} --json"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert json.loads(done.stdout)["document"]["overall"]["f1"] == 0.741


def test_predictions_from_stdin(koala, meet, dev):
    raw = (meet / "predictions.tsv").read_bytes()
    done = koala("evaluate", "-", "--gold", dev, "--json", stdin=raw)
    assert json.loads(done.stdout)["document"]["overall"]["f1"] == 0.741


def test_recipes(koala, data):
    dev = data / "recipes" / "dev.jsonl"
    done = koala("evaluate", dev, "--gold", dev, "--json")
    value = json.loads(done.stdout)
    assert value["recipes"]["f1"] == 1.0
    assert value["recipes"].keys() == {"precision", "recall", "f1", "correct", "predicted", "gold"}
    assert "location changes" in koala("evaluate", dev, "--gold", dev).stdout
    refused = koala("evaluate", dev, "--gold", dev, "--level", "sentence")
    assert refused.returncode == 2


def test_koala_json_is_scored_like_the_leaderboard_tsv(koala, meet, dev, tmp_path):
    path = tmp_path / "meet.jsonl"
    assert koala("show", meet / "predictions.tsv", "--format", "json", "-o", path).returncode == 0
    done = koala("evaluate", path, "--gold", dev, "--json")
    assert json.loads(done.stdout)["document"]["overall"]["f1"] == 0.741


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "NUL"),
        (b"4\t1\toil\tNONE\t-\t\xff\n", "not UTF-8"),
        (b"4\t1\toil\tNONE\n", "expected 6 tab-separated columns"),
        (b"4,1,oil,NONE,-,-\n", "expected 6 tab-separated columns"),
        (b"4\t0\toil\tNONE\t-\t-\n", "the step is '0'"),
        (b"4\tx\toil\tNONE\t-\t-\n", "the step is 'x'"),
        (b"4\t1\toil\tEXPLODE\t-\t-\n", "EXPLODE"),
        (b"4\t1\toil\tMOVE\t-\tsea\n", "MOVE from '-' to 'sea'"),
        (b"5\t1\toil\tNONE\t-\t-\n", "process 4 is missing"),
        (b"4\t1\tgas\tNONE\t-\t-\n", "entity 'oil' is missing"),
        (b"4\t1\toil\tNONE\t-\t-\n4\t2\toil\tNONE\t-\t-\n", "step 2 is past the last"),
        (b'{"id": "4"}\n', "line 1"),
        (b'{"broken\n', "Not JSON"),
        (b"paragraph\tstep\tparticipant\taction\tbefore\tafter\n" + ROW.encode(), "'step'"),
    ],
)
def test_bad_predictions_are_refused_in_one_sentence(koala, tmp_path, raw, problem):
    (tmp_path / "p.tsv").write_bytes(raw)
    (tmp_path / "a.tsv").write_text(ROW)
    done = koala("evaluate", tmp_path / "p.tsv", "--gold", tmp_path / "a.tsv")
    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "raw",
    [
        ROW.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + ROW.encode(),
        ROW.encode() * 3,
        ROW.replace("\n", "\tmore\n").encode(),
        b"\n" + ROW.encode() + b"\n\n",
        b"4\t1\toil\tNONE\t\t\n",
    ],
)
def test_deviations_that_the_official_script_tolerates_are_scored(koala, tmp_path, raw):
    (tmp_path / "p.tsv").write_bytes(raw)
    (tmp_path / "a.tsv").write_text(ROW)
    done = koala("evaluate", tmp_path / "p.tsv", "--gold", tmp_path / "a.tsv", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["document"]["overall"]["f1"] == 1.0


def test_wrong_calls(koala, tmp_path, propara, dev, meet):
    predictions = meet / "predictions.tsv"
    for words, problem in (
        (("evaluate", predictions), "--gold"),
        (("evaluate", tmp_path / "none.tsv", "--gold", dev), "no such file"),
        (("evaluate", tmp_path, "--gold", dev), "folder"),
        (("evaluate", predictions, "--gold", dev, "--level", "word"), "word"),
        (("evaluate", predictions, "--gold", dev, "--labels", tmp_path), "gold_labels"),
        (("evaluate", predictions, "--gold", "-"), "stdin"),
        (("frobnicate",), "frobnicate"),
        (
            ("evaluate", predictions, "--gold", dev, "--level", "document",
             "--labels", propara / "sentence-labels"),
            "sentence level",
        ),
    ):  # fmt: skip
        done = koala(*words)
        assert done.returncode == 2, words
        assert problem in done.stderr
        assert "Traceback" not in done.stderr


def test_scoring_loads_neither_torch_nor_spacy(propara, meet, dev):
    import subprocess
    import sys

    code = (
        "import sys; from koala.cli import app\n"
        f"app(['evaluate', {str(meet / 'predictions.tsv')!r}, '--gold', {str(dev)!r}, '--labels',"
        f" {str(propara / 'sentence-labels')!r}], standalone_mode=False)\n"
        "sys.exit(bool({'torch', 'spacy', 'transformers'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0
