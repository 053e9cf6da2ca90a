"""The settings files of the repository."""

import tomllib
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from koala.bundled import MODELS
from koala.network.card import read_card
from koala.registry import find_model
from koala.settings import read_settings

CONFIGS = Path(__file__).parents[2] / "configs"
FILES = sorted(CONFIGS.rglob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_files_extend_at_most_one_level_deep(path):
    base = tomllib.loads(path.read_text()).get("extends")
    if base is not None:
        assert "extends" not in tomllib.loads((path.parent / base).read_text())
        assert path.parent.name != "models"


@pytest.mark.parametrize("name", ["base", "small", "recipes"])
def test_the_settings_file_of_a_shipped_model_matches_its_card(name):
    def comparable(settings):
        training = replace(settings.training, seed=0)
        return replace(settings, reproduces="", training=training)

    config = read_settings(CONFIGS / "models" / f"{name}.toml")
    card = read_card(find_model(name)).read_settings()
    assert comparable(config.without_initial_weights()) == comparable(card)


@pytest.mark.parametrize(
    "card", sorted(MODELS.glob("*/card.json")), ids=lambda path: path.parent.name
)
def test_cards_of_shipped_models_name_no_folder_of_the_machine_they_were_trained_on(card):
    settings = read_card(card.parent).read_settings()
    assert settings.for_card() == settings
    assert not any(
        "/" in value for value in asdict(settings.training).values() if isinstance(value, str)
    )
