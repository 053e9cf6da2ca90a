"""Settings of the language-model stages: the shipped files are valid, wrong ones are rejected."""

from pathlib import Path

import pytest

from koala.errors import KoalaError
from koala.settings.pretraining import PretrainingSettings, read_pretraining_settings

CONFIGS = sorted((Path(__file__).parents[2] / "configs").glob("pretraining/*.toml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_files_follow_the_paper_and_describe_themselves(path):
    assert path.read_text().startswith("# ")
    settings = read_pretraining_settings(path)
    assert settings.reproduces
    stage, *_, encoder = path.stem.removesuffix("-paper").split("-")
    assert (settings.stage, settings.encoder) == (stage, encoder)
    # Section 6.2.
    assert (settings.batch, settings.learning_rate) == (16, 5e-5)
    # With MiniLM, the text stage is shorter than in the paper.
    shorter = {"text-minilm": 1, "text-recipes-minilm": 1}
    epochs = {"text": 5, "triples": 1}[settings.stage]
    assert settings.epochs == shorter.get(path.stem, epochs)
    assert PretrainingSettings.from_toml(settings.to_toml()) == settings


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("epoch = 3", "epoch is unknown"),
        ("epochs = 0", "epochs is 0"),
        ("stage = 'images'", "one of text, triples"),
        ("[masking]\nprobability = 2.0", "masking.probability is 2.0"),
        ("[masking]\nmask_share = 0.8\nrandom_share = 0.3", "more than 1"),
        ("held_out = 1.0", "held_out is 1.0"),
        ("dropout = 1.0", "dropout is 1.0"),
        ("epochs", "Not TOML"),
    ],
)
def test_wrong_settings_are_rejected(text, problem, tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(KoalaError, match=problem) as caught:
        read_pretraining_settings(path)
    assert str(path) in str(caught.value)
