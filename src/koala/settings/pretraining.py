"""Settings of a language-model stage; a default from the paper names its section."""

import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from koala.errors import FileError, KoalaError
from koala.files import read_text
from koala.settings.checks import check_least, check_shares
from koala.settings.toml import build_settings, write_toml


@dataclass(frozen=True, slots=True)
class MaskingSettings:
    """What is masked, and with what."""

    probability: float = 0.3
    """Of each noun and verb (section 5.1). Triples have no use for it: all is masked in turn."""
    mask_share: float = 0.8
    """Pieces to guess that become the mask piece. The paper does not say; BERT's shares."""
    random_share: float = 0.1
    """Pieces to guess that become a random piece; the rest stays as it is."""

    def __post_init__(self) -> None:
        check_shares(self, "masking.", "probability", "mask_share", "random_share")
        if self.mask_share + self.random_share > 1 + 1e-9:
            raise KoalaError("masking.mask_share and masking.random_share add up to more than 1.")


@dataclass(frozen=True, slots=True)
class HeadSettings:
    """How a head is trained for an encoder that ships without one; the encoder is frozen."""

    epochs: int = 1
    learning_rate: float = 1e-3
    max_steps: int | None = None
    """Stop after so many batches; the learning rate falls to 0 until there."""

    def __post_init__(self) -> None:
        check_least(self, "head.", epochs=1, learning_rate=0, max_steps=1)


@dataclass(frozen=True, slots=True)
class PretrainingSettings:
    """Everything that makes a language-model stage what it is."""

    reproduces: str = ""
    """What this file is for, in a sentence."""
    stage: Literal["text", "triples"] = "text"
    paragraphs: str = ""
    """Of the stage on text: a file as `koala wikipedia retrieve` writes it, where none is named on
    the command line."""
    output: str = ""
    """Folder for log and weights, likewise; the settings of trackers name it."""
    encoder: str = "minilm"
    """minilm, mpnet, or the folder of a transformers model."""
    epochs: int = 5
    """Section 6.2: 5 for text, 1 for triples."""
    batch: int = 16
    """Section 6.2; shared out where several processes run."""
    learning_rate: float = 5e-5
    """Section 6.2; it falls linearly to 0."""
    dropout: float | None = None
    """Inside the encoder; none said: as published, 0.1 of most."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of multiplications while it learns: bfloat16 is nearly twice as fast where processors know
    it (AVX512-BF16, AMX), and slow elsewhere. Perplexity is measured in float32."""
    longest: int = 256
    """Word pieces of an example; a longer text makes several."""
    held_out: float = 0.0
    """Share of the triples that is kept to measure perplexity on."""
    max_steps: int | None = None
    """Stop after so many batches; the learning rate falls to 0 until there."""
    max_minutes: float | None = None
    """Stop and save after so long; the learning rate does not know, and a resumed run goes on."""
    seed: int = 0
    masking: MaskingSettings = field(default_factory=MaskingSettings)
    head: HeadSettings = field(default_factory=HeadSettings)

    def __post_init__(self) -> None:
        check_least(self, "", epochs=1, batch=1, longest=8, learning_rate=0, seed=0)
        check_shares(self, "", "dropout", "held_out", below=True)

    def to_toml(self) -> str:
        """Write all settings as TOML."""
        return write_toml(asdict(self))

    @classmethod
    def from_toml(cls, text: str) -> "PretrainingSettings":
        """Read settings; what is not named has its default, what is unknown is refused."""
        try:
            return build_settings(cls, tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise KoalaError(f"Not TOML: {error}.") from None


def read_pretraining_settings(path: str | Path) -> PretrainingSettings:
    """Read a settings file."""
    try:
        return PretrainingSettings.from_toml(read_text(path))
    except FileError:
        raise
    except KoalaError as error:
        raise FileError(path, str(error)) from None
