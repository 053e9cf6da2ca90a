"""Settings of the network: text, encoder, knowledge, decoder.

Sections, equations and tables are those of the KoaLa paper. A default that follows the paper names
its section.
"""

import math
from dataclasses import dataclass
from typing import Literal

from koala.errors import KoalaError
from koala.settings.checks import check_minimum, check_shares


@dataclass(frozen=True, slots=True)
class TextSettings:
    """Which words of a text count as mentions of an entity, and which as location candidates."""

    mentions: Literal["whole", "parts"] = "whole"
    """What counts as a mention: the whole name of the entity, or also a part of it ("oil" for
    "olive oil")."""
    locations: Literal["phrases", "nouns"] = "phrases"
    """Location candidates: noun phrases and their shorter tails, or single nouns."""
    known_locations: str = ""
    """Locations that are candidates in every text, even if it does not name them; separated by
    spaces. For recipes, `?` can be one: an ingredient that a step takes out of its location is at
    an unknown one."""


@dataclass(frozen=True, slots=True)
class EncoderSettings:
    """The text encoder (section 4.2.1)."""

    name: str = "minilm"
    """minilm, mpnet, or the folder or Hugging Face id of a transformers model."""
    weights: str | None = None
    """Folder with weights of the language-model stage on text (section 5.1). None or "": the public
    weights."""
    is_frozen: bool = False
    """Whether no layer of the encoder is trained."""
    layers: Literal["last", "mixture"] = "last"
    """Output of the encoder: its last layer, or a learned mixture of all layers, as NCET does with
    (frozen) ELMo."""
    entity: Literal["none", "marked", "prefix", "listed"] = "none"
    """How the encoder knows which entity it reads for. "none": it does not; a text is encoded once
    for all entities (the paper). "marked": the layers above `n_shared_layers` run for each entity,
    with its mentions marked. "prefix": all layers run for each entity, with its name before the
    text. "listed": a text is encoded once, with the names of all entities before it, like the
    ingredients of a recipe; the vector of the entity's name there is part of every step's input."""
    has_question: bool = False
    """Whether the question that a text answers is put before it, if it is known."""
    has_convention: bool = False
    """Whether a learned vector tells the network which annotation convention to follow. One network
    can then learn from corpora whose annotators decided similar cases differently."""
    n_shared_layers: int = 0
    """Number of lower layers that run before mentions are marked. With `entity` "marked" they run
    once for all entities of a text. With `is_frozen` all layers are shared."""
    n_frozen_layers: int = 0
    """Number of lower layers that are not trained; the embeddings are frozen with them. Their
    outputs are cached. With `knowledge.encoder` "shared", these layers also encode triples."""
    projected_width: int = 0
    """Width to which the output of the encoder is projected before the BiLSTM; 0: no projection. A
    smaller width makes a BiLSTM that runs for each entity faster."""
    token_width: int = 256
    """Hidden size of each direction of the BiLSTM over the encoder's subwords; 0: no BiLSTM."""
    dropout: float = 0.4
    """Dropout rate after the BiLSTM (section 6.2)."""
    input_dropout: float = 0.0
    """Dropout rate before the BiLSTM."""

    def __post_init__(self) -> None:
        check_minimum(self, "encoder.", n_shared_layers=0, n_frozen_layers=0, token_width=0)
        check_minimum(self, "encoder.", projected_width=0)
        check_shares(self, "encoder.", "dropout", "input_dropout", below=True)

    @property
    def has_prefix(self) -> bool:
        """Whether the name of the entity is put before the text."""
        return self.entity == "prefix"

    @property
    def has_list(self) -> bool:
        """Whether the names of all entities are put before the text."""
        return self.entity == "listed"

    @property
    def has_marks(self) -> bool:
        """Whether mentions of the entity are marked."""
        return self.entity == "marked"


