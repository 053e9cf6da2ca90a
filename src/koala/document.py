"""Procedure, Step, Span, Entity, Candidate: what a text says, as frozen values without tensors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from koala.errors import KoalaError
from koala.steps import split_steps
from koala.text import Word, analyze

# What may stand in a place name: "large intestine", "Mississippi delta", "recycling bin".
_NOUNS = frozenset({"NOUN", "PROPN"})
_MODIFIERS = _NOUNS | {"ADJ"}
# What a participle that describes a noun stands behind: "in a weighed crucible".
_BEFORE_PHRASES = frozenset({"DET", "ADP", "ADJ"})
# Adverbs that ProPara's annotators give as places: "the plants are one mile underground".
_PLACE_ADVERBS = frozenset(
    {"above", "ashore", "below", "downstream", "downward", "elsewhere", "indoors", "inside"}
    | {"outdoors", "outside", "overhead", "underground", "underwater", "upstream", "upward"}
)


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
    prompt: str = ""
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


def annotate(
    procedures: Sequence[Procedure],
    *,
    has_parts: bool = False,
    has_phrases: bool = True,
    known_places: Sequence[str] = (),
) -> list[Procedure]:
    """Add words, mentions and candidates; the tagger runs over all texts in one go.

    With parts, "oil" is a mention of "olive oil"; without phrases, places are single nouns. Known
    places are candidates of every text.
    """
    texts = [step.text for procedure in procedures for step in procedure.steps]
    analyses = iter(analyze(texts))
    with_words = [
        replace(
            procedure,
            steps=tuple(replace(step, words=next(analyses).words) for step in procedure.steps),
        )
        for procedure in procedures
    ]
    aliases = sorted(
        {alias for procedure in procedures for e in procedure.entities for alias in e.aliases}
    )
    analyzed = dict(zip(aliases, (a.words for a in analyze(aliases)), strict=True))
    find = find_parts if has_parts else _find_whole
    return [
        replace(
            procedure,
            entities=tuple(
                replace(entity, mentions=mentions)
                for entity, mentions in zip(
                    procedure.entities, find(procedure, analyzed), strict=True
                )
            ),
            candidates=_add_known(
                find_candidates(procedure.steps, has_phrases=has_phrases),
                known_places,
                procedure.steps,
            ),
        )
        for procedure in with_words
    ]


def _find_whole(
    procedure: Procedure, analyzed: Mapping[str, tuple[Word, ...]]
) -> list[tuple[Span, ...]]:
    return [_find_entity(entity, procedure.steps, analyzed) for entity in procedure.entities]


def _add_known(
    candidates: tuple[Candidate, ...], known: Sequence[str], steps: Sequence[Step]
) -> tuple[Candidate, ...]:
    """Number the candidates that are known places, and add those that are missing.

    The tagger may have taken a place for something else than a noun: "preheat oven".
    """
    number = {name: i for i, name in enumerate(known, 1)}
    found: dict[str, list[Span]] = {}
    for i, step in enumerate(steps):
        for index, word in enumerate(step.words):
            for name in _forms(word) & number.keys() if _is_named(word) else ():
                found.setdefault(name, []).append(Span(i, index, index + 1))
    others = tuple(c for c in candidates if c.name not in number)
    return others + tuple(Candidate(n, tuple(found.get(n, ())), i) for n, i in number.items())


def _find_entity(
    entity: Entity, steps: Sequence[Step], analyzed: Mapping[str, tuple[Word, ...]]
) -> tuple[Span, ...]:
    spans: set[Span] = set()
    for alias in entity.aliases:
        spans.update(find_mentions(analyzed[alias], steps))
    # An alias inside a longer one ("acid" in "weak acid") is the same mention, not a second.
    kept = [s for s in spans if not any(o != s and _holds(o, s) for o in spans)]
    return tuple(sorted(kept, key=lambda span: (span.step, span.start, span.end)))


def _holds(outer: Span, inner: Span) -> bool:
    return outer.step == inner.step and outer.start <= inner.start and inner.end <= outer.end


def find_mentions(name: Sequence[Word], steps: Sequence[Step]) -> list[Span]:
    """Find a name in the steps; words match by form or lemma, in any case."""
    wanted = [_forms(word) for word in name]
    spans: list[Span] = []
    if not wanted:
        return spans
    for number, step in enumerate(steps):
        have = [_forms(word) for word in step.words]
        for start in range(len(have) - len(wanted) + 1):
            if all(w & h for w, h in zip(wanted, have[start:], strict=False)):
                spans.append(Span(number, start, start + len(wanted)))
    return spans


@dataclass(frozen=True, slots=True)
class _Part:
    """A run of words that all stand in the name of an entity."""

    entity: int
    span: Span
    share: float
    """Of the words of the name."""

    def is_better(self, other: "_Part") -> bool:
        """Tell whether this, and not the other of the same step, is what common words mean."""
        if self.span.start >= other.span.end or other.span.start >= self.span.end:
            return False
        length, other_length = (part.span.end - part.span.start for part in (self, other))
        return (length, self.share) > (other_length, other.share)


def find_parts(
    procedure: Procedure, analyzed: Mapping[str, tuple[Word, ...]]
) -> list[tuple[Span, ...]]:
    """Find the mentions of all entities by words of their names, a noun among them.

    Where two entities claim the same words, the longer run wins, then the larger share of the name:
    "butter" is butter where there is butter, else it may be peanut butter.
    """
    rivals: dict[int, list[_Part]] = {}
    for number, entity in enumerate(procedure.entities):
        for alias in entity.aliases:
            for part in _find_runs(number, analyzed[alias], procedure.steps):
                rivals.setdefault(part.span.step, []).append(part)
    found: list[set[Span]] = [set() for _ in procedure.entities]
    for parts in rivals.values():
        for part in parts:
            if not any(o.entity != part.entity and o.is_better(part) for o in parts):
                found[part.entity].add(part.span)
    return [tuple(sorted(spans, key=lambda s: (s.step, s.start, s.end))) for spans in found]


def _find_runs(entity: int, name: Sequence[Word], steps: Sequence[Step]) -> Iterator[_Part]:
    known = [(_forms(word), word.pos in _NOUNS) for word in name]
    for number, step in enumerate(steps):
        start, has_noun = 0, False
        for index, word in enumerate((*step.words, None)):
            hits = [is_noun for forms, is_noun in known if word and forms & _forms(word)]
            if word and hits:
                has_noun = has_noun or any(hits) or word.pos in _NOUNS
                continue
            if index > start and has_noun:
                yield _Part(entity, Span(number, start, index), (index - start) / len(name))
            start, has_noun = index + 1, False


def _forms(word: Word) -> frozenset[str]:
    return frozenset({word.text.lower(), word.lemma})


def find_candidates(steps: Sequence[Step], *, has_phrases: bool = True) -> tuple[Candidate, ...]:
    """Find the places an entity may be at: the nouns and noun phrases of the text.

    For every noun, the noun with the adjectives and nouns to its left and each shorter tail, plus
    "noun and noun", "noun or noun", "noun of noun" and "noun of the noun". Beyond the published
    rule: possessives ("earth 's crust"), participles ("recycling bin") and a few place adverbs
    ("underground"). Without phrases: single nouns alone.
    """
    mentions: dict[str, list[Span]] = {}
    for number, step in enumerate(steps):
        for start, end in _candidate_spans(step.words, has_phrases=has_phrases):
            if end - start > 1 and not has_phrases:
                continue
            name = _place_name(step.words[start:end])
            mentions.setdefault(name, []).append(Span(number, start, end))
    return tuple(
        Candidate(name, tuple(spans), text=write_span(steps, spans[0]))
        for name, spans in mentions.items()
    )


def write_span(steps: Sequence[Step], span: Span) -> str:
    """Give the words of a span as the step writes them; a sentence's first letter is lowered."""
    step = steps[span.step]
    first = step.words[span.start]
    text = step.text[first.start : step.words[span.end - 1].end]
    starts_sentence = span.start == 0 or step.words[span.start - 1].text in _SENTENCE_ENDS
    if starts_sentence and first.pos != "PROPN" and first.text[1:].islower():
        text = text[0].lower() + text[1:]
    return " ".join(text.split())


