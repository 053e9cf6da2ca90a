"""Small frozen dataclasses, TOML in and out; a default from the paper names its section."""

import math
import tomllib
import types
import typing
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from koala.errors import FileError, KoalaError
from koala.files import read_text

_Settings = TypeVar("_Settings")


@dataclass(frozen=True, slots=True)
class TextSettings:
    """What of a text may be an entity's mention, and what a place."""

    mentions: Literal["whole", "parts"] = "whole"
    """The whole name of an entity; or parts of it, too: "oil" for "olive oil"."""
    places: Literal["phrases", "nouns"] = "phrases"
    """Noun phrases with all their tails, or single nouns."""
    known_places: str = ""
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
    has_prompt: bool = False
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
    gate_start: float = 0.0
    """Bias of the gate before training: below 0 it begins nearly closed, and what the text says
    passes as it is until knowledge has shown its worth."""
    store: str | None = None

    def __post_init__(self) -> None:
        if not math.isfinite(self.gate_start):
            raise KoalaError(f"knowledge.gate_start is {self.gate_start}; a number was expected.")
        if self.gate_start and self.integration != "gate":
            raise KoalaError('knowledge.gate_start needs knowledge.integration = "gate".')


SHARED = "shared"
"""The knowledge encoder that is part of the text encoder."""


@dataclass(frozen=True, slots=True)
class DecoderSettings:
    """State and location decoders (sections 4.2.2 and 4.2.4)."""

    width: int = 256
    """Hidden size of each direction of the LSTMs, section 6.2."""
    tags: Literal["changes", "uses"] = "changes"
    """What C, E and M say: that an entity is created, stays, moves; or, of an ingredient of a
    recipe, that a step uses it for the first time, does not use it, uses it again."""
    reads: Literal["mentions", "steps"] = "mentions"
    """What a step gives to the state tracker. Mentions: entity and verbs, nothing where the entity
    is not mentioned (equation 1). Steps: the whole step, too, and always."""
    step_width: int = 0
    """What a step says is mixed down to so much before the LSTMs read it, which are then several
    times as quick; 0: they read it as it is. Only where steps are read and places scored."""
    places: Literal["sequences", "scorer"] = "sequences"
    """A BiLSTM over the steps for every candidate (equation 5), or one for all and a scorer."""
    has_entity_attention: bool = False
    """Whether the entities of a step see each other."""
    crf_start: Literal["zero", "counts"] = "zero"
    """Transition scores before training: nothing, or what is counted in the training split."""
    has_legal_crf: bool = False
    """Illegal transitions are impossible in training, too; the paper learns all of them."""
    decoding: Literal["legal", "repair", "places", "together", "expected"] = "legal"
    """Viterbi over legal sequences; or over all, and rules that repair what is illegal; or only
    absent or present by the states, and at every step the best place (the paper's two states of
    Recipes); or all entities together, one place a step; or the legal grid with
    the best expected score."""
    has_hints: bool = False
    """Whether what the words around a place say corrects its score (`koala.hints`), whatever the
    decoding; by the expected score it always does."""

    def __post_init__(self) -> None:
        if not self.can_decode(self.decoding):
            raise KoalaError(
                f'decoder.decoding = "{self.decoding}" does not go with decoder.tags = '
                f'"{self.tags}".'
            )
        if self.has_hints and self.tags == "uses":
            raise KoalaError('decoder.has_hints does not go with decoder.tags = "uses".')

    @property
    def reads_hints(self) -> bool:
        """Whether places are corrected; hints speak of where an entity is, not of uses."""
        return self.tags == "changes" and (self.has_hints or self.decoding == "expected")

    def can_decode(self, decoding: str) -> bool:
        """Tell whether tags of this meaning can be decoded so; all can by the expected score."""
        return decoding == "expected" or (decoding == "together") == (self.tags == "uses")


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
    averaging: float = 0.0
    """Share of the old in a running average of the weights, which is what is scored and kept."""
    is_fused: bool = False
    """Adam in one pass over all numbers: quicker, and equal but for the last digits."""
    adds_gold_places: bool = True
    """Gold places that are no candidates become candidates in training (published code)."""
    start: str = ""
    """Folder of another run: training begins with those of its weights that fit (intermediate
    training), whatever `knowledge.gate_start` says, and with CRF scores of its own."""
    annotators: float = 0.0
    """Share of what single annotators said in the losses of states and places, beside gold: where
    they disagree, a network learns how sure it can be."""
    hidden_prompts: float = 0.5
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
    selection: Literal["decoded", "expected", "last"] = "decoded"
    """Whose dev F1 chooses the epoch that is kept: of grids as they are decoded, or of those with
    the best expected score under temperatures that are found anew for each epoch. Last: nobody's,
    the last epoch is kept, so that F1 on dev is no upper figure."""
    seed: int = 0

    def __post_init__(self) -> None:
        check_least(self, "training.", epochs=1, batch=1, patience=1)
        check_least(self, "training.", part=0, seed=0, extra_share=0)
        check_least(self, "training.", learning_rate=0, head_learning_rate=0, clip=0)
        check_shares(self, "training.", "layer_decay", "annotators")
        check_shares(self, "training.", "hidden_prompts")
        check_shares(self, "training.", "averaging", below=True)


