"""Procedure, Step, Span, Entity, Candidate: what a text says, as frozen values without tensors."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from koala.errors import KoalaError
from koala.text.nlp import Word
from koala.text.steps import split_steps

Convention = Literal["koala", "propara", "recipes"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
"""Whose rules an annotation follows: those of `corpus/GUIDE.md`, or those of the annotators of
ProPara or Recipes."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a step, from `start` up to but not including `end`; steps count from 0."""

    step: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a procedure."""

    text: str
    start: int = 0
    """Where the step starts in the text it came from."""
    words: tuple[Word, ...] = ()
    """Filled by `annotate`."""

    @property
    def verbs(self) -> tuple[int, ...]:
        """Which words are verbs."""
        return tuple(i for i, word in enumerate(self.words) if word.pos == "VERB")


@dataclass(frozen=True, slots=True)
class Entity:
    """Something to track. Its name may hold aliases, as in `plant; animal`."""

    name: str
    mentions: tuple[Span, ...] = ()
    """Filled by `annotate`."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The names, the first one first."""
        return split_aliases(self.name)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A location that the text names, and where it does."""

    name: str
    """In lemmas, as ProPara's gold grids write locations: "dry cabinet"."""
    mentions: tuple[Span, ...]
    number: int = 0
    """Its number among the places that are known beforehand, from 1 on; 0: it is none of them."""
    text: str = ""
    """As the text writes it where it first does: "drying cabinet". Empty: the text does not."""

    @property
    def surface(self) -> str:
        """The location as a reader of the text would write it."""
        return self.text or self.name


@dataclass(frozen=True, slots=True)
class Procedure:
    """A text of several steps and the entities to track in it."""

    id: str
    steps: tuple[Step, ...]
    entities: tuple[Entity, ...] = ()
    question: str = ""
    """The question the text answers, where there is one: "How does oil form?"."""
    convention: Convention = "koala"
    """Whose annotation conventions a grid of this procedure follows."""
    candidates: tuple[Candidate, ...] = ()
    """Filled by `annotate`, in order of first mention, a longer name first."""

    @classmethod
    def from_text(cls, text: str, entities: Iterable[str] = (), *, id: str = "text") -> "Procedure":
        """Build a procedure from a text: one step a line, or one a sentence."""
        steps = tuple(Step(piece.text, piece.start) for piece in split_steps(text))
        return cls(id, steps, tuple(build_entity(name) for name in entities))


def split_aliases(name: str) -> tuple[str, ...]:
    """Split a name at its semicolons.

    >>> split_aliases("plant; animal")
    ('plant', 'animal')
    """
    return tuple(alias for part in name.split(";") if (alias := part.strip())) or (name,)


def build_entity(name: str) -> Entity:
    """Build an entity from a user's words."""
    check_text(name)
    if not name.replace(";", " ").strip():
        raise KoalaError(f"An entity's name is empty: {name!r}. Give a word of the text.")
    return Entity(" ".join(name.split()))


def check_text(text: str) -> None:
    """Refuse what no file can hold: halves of characters, as badly decoded bytes leave them."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown = text[max(0, error.start - 20) : error.end + 20]
        raise KoalaError(f"{shown!r} is not Unicode text. Give it in UTF-8.") from None
