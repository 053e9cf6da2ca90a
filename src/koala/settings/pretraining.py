"""Settings of a language-model stage (section 5 of the KoaLa paper).

A default that follows the paper names its section.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from koala.errors import FileError, KoalaError
from koala.files import read_text
from koala.settings.checks import check_minimum, check_shares
from koala.settings.toml import build_settings, parse_toml, write_toml


@dataclass(frozen=True, slots=True)
class MaskingSettings:
    """Which subwords are masked, and what replaces them."""

    probability: float = 0.3
    """Stage "text": probability that a noun or verb is masked (section 5.1). Not read in stage
    "triples", which masks every part of a triple in turn (section 5.2)."""
    mask_share: float = 0.8
    """Share of the masked subwords that are replaced by the mask token. BERT's value; the paper
    gives none."""
    random_share: float = 0.1
    """Share of the masked subwords that are replaced by a random one (BERT's value); the rest stays
    unchanged."""

    def __post_init__(self) -> None:
        check_shares(self, "masking.", "probability", "mask_share", "random_share")
        if self.mask_share + self.random_share > 1 + 1e-9:
            raise KoalaError(
                f"masking.mask_share ({self.mask_share}) and masking.random_share "
                f"({self.random_share}) add up to more than 1."
            )


@dataclass(frozen=True, slots=True)
class HeadSettings:
    """How a head is trained for an encoder that ships without one; the encoder is frozen then."""

    epochs: int = 1
    """Number of epochs."""
    learning_rate: float = 1e-3
    """Initial learning rate; it falls linearly to 0."""
    max_steps: int | None = None
    """Number of batches after which the head is finished, instead of `epochs`. None: no limit."""

    def __post_init__(self) -> None:
        check_minimum(self, "head.", epochs=1, learning_rate=0, max_steps=1)


@dataclass(frozen=True, slots=True)
class PretrainingSettings:
    """All settings of a language-model stage."""

    reproduces: str = ""
    """What these settings are for, in a sentence."""
    stage: Literal["text", "triples"] = "text"
    """What the encoder is trained on: retrieved paragraphs (section 5.1), or triples
    (section 5.2)."""
    paragraphs: str = ""
    """Stage "text": file of paragraphs, as `koala wikipedia retrieve` writes it. The command line
    can name another."""
    output: str = ""
    """Folder for log and weights. The command line can name another. Trackers read the weights by
    `encoder.weights` or `knowledge.weights`."""
    encoder: str = "minilm"
    """minilm, mpnet, or the folder or Hugging Face id of a transformers model."""
    epochs: int = 5
    """Number of epochs; in section 6.2, 5 for text and 1 for triples."""
    batch: int = 16
    """Examples per batch (section 6.2), over all processes."""
    learning_rate: float = 5e-5
    """Initial learning rate (section 6.2); it falls linearly to 0."""
    dropout: float | None = None
    """Dropout rate inside the encoder. None: as published with the encoder, mostly 0.1."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Precision of multiplications in training. bfloat16 is nearly twice as fast on processors that
    support it (AVX512-BF16, AMX), and slow on others. Perplexity is measured in float32."""
    longest: int = 256
    """Largest number of subwords in an example; a longer text is split into several examples."""
    held_out: float = 0.0
    """Stage "triples": share of the triples on which perplexity is measured and nothing is
    trained."""
    max_steps: int | None = None
    """Number of batches after which the stage is finished, instead of `epochs`; the learning rate
    falls to 0 by then. None: no limit."""
    max_minutes: float | None = None
    """Minutes after which the stage is interrupted and saved; `--resume` continues it. The learning
    rate does not depend on it. None: no limit."""
    seed: int = 0
    """Seed of batches, masks, dropout, the initial head and held-out triples."""
    masking: MaskingSettings = field(default_factory=MaskingSettings)
    head: HeadSettings = field(default_factory=HeadSettings)

    def __post_init__(self) -> None:
        check_minimum(self, "", epochs=1, batch=1, longest=8, learning_rate=0, seed=0)
        check_shares(self, "", "dropout", "held_out", below=True)

    def to_toml(self) -> str:
        """Give all settings as TOML."""
        return write_toml(asdict(self))

    @classmethod
    def from_toml(cls, text: str) -> "PretrainingSettings":
        """Read settings from TOML; a missing field has its default, an unknown one is an error."""
        return build_settings(cls, parse_toml(text))


def read_pretraining_settings(path: str | Path) -> PretrainingSettings:
    """Read the settings file of a language-model stage."""
    try:
        return PretrainingSettings.from_toml(read_text(path))
    except FileError:
        raise
    except KoalaError as error:
        raise FileError(path, str(error)) from None
