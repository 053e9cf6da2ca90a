"""Settings of the losses and of training; a default from the paper names its section."""

from dataclasses import dataclass
from typing import Literal

from koala.settings.checks import check_least, check_shares


@dataclass(frozen=True, slots=True)
class LossSettings:
    """The three losses and their weights (equation 17)."""

    location: float = 0.3
    """λ_loc, section 6.2."""
    attention: float = 0.5
    """λ_attn, section 6.2; 0 is "− Attention loss" in table 4."""
    attention_form: Literal["positives", "paper"] = "positives"
    """Mean over positive pairs (published code), or divided by N_K·T (equation 16)."""
    has_initial_location: bool = True
    """The location loss counts position 0 (published code); the paper starts at step 1."""


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How the tracker is trained (section 6.2)."""

    epochs: int = 20
    batch: int = 32
    """Entities of a batch."""
    part: int = 0
    """Entities of a batch that pass the network at a time, about; 0: all. The gradient is that of
    the whole batch, and what is kept to find it takes less memory."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of multiplications in layers of the encoder that learn: bfloat16 is nearly twice as fast and
    takes less memory where processors know it (AVX512-BF16, AMX), and slow elsewhere."""
    learning_rate: float = 3e-5
    head_learning_rate: float | None = None
    """Of what is trained from scratch; None: the same (section 6.2)."""
    schedule: Literal["constant", "linear"] = "constant"
    """The rates stay; or rise over the first tenth of all batches and fall to 0 until the last."""
    layer_decay: float = 1.0
    """The rate of each layer of the encoder, as a share of the one above it."""
    ema_decay: float = 0.0
    """Share of the old in a running average of the weights, which is what is scored and kept."""
    is_fused: bool = False
    """Adam in one pass over all numbers: quicker, and equal but for the last digits."""
    adds_gold_locations: bool = True
    """Gold places that are no candidates become candidates in training (published code)."""
    start: str = ""
    """Folder of another run: training begins with those of its weights that fit (intermediate
    training), whatever `knowledge.gate_start` says, and with CRF scores of its own."""
    annotators: float = 0.0
    """Share of what single annotators said in the losses of states and places, beside gold: where
    they disagree, a network learns how sure it can be."""
    hidden_questions: float = 0.5
    """Where prompts are read: share of the texts of an epoch that are read without, by chance, so
    that a network does not need them."""
    extra: str = ""
    """Other texts with grids to learn from as well: JSON lines in koala's format, or koala's own
    corpus, whose train split is read."""
    extra_share: float = 1.0
    """Entities of those in an epoch: by chance, as a share of the corpus's own."""
    clip: float = 1.0
    patience: int = 6
    """Epochs without a better dev F1 after which training stops; not where the last is kept."""
    selection: Literal["viterbi", "mbr", "last"] = "viterbi"
    """Whose dev F1 chooses the epoch that is kept: of grids as they are decoded, or of those with
    the best expected score under temperatures that are found anew for each epoch. Last: nobody's,
    the last epoch is kept, so that F1 on dev is no upper figure."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_least(self, "training.", epochs=1, batch=1, patience=1)
        check_least(self, "training.", part=0, seed=0, extra_share=0)
        check_least(self, "training.", learning_rate=0, head_learning_rate=0, clip=0)
        check_shares(self, "training.", "layer_decay", "annotators")
        check_shares(self, "training.", "hidden_questions")
        check_shares(self, "training.", "ema_decay", below=True)
