"""Settings of the losses and of training.

Sections, equations and tables are those of the KoaLa paper. A default that follows the paper names
its section.
"""

from dataclasses import dataclass
from typing import Literal

from koala.settings.checks import check_minimum, check_shares


@dataclass(frozen=True, slots=True)
class LossSettings:
    """Weights of the losses (equation 17); the state loss has weight 1."""

    location: float = 0.3
    """λ_loc, the weight of the location loss (section 6.2)."""
    attention: float = 0.5
    """λ_attn, the weight of the attention loss (section 6.2); 0 is "− Attention loss" in
    table 4."""
    attention_form: Literal["positives", "paper"] = "positives"
    """Divisor of the attention loss: the number of relevant triples (published code), or N_K·T
    (equation 16)."""
    has_initial_location: bool = True
    """Whether the location loss includes position 0, before step 1 (published code); in the paper
    it starts at step 1."""
    staying_location: float = 1.0
    """Weight in the location loss of positions at which the entity stays where it is, from 0 to 1.
    Decoding reads a location only where an entity begins or moves; below 1, the loss does mostly
    the same. The paper weighs all positions equally."""

    def __post_init__(self) -> None:
        check_shares(self, "loss.", "staying_location")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How the tracker is trained (section 6.2)."""

    epochs: int = 20
    """Largest number of epochs."""
    batch: int = 32
    """Entities per batch (section 6.2)."""
    shuffle: Literal["procedures", "entities"] = "procedures"
    """What is shuffled into batches. "procedures": the entities of a procedure stay together, so
    that its text is encoded once, and texts of similar length meet. "entities": every entity by
    itself, as in the published code; a text is then encoded about once for every entity."""
    part: int = 0
    """Approximate number of entities that pass the network at a time; 0: the whole batch. Gradients
    of the parts are added up, so only memory use changes."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Precision of multiplications in the trained layers of the encoder. bfloat16 is nearly twice
    as fast and takes less memory on processors that support it (AVX512-BF16, AMX), and is slow on
    others."""
    learning_rate: float = 3e-5
    """Adam's learning rate for pretrained layers (section 6.2)."""
    head_learning_rate: float | None = None
    """Learning rate for layers trained from scratch. None: the same (section 6.2)."""
    schedule: Literal["constant", "linear"] = "constant"
    """Learning rates over training: constant; or rising linearly over the first tenth of all
    batches, then falling linearly to 0."""
    layer_decay: float = 1.0
    """Learning rate of an encoder layer as a fraction of that of the layer above it."""
    ema_decay: float = 0.0
    """Decay of the exponential moving average of the weights, which is then scored and saved; 0: no
    average."""
    is_fused: bool = False
    """Whether Adam updates all weights in one fused pass: faster, and equal up to rounding."""
    adds_gold_locations: bool = True
    """Whether gold locations that are not among the candidates are added to them in training
    (published code)."""
    start: str = ""
    """Folder of another run to start from (intermediate training): all weights of the same name and
    shape are loaded, except those of the CRF. They replace `knowledge.gate_bias`."""
    annotators: float = 0.0
    """Weight of single annotators' grids in the state and location losses, from 0 to 1; gold has
    the rest. Where annotators disagree, the network learns how certain it can be."""
    hidden_questions: float = 0.5
    """Share of the texts whose question is hidden in an epoch, chosen at random, so that the
    network works without questions, too. Titles of koala's own corpus are always hidden. No effect
    without `encoder.has_question`."""
    extra: str = ""
    """More texts with grids to train on: a JSON-lines file in koala's format, or the folder of
    koala's own corpus, of which the train split is read."""
    extra_share: float = 1.0
    """Number of entities sampled from `extra` in an epoch, as a multiple of the entities in the
    training split."""
    without_fields: str = ""
    """Fields of koala's own corpus that are left out of the training split and of `extra`,
    separated by spaces ("wet-lab kitchen"), to measure how a network does in a field that it has
    not seen."""
    clip: float = 1.0
    """Largest norm of the gradient; a longer gradient is scaled down to it."""
    patience: int = 6
    """Epochs without a better dev F1 after which training stops; no effect with `selection`
    "last"."""
    selection: Literal["viterbi", "mbr", "last"] = "viterbi"
    """Which epoch is saved as the best. "viterbi", "mbr": the one with the best dev F1 by this
    decoding; for MBR, temperatures are fitted after each epoch. "last": the last one, so that dev
    F1 is not biased by the selection."""
    seed: int = 0
    """Seed of initial weights, batches, dropout and sampling."""

    def __post_init__(self) -> None:
        check_minimum(self, "training.", epochs=1, batch=1, patience=1)
        check_minimum(self, "training.", part=0, seed=0, extra_share=0)
        check_minimum(self, "training.", learning_rate=0, head_learning_rate=0, clip=0)
        check_shares(self, "training.", "layer_decay", "annotators")
        check_shares(self, "training.", "hidden_questions")
        check_shares(self, "training.", "ema_decay", below=True)
