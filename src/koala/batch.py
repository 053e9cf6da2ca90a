"""Documents and triples → a Batch of named numpy arrays, each procedure and each triple once.

The torch network and the exported one take the same arrays. Axes, everywhere in this order:
`(batch, candidates, steps, pieces)`, where *batch* counts entities, *procedures* the texts they
stand in, and candidate 0 is `?`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from koala.document import CONVENTIONS, Procedure, Span
from koala.encoders.word_pieces import WordPieces
from koala.errors import KoalaError
from koala.items import STAYS, Item
from koala.kept import Kept
from koala.knowledge.triple import Triple
from koala.states import ABSENT, UNKNOWN, Tag

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TAGS = tuple(Tag)
"""The order of tags in every array."""

TRIPLE_INPUTS = ("triple_pieces", "triple_input_mask", "triple_pieces_mask")
TRIPLE_VECTORS = "triple_vectors"
"""Arrays of a batch that are about triples alone; what an encoder has said of them may stand in
their place: (distinct triples, width)."""

IGNORED = -1
"""The gold place where none counts: the entity is absent, or its place is no candidate."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a network reads."""

    pieces: Ints
    """(procedures, pieces)"""
    pieces_mask: Bools
    """(procedures, pieces)"""
    step_pieces: Bools
    """(procedures, steps, pieces): which pieces a step has."""
    verb_pieces: Bools
    """(procedures, steps, pieces): which pieces are verbs."""
    candidate_pieces: Bools
    """(procedures, candidates, steps, pieces)"""
    candidate_mask: Bools
    """(procedures, candidates)"""
    candidate_number: Ints
    """(procedures, candidates): which of the places that are known beforehand; 0: none of them."""
    step_mask: Bools
    """(procedures, steps)"""
    convention: Ints
    """(procedures,): whose annotation conventions are asked for, a number of CONVENTIONS."""
    procedure: Ints
    """(batch,): the row of pieces that is read for each entity."""
    group: Ints
    """(batch,): a number for each procedure; the same but where each entity has its own row."""
    entity_pieces: Bools
    """(batch, steps, pieces): which pieces mention the entity."""
    name_pieces: Bools
    """(batch, pieces): which pieces are its name in front of the text, where all names are."""
    triple_pieces: Ints
    """(distinct triples, pieces)"""
    triple_pieces_mask: Bools
    """(distinct triples, pieces): True at head, relation and tail, not at special pieces."""
    triple_input_mask: Bools
    """(distinct triples, pieces): True at every real piece."""
    triples: Ints
    """(batch, triples): which distinct triples were retrieved for each entity."""
    triple_mask: Bools
    """(batch, triples)"""


@dataclass(frozen=True, slots=True)
class Gold:
    """What a network should say; only losses read it."""

    tags: Ints
    """(batch, steps)"""
    places: Ints
    """(batch, steps + 1): candidate, or IGNORED."""
    may_stay: Bools
    """(batch, steps + 1): whether candidate 0 is as right as that one."""
    state_relevance: Bools
    """(batch, steps, triples)"""
    place_relevance: Bools
    """(batch, steps, triples)"""


