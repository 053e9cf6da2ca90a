"""Procedures and triples as the subwords of an encoder, each tokenized once while cached."""

from dataclasses import dataclass
from pathlib import Path

from koala.cache import BoundedCache
from koala.document import Procedure
from koala.encoders.tokenizer import SubwordTokenizer
from koala.inputs.examples import Item
from koala.knowledge.triple import Triple

LISTED = -1
"""Takes the place of the step index for subwords in the list of entity names."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text in subwords."""

    subwords: list[int]
    words: list[tuple[int, int] | None]
    """(step, word) of each subword, (LISTED, entity) in the list of names; None: special token."""


_QUESTION_SUBWORDS = 32
"""Longer questions are cut; ProPara's are shorter."""

_CACHED_TRIPLES = 1 << 16


class Tokenizer:
    """Tokenizes procedures and triples for one encoder, and caches the results."""

    def __init__(
        self,
        folder: Path | None,
        n_cached: int,
        *,
        has_list: bool = False,
        has_question: bool = False,
    ) -> None:
        self._words = SubwordTokenizer(folder)
        self._has_list = has_list
        self._has_question = has_question
        self.pad = self._words.pad
        self._triples: BoundedCache[Triple, tuple[list[int], list[bool]]] = BoundedCache(
            _CACHED_TRIPLES
        )
        self._texts: BoundedCache[int, tuple[Procedure, TokenizedText]] = BoundedCache(n_cached)

    def split(self, procedure: Procedure) -> TokenizedText:
        """Tokenize a procedure: [CLS] question [SEP] names [SEP] text [SEP]."""
        cached = self._texts.get(id(procedure))
        if cached is None:
            # The procedure is stored too, so that no other object can get its id.
            cached = (procedure, self._split(procedure))
            self._texts[id(procedure)] = cached
        return cached[1]

    def _split(self, procedure: Procedure) -> TokenizedText:
        owners = [
            (number, index)
            for number, step in enumerate(procedure.steps)
            for index in range(len(step.words))
        ]
        words = [word.text for step in procedure.steps for word in step.words]
        text = self._read_question(procedure)
        if self._has_list:
            names = self._list_names(procedure)
            text.subwords.extend(names.subwords)
            text.words.extend(names.words)
        for owner, subwords in zip(owners, self._words.split(words), strict=True):
            text.subwords.extend(subwords)
            text.words.extend([owner] * len(subwords))
        return TokenizedText([*text.subwords, self._words.last], [*text.words, None])

    def _read_question(self, procedure: Procedure) -> TokenizedText:
        """Return [CLS] question [SEP], or [CLS] if there is no question to read."""
        question = procedure.question if self._has_question else ""
        subwords = self._split_phrase(question)[:_QUESTION_SUBWORDS]
        front = [self._words.first, *([*subwords, self._words.last] if subwords else [])]
        return TokenizedText(front, [None] * len(front))

    def _list_names(self, procedure: Procedure) -> TokenizedText:
        """Return name [SEP] name [SEP] … of all entities."""
        text = TokenizedText([], [])
        for number, entity in enumerate(procedure.entities):
            subwords = self._split_phrase(entity.name)
            text.subwords.extend([*subwords, self._words.last])
            text.words.extend([*([(LISTED, number)] * len(subwords)), None])
        return text

    def split_for(self, item: Item) -> TokenizedText:
        """Tokenize a procedure with an entity's name in front: [CLS] name [SEP] text [SEP]."""
        text = self.split(item.procedure)
        name = self._split_phrase(item.procedure.entities[item.entity].name)
        front = [self._words.first, *name, self._words.last]
        return TokenizedText(
            [*front, *text.subwords[1:]], [*([None] * len(front)), *text.words[1:]]
        )

    def split_triple(self, triple: Triple) -> tuple[list[int], list[bool]]:
        """Return [CLS] head [SEP] relation [SEP] tail [SEP], and which tokens are not special."""
        cached = self._triples.get(triple)
        if cached is None:
            cached = self._split_triple(triple)
            self._triples[triple] = cached
        return cached

    def _split_triple(self, triple: Triple) -> tuple[list[int], list[bool]]:
        subwords, mask = [self._words.first], [False]
        for part in (triple.head, triple.phrase, triple.tail):
            found = self._split_phrase(part)
            subwords += [*found, self._words.last]
            mask += [*([True] * len(found)), False]
        return subwords, mask

    def _split_phrase(self, text: str) -> list[int]:
        return [subword for word in self._words.split(text.split()) for subword in word]
