"""Procedure, Step, Span, Entity and Candidate: a text as frozen values, without tensors."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from koala.errors import KoalaError
from koala.text.nlp import Word
from koala.text.steps import split_steps

Convention = Literal["koala", "propara", "recipes"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
"""Annotation conventions: of koala's own corpus (`corpus/GUIDE.md`), of ProPara, of Recipes."""


@dataclass(frozen=True, slots=True)
class Span:
    """The words of a step from `start` up to, but not including, `end`; steps count from 0."""

    step: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a procedure."""

    text: str
    start: int | None = None
    """Offset in the text that the user gave, in characters; None if there is no such text."""
    words: tuple[Word, ...] = ()
    """Filled by `annotate`."""
    gaps: tuple[tuple[int, int], ...] = ()
    """White space of the user's text that `text` leaves out: position in `text`, and how many
    characters are missing before it."""

    @property
    def verbs(self) -> tuple[int, ...]:
        """The indices of the words that are verbs."""
        return tuple(i for i, word in enumerate(self.words) if word.pos == "VERB")

    def locate(self, start: int, end: int) -> tuple[int, int] | None:
        """Give the offsets in the user's text of some characters of the step, if they are known."""
        if self.start is None:
            return None
        if start == end:
            first = self.start + self._shift(start)
            return first, first
        return self.start + self._shift(start), self.start + self._shift(end - 1) + 1

    def locate_words(self, start: int, end: int) -> tuple[int, int] | None:
        """Give the offsets in the user's text of the words `start` up to, not including, `end`."""
        return self.locate(self.words[start].start, self.words[end - 1].end)

    def _shift(self, position: int) -> int:
        return position + sum(n for first, n in self.gaps if first <= position)


@dataclass(frozen=True, slots=True)
class FixedCell:
    """What a person has said of an entity at one step; step 0 is before the first."""

    step: int
    location: str | None = None
    """Location after the step: `-` is absent, `?` unknown; None: not said."""
    action: str | None = None
    """What the step does: NONE, CREATE, MOVE or DESTROY; None: not said."""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity to track. Its name may hold aliases, as in `plant; animal`."""

    name: str
    mentions: tuple[Span, ...] = ()
    """Filled by `annotate`."""
    fixed: tuple[FixedCell, ...] = ()
    """Cells that a person has fixed."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """The names of the entity, in the order of `name`."""
        return split_aliases(self.name)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible location, and where the text names it."""

    name: str
    """In lemmas, as in ProPara's gold grids: "dry cabinet"."""
    mentions: tuple[Span, ...]
    number: int = 0
    """Its number among the known locations (setting `text.known_locations`), from 1; 0: not one of
    them."""
    text: str = ""
    """Its first mention as the text writes it: "drying cabinet". Empty for candidates that were not
    found as noun phrases."""

    @property
    def surface(self) -> str:
        """The location as the text writes it, if known; else its name."""
        return self.text or self.name


@dataclass(frozen=True, slots=True)
class Procedure:
    """A text in steps, and the entities to track in it."""

    id: str
    steps: tuple[Step, ...]
    entities: tuple[Entity, ...] = ()
    question: str = ""
    """The question that the text answers, if known: "How does oil form?"."""
    convention: Convention = "koala"
    """The annotation convention that grids of this procedure follow."""
    candidates: tuple[Candidate, ...] = ()
    """Location candidates, filled by `annotate`: by first mention, longer names first; then known
    locations."""

    @classmethod
    def from_text(cls, text: str, entities: Iterable[str] = (), *, id: str = "text") -> "Procedure":
        """Build a procedure from a text: one step per line, or per sentence of a single line."""
        steps = tuple(Step(segment.text, segment.start) for segment in split_steps(text))
        return cls(id, steps, tuple(build_entity(name) for name in entities))


def split_aliases(name: str) -> tuple[str, ...]:
    """Split a name at its semicolons.

    >>> split_aliases("plant; animal")
    ('plant', 'animal')
    """
    return tuple(alias for part in name.split(";") if (alias := part.strip())) or (name,)


def build_entity(name: str) -> Entity:
    """Build an entity from a user's input."""
    check_text(name)
    if not name.replace(";", " ").strip():
        raise KoalaError(f"An entity's name is empty: {name!r}. Give one or more words.")
    return Entity(" ".join(name.split()))


def check_text(text: str) -> None:
    """Raise an error for unpaired surrogates, left by badly decoded bytes: UTF-8 has none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        shown = text[max(0, error.start - 20) : error.end + 20]
        raise KoalaError(f"{shown!r} is not Unicode text. Encode it in UTF-8.") from None