class Batcher:
    """Builds batches with the word pieces of an encoder, BERT's where no folder is given.

    With a prefix each entity reads its own row of pieces: its name, then the text; with a list, all
    read the names of all, then the text; with a prompt, the question that the text answers, where
    one is known, stands in front of it. So many texts are kept, split: as many as come again and
    again.
    """

    def __init__(
        self,
        tokenizer: Path | None,
        *,
        triple_tokenizer: Path | None = None,
        has_prefix: bool = False,
        has_list: bool = False,
        has_prompt: bool = False,
        n_kept: int = 1 << 12,
    ) -> None:
        self._pieces = _Pieces(tokenizer, n_kept, has_list=has_list, has_prompt=has_prompt)
        self._triple_pieces = _Pieces(triple_tokenizer or tokenizer, n_kept)
        self._has_prefix = has_prefix

    def count_pieces(self, procedure: Procedure) -> list[int]:
        """Count the word pieces of each step."""
        counts = [0] * len(procedure.steps)
        for word in self._pieces.split(procedure).words:
            if word is not None and word[0] >= 0:
                counts[word[0]] += 1
        return counts

    def build(self, items: Sequence[Item]) -> Batch:
        """Build the arrays of some entities."""
        if not items:
            raise KoalaError("A batch needs one entity or more.")
        by_id = {id(item.procedure): item.procedure for item in items}
        numbers = {key: number for number, key in enumerate(by_id)}
        group = [numbers[id(item.procedure)] for item in items]
        if self._has_prefix:
            procedures, owner = [item.procedure for item in items], list(range(len(items)))
            texts = [self._pieces.split_for(item) for item in items]
        else:
            procedures, owner = list(by_id.values()), group
            texts = [self._pieces.split(procedure) for procedure in procedures]
        n_steps = max(len(procedure.steps) for procedure in procedures)
        n_pieces = max(len(text.pieces) for text in texts)
        n_candidates = 1 + max(len(procedure.candidates) for procedure in procedures)
        entity_pieces = np.zeros((len(items), n_steps, n_pieces), dtype=np.bool_)
        name_pieces = np.zeros((len(items), n_pieces), dtype=np.bool_)
        for row, item in enumerate(items):
            mentions = item.procedure.entities[item.entity].mentions
            _mark(entity_pieces[row], texts[owner[row]], mentions)
            name = (_LIST, item.entity)
            words = texts[owner[row]].words
            name_pieces[row, : len(words)] = [word == name for word in words]
        number = {t: i for i, t in enumerate({t: None for item in items for t in item.triples})}
        pad = self._triple_pieces.pad
        # One row at least, so that an entity without triples needs no special case.
        triples = [self._triple_pieces.split_triple(t) for t in number] or [([pad], [False])]
        n_triple_pieces = max(len(pieces) for pieces, _ in triples)
        n_triples = _width_of(items)
        return Batch(
            pieces=_pad([text.pieces for text in texts], n_pieces, self._pieces.pad),
            pieces_mask=_lengths_mask([len(text.pieces) for text in texts], n_pieces),
            step_pieces=_mark_all(procedures, texts, _step_spans, n_steps, n_pieces),
            verb_pieces=_mark_all(procedures, texts, _verb_spans, n_steps, n_pieces),
            candidate_pieces=_mark_candidates(procedures, texts, n_candidates, n_steps, n_pieces),
            candidate_mask=_lengths_mask([1 + len(p.candidates) for p in procedures], n_candidates),
            candidate_number=_pad(
                [[0, *(c.number for c in p.candidates)] for p in procedures], n_candidates, 0
            ),
            step_mask=_lengths_mask([len(p.steps) for p in procedures], n_steps),
            convention=np.array(
                [CONVENTIONS.index(p.convention) for p in procedures], dtype=np.int64
            ),
            procedure=np.array(owner, dtype=np.int64),
            group=np.array(group, dtype=np.int64),
            entity_pieces=entity_pieces,
            name_pieces=name_pieces,
            triple_pieces=_pad([pieces for pieces, _ in triples], n_triple_pieces, pad),
            triple_pieces_mask=_pad([mask for _, mask in triples], n_triple_pieces, 0) > 0,
            triple_input_mask=_lengths_mask([len(p) for p, _ in triples], n_triple_pieces),
            triples=_pad([[number[t] for t in item.triples] for item in items], n_triples, 0),
            triple_mask=_lengths_mask([len(item.triples) for item in items], n_triples),
        )


def _width_of(items: Sequence[Item]) -> int:
    """Count the triples of the entity that has the most; one at least, so that no axis is empty."""
    return max(1, *(len(item.triples) for item in items))


