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
from koala.errors import KoalaError
from koala.inputs.examples import Item
from koala.inputs.tokens import LISTED, TokenizedText, Tokenizer

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TRIPLE_INPUTS = ("triple_subwords", "triple_input_mask", "triple_subwords_mask")
TRIPLE_VECTORS = "triple_vectors"
"""Arrays of a batch that are about triples alone; what an encoder has said of them may stand in
their place: (distinct triples, width)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a network reads."""

    subwords: Ints
    """(procedures, pieces)"""
    subwords_mask: Bools
    """(procedures, pieces)"""
    step_subwords: Bools
    """(procedures, steps, pieces): which pieces a step has."""
    verb_subwords: Bools
    """(procedures, steps, pieces): which pieces are verbs."""
    candidate_subwords: Bools
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
    entity_subwords: Bools
    """(batch, steps, pieces): which pieces mention the entity."""
    name_subwords: Bools
    """(batch, pieces): which pieces are its name in front of the text, where all names are."""
    triple_subwords: Ints
    """(distinct triples, pieces)"""
    triple_subwords_mask: Bools
    """(distinct triples, pieces): True at head, relation and tail, not at special pieces."""
    triple_input_mask: Bools
    """(distinct triples, pieces): True at every real piece."""
    triples: Ints
    """(batch, triples): which distinct triples were retrieved for each entity."""
    triple_mask: Bools
    """(batch, triples)"""


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
        has_question: bool = False,
        n_cached: int = 1 << 12,
    ) -> None:
        self._subwords = Tokenizer(
            tokenizer, n_cached, has_list=has_list, has_question=has_question
        )
        self._triple_subwords = Tokenizer(triple_tokenizer or tokenizer, n_cached)
        self._has_prefix = has_prefix

    def count_subwords(self, procedure: Procedure) -> list[int]:
        """Count the word pieces of each step."""
        counts = [0] * len(procedure.steps)
        for word in self._subwords.split(procedure).words:
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
            texts = [self._subwords.split_for(item) for item in items]
        else:
            procedures, owner = list(by_id.values()), group
            texts = [self._subwords.split(procedure) for procedure in procedures]
        n_steps = max(len(procedure.steps) for procedure in procedures)
        n_subwords = max(len(text.subwords) for text in texts)
        n_candidates = 1 + max(len(procedure.candidates) for procedure in procedures)
        entity_subwords = np.zeros((len(items), n_steps, n_subwords), dtype=np.bool_)
        name_subwords = np.zeros((len(items), n_subwords), dtype=np.bool_)
        for row, item in enumerate(items):
            mentions = item.procedure.entities[item.entity].mentions
            _mark(entity_subwords[row], texts[owner[row]], mentions)
            name = (LISTED, item.entity)
            words = texts[owner[row]].words
            name_subwords[row, : len(words)] = [word == name for word in words]
        number = {t: i for i, t in enumerate({t: None for item in items for t in item.triples})}
        pad = self._triple_subwords.pad
        # One row at least, so that an entity without triples needs no special case.
        triples = [self._triple_subwords.split_triple(t) for t in number] or [([pad], [False])]
        n_triple_subwords = max(len(subwords) for subwords, _ in triples)
        n_triples = count_triples(items)
        return Batch(
            subwords=_pad([text.subwords for text in texts], n_subwords, self._subwords.pad),
            subwords_mask=_lengths_mask([len(text.subwords) for text in texts], n_subwords),
            step_subwords=_mark_all(procedures, texts, _step_spans, n_steps, n_subwords),
            verb_subwords=_mark_all(procedures, texts, _verb_spans, n_steps, n_subwords),
            candidate_subwords=_mark_candidates(
                procedures, texts, n_candidates, n_steps, n_subwords
            ),
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
            entity_subwords=entity_subwords,
            name_subwords=name_subwords,
            triple_subwords=_pad([subwords for subwords, _ in triples], n_triple_subwords, pad),
            triple_subwords_mask=_pad([mask for _, mask in triples], n_triple_subwords, 0) > 0,
            triple_input_mask=_lengths_mask([len(p) for p, _ in triples], n_triple_subwords),
            triples=_pad([[number[t] for t in item.triples] for item in items], n_triples, 0),
            triple_mask=_lengths_mask([len(item.triples) for item in items], n_triples),
        )


def count_triples(items: Sequence[Item]) -> int:
    """Count the triples of the entity that has the most; one at least, so that no axis is empty."""
    return max(1, *(len(item.triples) for item in items))


def _step_spans(procedure: Procedure) -> list[Span]:
    return [Span(number, 0, len(step.words)) for number, step in enumerate(procedure.steps)]


def _verb_spans(procedure: Procedure) -> list[Span]:
    return [
        Span(number, verb, verb + 1)
        for number, step in enumerate(procedure.steps)
        for verb in step.verbs
    ]


def _mark(mask: Bools, text: TokenizedText, spans: Sequence[Span]) -> None:
    """Mark the pieces of spans in a mask (steps, pieces)."""
    wanted = {(span.step, word) for span in spans for word in range(span.start, span.end)}
    for subword, word in enumerate(text.words):
        if word in wanted:
            mask[word[0], subword] = True


def _mark_all(
    procedures: Sequence[Procedure],
    texts: Sequence[TokenizedText],
    find: Callable[[Procedure], list[Span]],
    n_steps: int,
    n_subwords: int,
) -> Bools:
    mask = np.zeros((len(procedures), n_steps, n_subwords), dtype=np.bool_)
    for row, (procedure, text) in enumerate(zip(procedures, texts, strict=True)):
        _mark(mask[row], text, find(procedure))
    return mask


def _mark_candidates(
    procedures: Sequence[Procedure],
    texts: Sequence[TokenizedText],
    n_candidates: int,
    n_steps: int,
    n_subwords: int,
) -> Bools:
    mask = np.zeros((len(procedures), n_candidates, n_steps, n_subwords), dtype=np.bool_)
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