def _place_name(words: Sequence[Word]) -> str:
    """Name a place in lemmas, as the gold grids do: "sorting centers" is "sort center"."""
    lemmas = [word.verb_lemma or word.lemma for word in words[:-1]]
    last = words[-1].lemma
    # "upwards" and "upward" are one place.
    adverb = last.removesuffix("s")
    return " ".join([*lemmas, adverb if adverb in _PLACE_ADVERBS else last])


_SENTENCE_ENDS = frozenset({".", "!", "?", ":", ";"})

_LONGEST_PLACE = 16
"""Words of a noun phrase; the longest of ProPara's train and dev texts has eleven."""


def _candidate_spans(words: Sequence[Word], *, has_phrases: bool) -> list[tuple[int, int]]:
    spans: set[tuple[int, int]] = set()
    for last, word in enumerate(words):
        if word.text.lower() in _PLACE_ADVERBS or word.text.lower().removesuffix("s") in (
            _PLACE_ADVERBS
        ):
            spans.add((last, last + 1))
        # Recipes name their places in single nouns, which are known beforehand.
        if word.pos not in _NOUNS and not (has_phrases and _is_mistagged(words, last)):
            continue
        start = last
        spans.add((start, last + 1))
        while start > 0 and last + 1 - start < _LONGEST_PLACE and _may_modify(words, start - 1):
            start -= 1
            if words[start].pos != "PART" and not _is_hyphen(words[start]):
                spans.add((start, last + 1))
        if last + 1 < len(words) and words[last + 1].text.isdecimal():
            # "flask 2"
            spans.add((last, last + 2))
        joined = _joined_start(words, start)
        if joined is not None:
            spans.add((joined, last + 1))
    # A hyphen or a percent sign may be tagged as a noun; `-` and `?` would be more than a place.
    named = [s for s in spans if _is_named(words[s[0]]) and _is_named(words[s[1] - 1])]
    return sorted(named, key=lambda span: (span[0], -span[1]))


