"""Items → a Batch of named numpy arrays, with each procedure and each triple only once.

The torch network and the ONNX network take the same arrays. The order of axes is always
`(batch, candidates, steps, subwords)`, where *batch* counts entities, *procedures* counts their
texts, and candidate 0 is `?`.
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
"""The arrays of a batch from which the encoder reads triples."""

TRIPLE_VECTORS = "triple_vectors"
"""(distinct triples, width): the encoder's output for TRIPLE_INPUTS, which can replace them."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Input of a network."""

    subwords: Ints
    """(procedures, subwords)"""
    subwords_mask: Bools
    """(procedures, subwords): False at padding."""
    step_subwords: Bools
    """(procedures, steps, subwords): True at the step's subwords."""
    verb_subwords: Bools
    """(procedures, steps, subwords): True at the subwords of the step's verbs."""
    candidate_subwords: Bools
    """(procedures, candidates, steps, subwords): True at mentions of the candidate location."""
    candidate_mask: Bools
    """(procedures, candidates): False at padding."""
    candidate_number: Ints
    """(procedures, candidates): number, from 1, in the list of known locations; 0: not in it."""
    step_mask: Bools
    """(procedures, steps): False at padding."""
    convention: Ints
    """(procedures,): the annotation convention to follow, an index into CONVENTIONS."""
    procedure: Ints
    """(batch,): the row of `subwords` that is read for each entity."""
    group: Ints
    """(batch,): the procedure of each entity; equals `procedure` unless entities have own rows."""
    entity_subwords: Bools
    """(batch, steps, subwords): True at mentions of the entity."""
    name_subwords: Bools
    """(batch, subwords): True at the entity's name in the list of names before the text."""
    triple_subwords: Ints
    """(distinct triples, subwords)"""
    triple_subwords_mask: Bools
    """(distinct triples, subwords): True at head, relation and tail, not at special tokens."""
    triple_input_mask: Bools
    """(distinct triples, subwords): False at padding."""
    triples: Ints
    """(batch, triples): indices of the distinct triples retrieved for each entity."""
    triple_mask: Bools
    """(batch, triples): False at padding."""


class Batcher:
    """Builds batches with the subwords of an encoder; without a folder, of BERT.

    Before the text, a row of subwords can have the entity's own name (`has_prefix`: each entity
    then has its own row), the names of all entities (`has_list`), and the procedure's question if
    it has one (`has_question`). Up to `n_cached` tokenized texts are cached.
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
        """Count the subwords of each step."""
        counts = [0] * len(procedure.steps)
        for word in self._subwords.split(procedure).words:
            if word is not None and word[0] >= 0:
                counts[word[0]] += 1
        return counts

    def build(self, items: Sequence[Item]) -> Batch:
        """Build the arrays of some entities."""
        if not items:
            raise KoalaError("A batch needs at least one entity; none was given.")
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
        # At least one row, so that entities without triples need no special case.
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
    """Return the largest number of triples of an entity, at least 1 so that no axis is empty."""
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
    """Set a mask (steps, subwords) to True at the subwords of spans."""
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
