"""Settings: defaults of the paper, TOML in and out, errors."""

import tomllib

import pytest

from koala.errors import FileError, KoalaError
from koala.settings import LossSettings, Settings, TrainingSettings, read_settings


def test_defaults_are_those_of_the_paper():
    settings = Settings()
    assert settings.loss.location == 0.3
    assert settings.loss.attention == 0.5
    assert (settings.training.batch, settings.training.learning_rate) == (32, 3e-5)
    assert (settings.knowledge.n_triples, settings.decoder.width) == (10, 256)


def test_settings_survive_a_round_trip_through_toml():
    settings = Settings(reproduces='A "row"\nof the table', loss=LossSettings(attention=0.0))
    text = settings.to_toml()
    assert Settings.from_toml(text) == settings
    assert tomllib.loads(text)["loss"]["attention"] == 0.0


def test_missing_fields_have_their_defaults():
    settings = Settings.from_toml("[training]\nepochs = 3\nlearning_rate = 1\n")
    assert settings.training.epochs == 3
    assert settings.training.learning_rate == 1.0
    assert settings.encoder == Settings().encoder


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("colour = 3", "colour is unknown. Known names: corpus"),
        ("[loss]\nlocations = 1", "loss.locations is unknown"),
        ("[training]\nepochs = 'x'", "training.epochs is 'x'; expected int"),
        ("[training]\nepochs = true", "training.epochs is True"),
        ("[knowledge]\nintegration = 'sum'", "one of gate, concatenation"),
        ("[training]\nepochs = 0", "training.epochs is 0; expected 1 or more"),
        ("[training]\nseed = -1", "training.seed is -1; expected 0 or more"),
        ("[training]\nlearning_rate = nan", "training.learning_rate is nan"),
        ("[training]\nema_decay = 1.0", "training.ema_decay is 1.0; .*below 1"),
        ("[training]\nannotators = 1.5", "training.annotators is 1.5; expected 0 to 1"),
        ("[encoder]\ndropout = -0.1", "encoder.dropout is -0.1"),
        ('[training]\nstart = "a"\n[encoder]\nweights = "b"', "leave out encoder.weights"),
        ("training = 3", "training is 3; expected a table"),
        ("[training", "Not TOML"),
    ],
)
def test_wrong_settings_are_rejected(tmp_path, text, problem):
    with pytest.raises(KoalaError, match=problem):
        Settings.from_toml(text)
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(FileError, match=r"s\.toml"):
        read_settings(tmp_path / "s.toml")


def test_the_settings_of_a_card_name_extra_texts_without_their_folder():
    training = TrainingSettings(start="/runs/first", extra="/data/of/someone/corpus/")
    settings = Settings(training=training).for_card()
    assert (settings.training.extra, settings.training.start) == ("corpus", "")
    assert Settings().for_card() == Settings()
