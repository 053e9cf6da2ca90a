"""JSON schemas of the API: they validate requests and describe responses."""

from typing import Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    WithJsonSchema,
    model_validator,
)

_STRICT = ConfigDict(strict=True)


def _read_id(value: object) -> object:
    """Accept a number as an id."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Id = Annotated[
    str | None,
    BeforeValidator(_read_id),
    WithJsonSchema({"anyOf": [{"type": kind} for kind in ("string", "integer", "null")]}),
]


ActionName = Literal["NONE", "CREATE", "MOVE", "DESTROY"]


class FixValue(BaseModel):
    """What is known to be true of an entity at one step: a location, an action, or both."""

    model_config = ConfigDict(**_STRICT, extra="forbid")
    entity: str = Field(description="Name of the entity; an entity that is not named is added.")
    step: int = Field(ge=0, description="Number of the step; 0: before step 1.")
    location: str | None = Field(
        None, description="Location after the step; `-`: does not exist, `?`: location unknown."
    )
    action: ActionName | None = Field(None, description="What the step does to the entity.")

    @model_validator(mode="after")
    def _check(self) -> "FixValue":
        if self.location is None and self.action is None:
            raise ValueError('Give "location", "action" or both')
        return self


class Document(BaseModel):
    """A procedure to track. Other fields are copied to the response."""

    model_config = ConfigDict(
        **_STRICT,
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "id": "rain",
                    "text": "The sun warms the sea. Water rises into the air.",
                    "entities": ["water"],
                    "explain": True,
                }
            ]
        },
    )
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    id: Id = Field(None, description="Id of the procedure; default: its number in the request.")
    text: str | None = Field(
        None,
        description="The text. Each line is a step; in a single line, each sentence is a step.",
    )
    steps: list[str] | None = Field(None, description="The steps, instead of `text`.")
    entities: list[str] | None = Field(
        None,
        description="Entities to track, aliases separated by `;`. Default: the entities found in "
        "the text.",
    )
    question: str = Field(
        "",
        # "prompt" is its name in earlier versions.
        validation_alias=AliasChoices("question", "prompt"),
        description="The question that the text answers. It improves retrieval, and some models "
        "read it.",
    )
    model: str = Field(
        "auto",
        description="Name of a model that `/api/health` lists, or `auto` for the one that fits the "
        "text. The `signature` of the grid names the model that was used.",
    )
    find: bool = Field(False, description="Find further entities besides the given ones.")
    explain: bool = Field(False, description="Give a reason for every cell.")
    fixed: list[FixValue] | None = Field(
        None,
        description="Cells that are known to be right; the rest of the grid is decoded given them.",
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: object) -> object:
        """Treat null in a field of this schema as missing, as `koala batch` does."""
        if not isinstance(value, dict):
            return value
        known = cls.model_fields
        return {key: each for key, each in value.items() if each is not None or key not in known}

    @model_validator(mode="after")
    def _check(self) -> "Document":
        if (self.text is None) == (self.steps is None):
            raise ValueError('Give either "text" (a string) or "steps" (a list of strings)')
        return self

    @property
    def content(self) -> str | list[str]:
        """The text or the steps, whichever was given."""
        return self.text if self.text is not None else self.steps or []


class TripleValue(BaseModel):
    """A retrieved triple, and its share of the attention."""

    model_config = _STRICT
    head: str
    relation: str
    tail: str
    sentence: str = Field(description="The triple as an English sentence.")
    weight: float = Field(description="Share of the attention.")


class ReasonValue(BaseModel):
    """Probabilities and evidence of a cell."""

    # Not strict, because JSON has lists where `mentions` has tuples.
    actions: dict[ActionName, float] = Field(description="Probability of each action.")
    exists: float = Field(description="Probability that the entity exists after the step.")
    locations: dict[str, float] = Field(description="The most probable locations, best first.")
    mentions: list[tuple[int, int]] = Field(
        description="Mentions of the entity in the step: start and end in Unicode characters."
    )
    triples: list[TripleValue] = Field(description="Triples, most attended first.")


class SpanValue(BaseModel):
    """Where something stands in the text, in Unicode characters; the end is not included.

    If the request has `steps`, the text is these steps joined by line breaks.
    """

    model_config = _STRICT
    start: int
    end: int


class MentionValue(SpanValue):
    """Where the text names an entity."""

    step: int


class CellValue(BaseModel):
    """The effect of one step on one entity."""

    model_config = _STRICT
    step: int
    action: ActionName
    before: str = Field(
        description="Location before the step; `-`: does not exist, `?`: location unknown."
    )
    after: str = Field(description="Location after the step.")
    location_span: SpanValue | None = Field(
        None,
        description="Where the text names the location after the step; null if it does not.",
    )
    confidence: float | None = Field(None, description="Probability of the cell.")
    fixed: bool | None = Field(None, description="True if the request fixed the cell.")
    reason: ReasonValue | None = None


class EntityValue(BaseModel):
    """One entity in all steps."""

    model_config = _STRICT
    name: str
    initial: str = Field(description="Location before step 1.")
    initial_span: SpanValue | None = Field(
        None, description="Where the text names the location before step 1; null if it does not."
    )
    mentions: list[MentionValue] | None = Field(
        None, description="Where the text names the entity."
    )
    steps: list[CellValue]


class GridValue(BaseModel):
    """All entities of a procedure in all its steps."""

    model_config = ConfigDict(**_STRICT, extra="allow")
    id: str
    steps: list[str]
    step_spans: list[SpanValue] | None = Field(
        None, description="Where the steps stand in the text."
    )
    entities: list[EntityValue]
    signature: str | None = Field(
        None, description="Model, decoding and knowledge that made the grid."
    )
    warnings: list[str] | None = Field(None, description="Reasons to doubt the grid, if any.")


def _is_list(value: object) -> str:
    return "many" if isinstance(value, list) else "one"


Documents = Annotated[
    Annotated[Document, Tag("one")] | Annotated[list[Document], Tag("many")],
    Discriminator(_is_list),
]
Grids = Annotated[
    Annotated[GridValue, Tag("one")] | Annotated[list[GridValue], Tag("many")],
    Discriminator(_is_list),
]


class ExampleValue(BaseModel):
    """A bundled example."""

    name: str
    title: str
    text: str
    entities: list[str]


class ModelValue(BaseModel):
    """A model that requests can name."""

    name: str
    signature: str = Field(description="Signature of the model's grids.")


class Health(BaseModel):
    """State of the server."""

    status: Literal["ok"]
    version: str
    model: str = Field(description="Signature of the first model.")
    models: list[ModelValue] = Field(
        description="All models; `auto` uses the first for texts that no other fits."
    )
    waiting: int = Field(description="Requests in the queue.")
    limits: dict[str, int | float] = Field(description="Limits on requests.")


class Problem(BaseModel):
    """Why a request was refused."""

    code: str
    message: str
    field: str | None = None


class ErrorValue(BaseModel):
    """Body of every error response."""

    error: Problem


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorValue, "description": "The body is not valid JSON."},
    408: {"model": ErrorValue, "description": "The body arrived too slowly."},
    413: {"model": ErrorValue, "description": "The body is too large."},
    415: {"model": ErrorValue, "description": "The content type is not `application/json`."},
    422: {"model": ErrorValue, "description": "A field is invalid, or exceeds a limit."},
    429: {"model": ErrorValue, "description": "The queue is full; retry after `Retry-After`."},
    500: {"model": ErrorValue, "description": "Internal error."},
    503: {"model": ErrorValue, "description": "Time limit exceeded, or the server is stopping."},
}
