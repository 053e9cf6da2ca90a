"""The JSON of the API, as types: they check what comes and describe what goes."""

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
    """Take a number as a name, too."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Id = Annotated[
    str | None,
    BeforeValidator(_read_id),
    WithJsonSchema({"anyOf": [{"type": kind} for kind in ("string", "integer", "null")]}),
]


class Document(BaseModel):
    """A procedure to track; fields with other names come back as they are."""

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

    id: Id = Field(None, description="A name for it; else its number in the request.")
    text: str | None = Field(
        None, description="One step a line, or one a sentence if it is a single line."
    )
    steps: list[str] | None = Field(None, description="Instead of `text`: the steps.")
    entities: list[str] | None = Field(
        None,
        description="What to track, aliases with `;`. Where none are named, those worth it are "
        "found.",
    )
    question: str = Field(
        "",
        # Earlier versions called it prompt.
        validation_alias=AliasChoices("question", "prompt"),
        description="The question that the text answers. It helps to find triples, and some "
        "models read it.",
    )
    model: str = Field(
        "auto",
        description="Which of the models that `/api/health` names is to read it; `auto`: the one "
        "that fits the text. The `signature` of the grid says which did.",
    )
    find: bool = Field(False, description="Also find entities beside those that are named.")
    explain: bool = Field(False, description="Give a reason for every cell.")

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: object) -> object:
        """Take null in a field of ours as if the field were missing; `koala batch` does so, too."""
        if not isinstance(value, dict):
            return value
        ours = cls.model_fields
        return {key: each for key, each in value.items() if each is not None or key not in ours}

    @model_validator(mode="after")
    def _check(self) -> "Document":
        if (self.text is None) == (self.steps is None):
            raise ValueError('Give "text" (a string) or "steps" (a list of strings), one of them')
        return self

    @property
    def content(self) -> str | list[str]:
        """The text, or the steps."""
        return self.text if self.text is not None else self.steps or []


class TripleValue(BaseModel):
    """A fact that was read for an entity, and its share of the attention."""

    model_config = _STRICT
    head: str
    relation: str
    tail: str
    sentence: str = Field(description="The triple in English.")
    weight: float


class ReasonValue(BaseModel):
    """What speaks for a cell."""

    # Not strict: JSON has no pairs, only lists.
    actions: dict[Literal["NONE", "CREATE", "MOVE", "DESTROY"], float]
    exists: float = Field(description="How probable it is that the entity exists after the step.")
    locations: dict[str, float] = Field(description="The most probable places, best first.")
    mentions: list[tuple[int, int]] = Field(
        description="Where the step names the entity: offsets in Unicode characters."
    )
    triples: list[TripleValue]


class CellValue(BaseModel):
    """What one step does to one entity."""

    model_config = _STRICT
    step: int
    action: Literal["NONE", "CREATE", "MOVE", "DESTROY"]
    before: str = Field(description="`-`: does not exist, `?`: place unknown.")
    after: str
    confidence: float | None = None
    reason: ReasonValue | None = None


class EntityValue(BaseModel):
    """One entity through all steps."""

    model_config = _STRICT
    name: str
    initial: str = Field(description="The place before step 1.")
    steps: list[CellValue]


class GridValue(BaseModel):
    """All entities of a procedure through all its steps."""

    model_config = ConfigDict(**_STRICT, extra="allow")
    id: str
    steps: list[str]
    entities: list[EntityValue]
    signature: str | None = Field(None, description="What made the grid.")
    warnings: list[str] | None = Field(None, description="What makes it doubtful, if anything.")


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
    """A procedure to try."""

    name: str
    title: str
    text: str
    entities: list[str]


class ModelValue(BaseModel):
    """A model that can be asked for."""

    name: str
    signature: str = Field(description="What stands in every grid that it makes.")


class Health(BaseModel):
    """How the server is."""

    status: Literal["ok"]
    version: str
    model: str = Field(description="The signature of the first model.")
    models: list[ModelValue] = Field(
        description="All of them; the first reads what no other one fits."
    )
    waiting: int = Field(description="Requests in line.")
    limits: dict[str, int | float]


class Problem(BaseModel):
    """Why a request was refused."""

    code: str
    message: str
    field: str | None = None


class ErrorValue(BaseModel):
    """The body of every answer that is not a success."""

    error: Problem


ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorValue, "description": "Not JSON."},
    408: {"model": ErrorValue, "description": "The body came too slowly."},
    413: {"model": ErrorValue, "description": "The body is too large."},
    415: {"model": ErrorValue, "description": "The body is not said to be JSON."},
    422: {"model": ErrorValue, "description": "Not the expected shape, or past a limit."},
    429: {"model": ErrorValue, "description": "Too many wait; `Retry-After` says when to come."},
    500: {"model": ErrorValue, "description": "A mistake of the server."},
    503: {"model": ErrorValue, "description": "The time was up, or the server is stopping."},
}
