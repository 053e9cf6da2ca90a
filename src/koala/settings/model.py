"""Settings of the network: text, encoder, knowledge, decoders.

A default from the paper names its section.
"""

import math
from dataclasses import dataclass
from typing import Literal

from koala.errors import KoalaError
from koala.settings.checks import check_least, check_shares


@dataclass(frozen=True, slots=True)
class TextSettings:
    """What of a text may be an entity's mention, and what a place."""

    mentions: Literal["whole", "parts"] = "whole"
    """The whole name of an entity; or parts of it, too: "oil" for "olive oil"."""
    locations: Literal["phrases", "nouns"] = "phrases"
    """Noun phrases with all their tails, or single nouns."""
    known_locations: str = ""
    """Places that are candidates whether the text names them or not, with spaces between. In
    recipes `?` may be one: what a step takes out is somewhere."""


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """The text encoder."""

    name: str = "minilm"
    """minilm, mpnet, or the folder or name of a transformers model."""
    weights: str | None = None
    """Folder of weights from the language-model stage (section 5.1); "": public ones."""
    is_frozen: bool = False
    layers: Literal["last", "mixture"] = "last"
    """The last layer; or a learned mixture of all, as NCET reads its (frozen) ELMo."""
    entity: Literal["none", "marked", "prefix", "listed"] = "none"
    """Whether the encoder knows which entity it reads for. None: as in the paper, one reading for
    all. Marked: the upper layers run for each entity, its mentions marked. Prefix: all layers run
    for each entity, its name in front of the text. Listed: one
    reading for all, the names of all entities in front of the text as a recipe's ingredients are;
    every step is read with what is said of the entity's name there."""
    has_question: bool = False
    """Whether the question that a text answers stands in front of it, where one is known."""
    has_convention: bool = False
    """Whether a learned vector tells the network whose annotation conventions are asked for, so
    that one network learns from corpora whose annotators decided alike things differently."""
    n_shared_layers: int = 0
    """Where the encoder knows the entity: so many lower layers run before mentions are marked;
    without a prefix, once for all entities."""
    n_frozen_layers: int = 0
    """The embeddings and so many lower layers stay as they are, and what they say is kept."""
    projected_width: int = 0
    """What the encoder says is projected to so much before the BiLSTM, which is then quicker where
    it runs for each entity; 0: it is not."""
    token_width: int = 256
    """Width of each direction of the BiLSTM over word pieces behind the encoder; 0: none."""
    dropout: float = 0.4
    """Behind the BiLSTM, section 6.2."""
    input_dropout: float = 0.0
    """In front of it."""

    def __post_init__(self) -> None:
        check_least(self, "encoder.", n_shared_layers=0, n_frozen_layers=0, token_width=0)
        check_least(self, "encoder.", projected_width=0)
        check_shares(self, "encoder.", "dropout", "input_dropout", below=True)

    @property
    def has_prefix(self) -> bool:
        """Whether the name of the entity stands in front of the text."""
        return self.entity == "prefix"

    @property
    def has_list(self) -> bool:
        """Whether the names of all entities stand in front of the text."""
        return self.entity == "listed"

    @property
    def has_marks(self) -> bool:
        """Whether mentions of the entity are marked."""
        return self.entity == "marked"


@dataclass(frozen=True, slots=True)
class KnowledgeSettings:
    """ConceptNet triples and how they are read (section 4.3)."""

    is_used: bool = True
    n_triples: int = 10
    """N_K, section 4.3.1."""
    has_fuzzy: bool = True
    """Triples that are only similar in meaning to the text, too (Algorithm 1). Without them there
    are fewer, a larger share of them is relevant, and finding them takes milliseconds."""
    encoder: str = "minilm"
    """An encoder of its own, as in the paper; or `shared`: the lowest `encoder.n_frozen_layers` of
    the text encoder read triples, too, so that nothing more is to be shipped."""
    weights: str | None = None
    """Folder of weights from the triple stage (section 5.2)."""
    is_frozen: bool = True
    """The published code; the paper fine-tunes this encoder with the rest."""
    has_attention: bool = True
    """False: the plain mean of the triples ("− Attention" in table 4)."""
    integration: Literal["gate", "concatenation"] = "gate"
    """Equations 13–15, or the plain concatenation the paper compares with."""
    gate_bias: float = 0.0
    """Bias of the gate before training: below 0 it begins nearly closed, and what the text says
    passes as it is until knowledge has shown its worth."""
    store: str | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.gate_bias):
            raise KoalaError(f"knowledge.gate_start is {self.gate_bias}; a number was expected.")
        if self.gate_bias and self.integration != "gate":
            raise KoalaError('knowledge.gate_start needs knowledge.integration = "gate".')


SHARED = "shared"
"""The knowledge encoder that is part of the text encoder."""


@dataclass(frozen=True, slots=True)
class DecoderSettings:
    """State and location decoders (sections 4.2.2 and 4.2.4)."""

    width: int = 256
    """Hidden size of each direction of the LSTMs, section 6.2."""
    tags: Literal["changes", "participation"] = "changes"
    """What C, E and M say: that an entity is created, stays, moves; or, of an ingredient of a
    recipe, that a step uses it for the first time, does not use it, uses it again."""
    reads: Literal["mentions", "steps"] = "mentions"
    """What a step gives to the state tracker. Mentions: entity and verbs, nothing where the entity
    is not mentioned (equation 1). Steps: the whole step, too, and always."""
    step_width: int = 0
    """What a step says is mixed down to so much before the LSTMs read it, which are then several
    times as quick; 0: they read it as it is. Only where steps are read and places scored."""
    locations: Literal["sequences", "scorer"] = "sequences"
    """A BiLSTM over the steps for every candidate (equation 5), or one for all and a scorer."""
    has_entity_attention: bool = False
    """Whether the entities of a step see each other."""
    crf_start: Literal["zero", "counts"] = "zero"
    """Transition scores before training: nothing, or what is counted in the training split."""
    has_legal_crf: bool = False
    """Illegal transitions are impossible in training, too; the paper learns all of them."""