@dataclass(frozen=True, slots=True)
class KnowledgeSettings:
    """ConceptNet triples and how the network reads them (section 4.3)."""

    is_used: bool = True
    """Whether the network reads triples; false is "− ConceptNet" in table 4."""
    n_triples: int = 10
    """N_K, the number of triples retrieved for an entity (section 4.3.1)."""
    has_fuzzy: bool = True
    """Whether to retrieve also triples that match the text only by meaning (Algorithm 1). Without
    them there are fewer triples, more of them are relevant, and retrieval takes milliseconds."""
    encoder: str = "minilm"
    """Encoder of the triples. A name as in `encoder.name`: a separate encoder, as in the paper.
    "shared": the lowest `encoder.n_frozen_layers` layers of the text encoder, so that no second
    encoder has to be shipped."""
    n_encoder_layers: int = 0
    """With `encoder` "shared": number of the frozen layers that encode triples; 0: all of them.
    Fewer are faster."""
    weights: str | None = None
    """Folder with weights of the language-model stage on triples (section 5.2). None or "": the
    public weights."""
    is_frozen: bool = True
    """Whether the triple encoder is not trained (published code); the paper fine-tunes it."""
    has_attention: bool = True
    """Whether triples are weighted by attention; false: their plain mean, "− Attention" in
    table 4."""
    integration: Literal["gate", "concatenation"] = "gate"
    """How triples are added to the decoder's input: by a gate (equations 13–15), or by
    concatenation, with which the paper compares it."""
    gate_bias: float = 0.0
    """Initial bias of the gate. Below 0 the gate starts nearly closed, and the decoder's input
    passes unchanged until training opens it. 0: the usual random bias."""
    dropout: float = 0.0
    """Dropout on both linear layers of the gate, and on the BiLSTM output of an own triple encoder,
    beside `encoder.dropout` on the mean. The published code: 0.4."""
    store: str | None = None
    """Knowledge store to retrieve from. None: the store that KOALA_STORE names, or the bundled
    one."""
    retrieved: str | None = None
    """File of triples that were retrieved before (`koala.knowledge.retrieved`), read in place of a
    store; for example those of the published system. If it is not found as given, it is looked for
    in the folder KOALA_DATA. None or "": triples are retrieved from the store."""

    def __post_init__(self) -> None:
        check_shares(self, "knowledge.", "dropout", below=True)
        check_minimum(self, "knowledge.", n_encoder_layers=0)
        if not math.isfinite(self.gate_bias):
            raise KoalaError(f"knowledge.gate_bias is {self.gate_bias}; expected a finite number.")
        if self.gate_bias and self.integration != "gate":
            raise KoalaError(
                f"knowledge.gate_bias is {self.gate_bias}, which needs knowledge.integration = "
                f'"gate"; it is "{self.integration}".'
            )


SHARED = "shared"
"""Value of `knowledge.encoder`: triples are read by layers of the text encoder."""


@dataclass(frozen=True, slots=True)
class DecoderSettings:
    """State and location decoders (sections 4.2.2 and 4.2.4)."""

    width: int = 256
    """Hidden size of each direction of the LSTMs (section 6.2)."""
    dropout: float = 0.0
    """Dropout behind the BiLSTMs of state tracker and location predictor. The published code:
    0.4."""
    tags: Literal["changes", "participation"] = "changes"
    """Meaning of the tags C, E and M. "changes": the entity is created, stays, moves.
    "participation" (recipes): the step uses the ingredient for the first time, does not use it,
    uses it again."""
    reads: Literal["mentions", "steps"] = "mentions"
    """Input of the state tracker at a step. "mentions": entity and verbs, zero if the step does not
    mention the entity (equation 1). "steps": also the mean of the whole step, at every step."""
    step_width: int = 0
    """Width to which the input of a step is reduced before the LSTMs, which makes them several
    times faster; 0: no reduction. Needs `reads` "steps" and `locations` "scorer"."""
    locations: Literal["sequences", "scorer"] = "sequences"
    """Location predictor: a BiLSTM over the steps for every candidate (equation 5), or one BiLSTM
    for all candidates and a layer that scores each."""
    has_entity_attention: bool = False
    """Whether the entities of a procedure attend to each other at every step."""
    crf_start: Literal["zero", "counts"] = "zero"
    """Initial transition scores of the CRF: zero, or log frequencies in the training split."""
    has_legal_crf: bool = False
    """Whether the CRF excludes impossible transitions also in training; the paper learns scores for
    all transitions."""

    def __post_init__(self) -> None:
        check_shares(self, "decoder.", "dropout", below=True)