def build_gold(items: Sequence[Item]) -> Gold:
    """Build what a network should say of some entities; all must have gold rows."""
    n_steps = max(len(item.procedure.steps) for item in items)
    n_triples = _width_of(items)
    tags = np.zeros((len(items), n_steps), dtype=np.int64)
    places = np.full((len(items), n_steps + 1), IGNORED, dtype=np.int64)
    may_stay = np.zeros(places.shape, dtype=np.bool_)
    relevance = np.zeros((2, len(items), n_steps, n_triples), dtype=np.bool_)
    for row, item in enumerate(items):
        found = item.tags
        tags[row, : len(found)] = [TAGS.index(tag) for tag in found]
        may_stay[row], places[row] = _find_places(item, n_steps + 1)
        if item.relevance is not None:
            steps, triples = item.relevance.states.shape
            relevance[0, row, :steps, :triples] = item.relevance.states
            relevance[1, row, :steps, :triples] = item.relevance.places
    return Gold(tags, places, may_stay, relevance[0], relevance[1])


def _find_places(item: Item, n_positions: int) -> tuple[Bools, Ints]:
    """Give which positions may be candidate 0, and the candidate of each, or IGNORED."""
    index = {c.name: number for number, c in enumerate(item.procedure.candidates, 1)}
    places = np.full(n_positions, IGNORED, dtype=np.int64)
    may_stay = np.zeros(n_positions, dtype=np.bool_)
    if item.uses is None:
        index |= {UNKNOWN: 0, ABSENT: IGNORED}
        locations = item.gold.locations if item.gold else ()
        places[: len(locations)] = [index.get(place, IGNORED) for place in locations]
        return may_stay, places
    for position, names in enumerate(item.uses.places, 1):
        if item.uses.steps[position - 1]:
            may_stay[position] = STAYS in names
            known = [index[name] for name in names - {STAYS} if name in index]
            default = 0 if may_stay[position] else IGNORED
            places[position] = known[0] if known else default
    return may_stay, places


_LIST = -1
"""Stands for a step where words are those of the list of names; the word is then the entity."""


@dataclass(frozen=True, slots=True)
class _Text:
    pieces: list[int]
    words: list[tuple[int, int] | None]
    """Step and word of each piece; of a piece of the list of names, `_LIST` and the entity."""


_MOST_PROMPT = 32
"""Pieces of a prompt that are read; the longest of ProPara has fewer."""

_MOST_TRIPLES = 1 << 16
"""So many are kept, split."""


