"""The shipped models reproduce the predictions in results/predictions exactly."""

from pathlib import Path

import pytest

from koala.encoders.weights import find_weights
from koala.errors import KoalaError

PREDICTIONS = Path(__file__).parents[1] / "results" / "predictions"


def needs_encoder(name):
    try:
        find_weights(name)
    except KoalaError:
        return pytest.mark.skip(reason=f"needs the public encoder: koala encoders fetch {name}")
    return ()


@pytest.mark.parametrize("decoding", ["mbr", "viterbi"])
@pytest.mark.parametrize("model", ["small", pytest.param("base", marks=needs_encoder("mpnet"))])
def test_propara(koala, propara, tmp_path, model, decoding):
    folder = propara / "leaderboard" / "dev"
    out = tmp_path / "predictions.tsv"
    done = koala(
        "predict", "--sentences", folder / "sentences.tsv",
        "--template", folder / "dummy-predictions.tsv",
        "--prompts", propara / "csv" / "Paragraphs.csv",
        "--model", model, "--decoding", decoding, "-o", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    suffix = "-viterbi" if decoding == "viterbi" else ""
    assert out.read_text() == (PREDICTIONS / f"koala-{model}{suffix}.dev.tsv").read_text()


def test_recipes(koala, data, tmp_path):
    out = tmp_path / "predictions.jsonl"
    done = koala("predict", "--corpus", "recipes", "--input", data / "recipes" / "dev.jsonl",
                 "-o", out)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert out.read_text() == (PREDICTIONS / "koala-recipes.dev.jsonl").read_text()
