"""Settings: frozen dataclasses that describe a tracker and its training, read from TOML."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePath
from typing import Literal

from koala.errors import FileError, KoalaError
from koala.settings.model import (
    SHARED,
    DecoderSettings,
    EncoderSettings,
    KnowledgeSettings,
    TextSettings,
)
from koala.settings.old_names import translate
from koala.settings.toml import build_settings, parse_toml, read_values, write_toml
from koala.settings.training import LossSettings, TrainingSettings

__all__ = [
    "SHARED",
    "DecoderSettings",
    "EncoderSettings",
    "KnowledgeSettings",
    "LossSettings",
    "Settings",
    "TextSettings",
    "TrainingSettings",
    "read_settings",
]


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a tracker: network, losses and training."""

    reproduces: str = ""
    """What these settings reproduce, in a sentence."""
    corpus: Literal["propara", "recipes", "written"] = "propara"
    """Corpus to train on: ProPara, Recipes, or koala's own ("written"). It also chooses the task:
    how grids are decoded and scored. koala's own corpus is decoded and scored like ProPara."""
    text: TextSettings = field(default_factory=TextSettings)
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    knowledge: KnowledgeSettings = field(default_factory=KnowledgeSettings)
    decoder: DecoderSettings = field(default_factory=DecoderSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    @property
    def has_mbr(self) -> bool:
        """Whether MBR decoding is possible; for recipes it needs participation tags."""
        return self.corpus != "recipes" or self.decoder.tags == "participation"

    @property
    def may_be_absent(self) -> bool:
        """Whether an entity may be absent throughout: recipes list ingredients no step uses."""
        return self.corpus == "recipes"

    def __post_init__(self) -> None:
        if self.training.start and (self.encoder.weights or self.knowledge.weights):
            raise KoalaError(
                "training.start also loads the weights of the encoders: leave out encoder.weights "
                "and knowledge.weights."
            )
        if self.training.selection == "mbr" and not self.has_mbr:
            raise KoalaError(
                'training.selection = "mbr" with corpus = "recipes" needs decoder.tags = '
                '"participation".'
            )

    def without_initial_weights(self) -> "Settings":
        """Remove the folders of initial weights, which a trained network does not need."""
        return replace(
            self,
            training=replace(self.training, start=""),
            encoder=replace(self.encoder, weights=None),
            knowledge=replace(self.knowledge, weights=None),
        )

    def for_card(self) -> "Settings":
        """Give the settings for the card of a model, which may be opened on another machine.

        Folders of initial weights are removed, and of the path of extra texts only the name stays.
        """
        training = replace(self.training, extra=PurePath(self.training.extra).name)
        return replace(self, training=training).without_initial_weights()

    def to_toml(self) -> str:
        """Give all settings as TOML."""
        return write_toml(asdict(self))

    @classmethod
    def from_toml(cls, text: str) -> "Settings":
        """Read settings from TOML; a missing field has its default, an unknown one is an error.

        Field names of earlier versions are still read.
        """
        return build_settings(cls, translate(parse_toml(text)))


def read_settings(path: str | Path) -> Settings:
    """Read a settings file; with `extends = "other.toml"` it overrides settings of that file."""
    values = read_values(Path(path))
    try:
        return build_settings(Settings, translate(values))
    except KoalaError as error:
        raise FileError(path, str(error)) from None