class _Pieces:
    """Procedures and triples in the word pieces of one encoder, each split once while kept."""

    def __init__(
        self,
        folder: Path | None,
        n_kept: int,
        *,
        has_list: bool = False,
        has_prompt: bool = False,
    ) -> None:
        self._words = WordPieces(folder)
        self._has_list = has_list
        self._has_prompt = has_prompt
        self.pad = self._words.pad
        self._triples: Kept[Triple, tuple[list[int], list[bool]]] = Kept(_MOST_TRIPLES)
        self._texts: Kept[int, tuple[Procedure, _Text]] = Kept(n_kept)

    def split(self, procedure: Procedure) -> _Text:
        """Split a procedure; the procedure is kept, so that its id stays its own."""
        known = self._texts.get(id(procedure))
        if known is None:
            known = (procedure, self._split(procedure))
            self._texts[id(procedure)] = known
        return known[1]

    def _split(self, procedure: Procedure) -> _Text:
        where = [
            (number, index)
            for number, step in enumerate(procedure.steps)
            for index in range(len(step.words))
        ]
        words = [word.text for step in procedure.steps for word in step.words]
        text = self._read_prompt(procedure)
        if self._has_list:
            names = self._list_names(procedure)
            text.pieces.extend(names.pieces)
            text.words.extend(names.words)
        for place, pieces in zip(where, self._words.split(words), strict=True):
            text.pieces.extend(pieces)
            text.words.extend([place] * len(pieces))
        return _Text([*text.pieces, self._words.last], [*text.words, None])

    def _read_prompt(self, procedure: Procedure) -> _Text:
        """Give [CLS] prompt [SEP], or [CLS] where there is none to read."""
        words = procedure.prompt.split() if self._has_prompt else []
        pieces = [piece for word in self._words.split(words) for piece in word][:_MOST_PROMPT]
        front = [self._words.first, *([*pieces, self._words.last] if pieces else [])]
        return _Text(front, [None] * len(front))

    def _list_names(self, procedure: Procedure) -> _Text:
        """Give name [SEP] name [SEP] … of all entities."""
        text = _Text([], [])
        for number, entity in enumerate(procedure.entities):
            pieces = [piece for word in self._words.split(entity.name.split()) for piece in word]
            text.pieces.extend([*pieces, self._words.last])
            text.words.extend([*([(_LIST, number)] * len(pieces)), None])
        return text

    def split_for(self, item: Item) -> _Text:
        """Split a procedure with the name of an entity in front: [CLS] name [SEP] text [SEP]."""
        text = self.split(item.procedure)
        names = item.procedure.entities[item.entity].name.split()
        name = [piece for word in self._words.split(names) for piece in word]
        front = [self._words.first, *name, self._words.last]
        return _Text([*front, *text.pieces[1:]], [*([None] * len(front)), *text.words[1:]])

    def split_triple(self, triple: Triple) -> tuple[list[int], list[bool]]:
        """Give [CLS] head [SEP] relation [SEP] tail [SEP], and which pieces are not special."""
        known = self._triples.get(triple)
        if known is None:
            known = self._split_triple(triple)
            self._triples[triple] = known
        return known

    def _split_triple(self, triple: Triple) -> tuple[list[int], list[bool]]:
        pieces, mask = [self._words.first], [False]
        for part in (triple.head, triple.phrase, triple.tail):
            found = [piece for word in self._words.split(part.split()) for piece in word]
            pieces += [*found, self._words.last]
            mask += [*([True] * len(found)), False]
        return pieces, mask


def _step_spans(procedure: Procedure) -> list[Span]:
    return [Span(number, 0, len(step.words)) for number, step in enumerate(procedure.steps)]


def _verb_spans(procedure: Procedure) -> list[Span]:
    return [
        Span(number, verb, verb + 1)
        for number, step in enumerate(procedure.steps)
        for verb in step.verbs
    ]


def _mark(mask: Bools, text: _Text, spans: Sequence[Span]) -> None:
    """Mark the pieces of spans in a mask (steps, pieces)."""
    wanted = {(span.step, word) for span in spans for word in range(span.start, span.end)}
    for piece, word in enumerate(text.words):
        if word in wanted:
            mask[word[0], piece] = True


def _mark_all(
    procedures: Sequence[Procedure],
    texts: Sequence[_Text],
    find: Callable[[Procedure], list[Span]],
    n_steps: int,
    n_pieces: int,
) -> Bools:
    mask = np.zeros((len(procedures), n_steps, n_pieces), dtype=np.bool_)
    for row, (procedure, text) in enumerate(zip(procedures, texts, strict=True)):
        _mark(mask[row], text, find(procedure))
    return mask


def _mark_candidates(
    procedures: Sequence[Procedure],
    texts: Sequence[_Text],
    n_candidates: int,
    n_steps: int,
    n_pieces: int,
) -> Bools:
    mask = np.zeros((len(procedures), n_candidates, n_steps, n_pieces), dtype=np.bool_)
    for row, (procedure, text) in enumerate(zip(procedures, texts, strict=True)):
        for number, candidate in enumerate(procedure.candidates, 1):
            _mark(mask[row, number], text, candidate.mentions)
    return mask


def _pad(rows: Sequence[Sequence[int]], width: int, pad: int) -> Ints:
    table = np.full((len(rows), width), pad, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return table


def _lengths_mask(lengths: Sequence[int], width: int) -> Bools:
    mask: Bools = np.arange(width)[None, :] < np.array(lengths, dtype=np.int64)[:, None]
    return mask
