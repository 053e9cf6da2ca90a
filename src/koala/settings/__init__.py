"""Settings: small frozen dataclasses that describe a tracker and its training; TOML in and out."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
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
    """Everything that makes a trained tracker what it is."""

    reproduces: str = ""
    """What this file reproduces, in a sentence."""
    corpus: Literal["propara", "recipes", "written"] = "propara"
    text: TextSettings = field(default_factory=TextSettings)
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    knowledge: KnowledgeSettings = field(default_factory=KnowledgeSettings)
    decoder: DecoderSettings = field(default_factory=DecoderSettings)
    loss: LossSettings = field(default_factory=LossSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)

    @property
    def has_mbr(self) -> bool:
        """Whether grids can be chosen by the expected score; of recipes by tags of uses alone."""
        return self.corpus != "recipes" or self.decoder.tags == "participation"

    @property
    def may_be_absent(self) -> bool:
        """Whether an entity may never appear: recipes list ingredients that no step uses."""
        return self.corpus == "recipes"

    def __post_init__(self) -> None:
        if self.training.start and (self.encoder.weights or self.knowledge.weights):
            raise KoalaError(
                "training.start brings the weights of the encoders, too: leave out encoder.weights "
                "and knowledge.weights."
            )
        if self.training.selection == "mbr" and not self.has_mbr:
            raise KoalaError(
                'training.selection = "mbr" needs decoder.tags = "participation" where corpus = '
                '"recipes".'
            )

    def without_stages(self) -> "Settings":
        """Leave out where the weights to begin with lie: a trained network has its own."""
        return replace(
            self,
            training=replace(self.training, start=""),
            encoder=replace(self.encoder, weights=None),
            knowledge=replace(self.knowledge, weights=None),
        )

    def to_toml(self) -> str:
        """Write all settings as TOML."""
        return write_toml(asdict(self))

    @classmethod
    def from_toml(cls, text: str) -> "Settings":
        """Read settings; a missing field has its default, an unknown one is refused.

        Names of earlier versions are still read.
        """
        return build_settings(cls, translate(parse_toml(text)))


def read_settings(path: str | Path) -> Settings:
    """Read a settings file; with `extends = "other.toml"` it holds only what differs from that."""
    values = read_values(Path(path))
    try:
        return build_settings(Settings, translate(values))
    except KoalaError as error:
        raise FileError(path, str(error)) from None