def _is_named(word: Word) -> bool:
    return any(letter.isalnum() for letter in word.text)


def _may_modify(words: Sequence[Word], index: int) -> bool:
    word, before = words[index], words[index - 1] if index else None
    if word.pos in _MODIFIERS:
        return True
    if before is None:
        return word.pos == "VERB" and word.text.lower().endswith("ing")
    if word.text.lower() in ("'s", "’s"):
        return before.pos in _NOUNS
    if _is_hyphen(word):
        # "round-bottomed flask", not "flask - then"
        return before.end == word.start and _is_named(before)
    if index + 1 < len(words) and _is_hyphen(words[index + 1]):
        return word.end == words[index + 1].start and _is_named(word)
    if word.pos == "NUM":
        # "50 ml tube"
        return word.text[0].isdecimal()
    if word.pos != "VERB":
        return False
    form = word.text.lower()
    # "drying cabinet"; "the tared tube", but not "water heated steam".
    return form.endswith("ing") or (form.endswith("ed") and before.pos in _BEFORE_PHRASES)


def _is_hyphen(word: Word) -> bool:
    return word.text in ("-", "‐", "‑")


def _is_mistagged(words: Sequence[Word], index: int) -> bool:
    """Tell whether a word must be a noun by where it stands: "in the still", "into an oven."."""
    word = words[index]
    if word.pos not in ("VERB", "ADJ", "ADV", "INTJ", "X") or not _is_named(word):
        return False
    if index == 0 or words[index - 1].text.lower() not in ("a", "an", "the"):
        return False
    behind = words[index + 1] if index + 1 < len(words) else None
    return behind is None or behind.pos in ("PUNCT", "ADP", "CCONJ", "PRON", "SCONJ", "AUX")


def _joined_start(words: Sequence[Word], start: int) -> int | None:
    """Find the noun before "and", "or", "of" or "of the" in front of a noun phrase."""
    before = [word.text.lower() for word in words[max(0, start - 2) : start]]
    if before[-1:] in (["and"], ["or"], ["of"]):
        noun = start - 2
    elif before == ["of", "the"]:
        noun = start - 3
    else:
        return None
    return noun if noun >= 0 and words[noun].pos in _NOUNS else None