_RETIRED = {
    "decoder": ("place_weight",),
    "training": ("n_dropouts", "n_copies", "renamed", "dropped"),
}
"""Fields of earlier versions that are in the cards of models."""


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
    def has_expected(self) -> bool:
        """Whether grids can be chosen by the expected score; of recipes by tags of uses alone."""
        return self.corpus != "recipes" or self.decoder.tags == "uses"

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
        if self.training.selection == "expected" and not self.has_expected:
            raise KoalaError(
                'training.selection = "expected" needs decoder.tags = "uses" where corpus = '
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

        Fields that older versions wrote and that no longer exist are ignored.
        """
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise KoalaError(f"Not TOML: {error}.") from None
        for name, retired in _RETIRED.items():
            if isinstance(table := values.get(name), dict):
                values[name] = {key: table[key] for key in table if key not in retired}
        return build_settings(cls, values)


def read_settings(path: str | Path) -> Settings:
    """Read a settings file; with `extends = "other.toml"` it says only what differs from that."""
    values = _read_values(Path(path), ())
    try:
        return build_settings(Settings, values)
    except KoalaError as error:
        raise FileError(path, str(error)) from None


def _read_values(path: Path, readers: tuple[Path, ...]) -> dict[str, Any]:
    if path in readers:
        raise FileError(path, "extends itself.")
    try:
        values = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FileError(path, f"not TOML: {error}.") from None
    base = values.pop("extends", None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise FileError(path, f"extends is {base!r}; the name of a settings file was expected.")
    merged = _read_values(path.parent / base, (*readers, path))
    for name, value in values.items():
        old = merged.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            value = {**old, **value}
        merged[name] = value
    return merged


def check_least(settings: object, where: str, **least: float) -> None:
    """Refuse numbers that are too small, or none; None may stand for a default."""
    for name, bound in least.items():
        value = getattr(settings, name)
        if value is not None and not bound <= value < math.inf:
            raise KoalaError(f"{where}{name} is {value}; {bound} or more was expected.")


def check_shares(settings: object, where: str, *names: str, below: bool = False) -> None:
    """Refuse what is no share, from 0 to 1; or to below 1."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not (0 <= value < 1 or (value == 1 and not below)):
            expected = "a share below 1" if below else "0 to 1"
            raise KoalaError(f"{where}{name} is {value}; {expected} was expected.")


def build_settings(kind: type[_Settings], values: Mapping[str, Any], where: str = "") -> _Settings:
    """Build settings of any dataclass from plain values, checking names and types."""
    if not is_dataclass(kind):
        raise TypeError(kind)
    hints = typing.get_type_hints(kind)
    known = {each.name for each in fields(kind)}
    for name in values:
        if name not in known:
            raise KoalaError(f"{where}{name} is unknown. Known here: {', '.join(sorted(known))}.")
    built = {name: _convert(hints[name], value, f"{where}{name}") for name, value in values.items()}
    return typing.cast(_Settings, kind(**built))


def _convert(hint: Any, value: Any, where: str) -> Any:  # noqa: ANN401
    if is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise KoalaError(f"{where} must be a table, {value!r} came.")
        return build_settings(typing.cast(type[Any], hint), value, f"{where}.")
    options = _options(hint)
    if typing.get_origin(hint) is Literal:
        if value not in options:
            raise KoalaError(f"{where} is {value!r}; one of {', '.join(options)} was expected.")
        return value
    if float in options and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) not in options:
        names = " or ".join(option.__name__ for option in options if option is not type(None))
        raise KoalaError(f"{where} is {value!r}; {names} was expected.")
    return value


def _options(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) in (typing.Union, Literal):
        return typing.get_args(hint)
    return (hint,)


def write_toml(values: Mapping[str, Any]) -> str:
    """Write plain values and one level of tables; None is left out, as TOML has none."""
    lines = [_line(k, v) for k, v in values.items() if not isinstance(v, Mapping) and v is not None]
    for name, table in values.items():
        if isinstance(table, Mapping):
            lines += ["", f"[{name}]"]
            lines += [_line(key, value) for key, value in table.items() if value is not None]
    return "\n".join(lines) + "\n"


def _line(key: str, value: object) -> str:
    if isinstance(value, bool):
        return f"{key} = {str(value).lower()}"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{key} = "{escaped}"'
    return f"{key} = {value!r}"
