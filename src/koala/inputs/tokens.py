"""Procedures and triples as the subwords of an encoder, each tokenized once while cached."""

from dataclasses import dataclass
from pathlib import Path

from koala.cache import BoundedCache
from koala.document import Procedure
from koala.encoders.tokenizer import SubwordTokenizer
from koala.inputs.examples import Item
from koala.knowledge.triple import Triple

LISTED = -1
"""Stands for a step where words are those of the list of names; the word is then the entity."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text in subwords."""

    subwords: list[int]
    words: list[tuple[int, int] | None]
    """Step and word of each piece; of a piece of the list of names, `LISTED` and the entity."""


_MOST_QUESTION = 32
"""Pieces of a prompt that are read; the longest of ProPara has fewer."""

_MOST_TRIPLES = 1 << 16
"""So many are kept, split."""


class Tokenizer:
    """Procedures and triples in the word pieces of one encoder, each split once while kept."""

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
            _MOST_TRIPLES
        )
        self._texts: BoundedCache[int, tuple[Procedure, TokenizedText]] = BoundedCache(n_cached)

    def split(self, procedure: Procedure) -> TokenizedText:
        """Split a procedure; the procedure is kept, so that its id stays its own."""
        known = self._texts.get(id(procedure))
        if known is None:
            known = (procedure, self._split(procedure))
            self._texts[id(procedure)] = known
        return known[1]

    def _split(self, procedure: Procedure) -> TokenizedText:
        where = [
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
        for location, subwords in zip(where, self._words.split(words), strict=True):
            text.subwords.extend(subwords)
            text.words.extend([location] * len(subwords))
        return TokenizedText([*text.subwords, self._words.last], [*text.words, None])

    def _read_question(self, procedure: Procedure) -> TokenizedText:
        """Give [CLS] prompt [SEP], or [CLS] where there is none to read."""
        words = procedure.question.split() if self._has_question else []
        subwords = [subword for word in self._words.split(words) for subword in word][
            :_MOST_QUESTION
        ]
        front = [self._words.first, *([*subwords, self._words.last] if subwords else [])]
        return TokenizedText(front, [None] * len(front))

    def _list_names(self, procedure: Procedure) -> TokenizedText:
        """Give name [SEP] name [SEP] … of all entities."""
        text = TokenizedText([], [])
        for number, entity in enumerate(procedure.entities):
            subwords = [
                subword for word in self._words.split(entity.name.split()) for subword in word
            ]
            text.subwords.extend([*subwords, self._words.last])
            text.words.extend([*([(LISTED, number)] * len(subwords)), None])
        return text

    def split_for(self, item: Item) -> TokenizedText:
        """Split a procedure with the name of an entity in front: [CLS] name [SEP] text [SEP]."""
        text = self.split(item.procedure)
        names = item.procedure.entities[item.entity].name.split()
        name = [subword for word in self._words.split(names) for subword in word]
        front = [self._words.first, *name, self._words.last]
        return TokenizedText(
            [*front, *text.subwords[1:]], [*([None] * len(front)), *text.words[1:]]
        )

    def split_triple(self, triple: Triple) -> tuple[list[int], list[bool]]:
        """Give [CLS] head [SEP] relation [SEP] tail [SEP], and which pieces are not special."""
        known = self._triples.get(triple)
        if known is None:
            known = self._split_triple(triple)
            self._triples[triple] = known
        return known

    def _split_triple(self, triple: Triple) -> tuple[list[int], list[bool]]:
        subwords, mask = [self._words.first], [False]
        for part in (triple.head, triple.phrase, triple.tail):
            found = [subword for word in self._words.split(part.split()) for subword in word]
            subwords += [*found, self._words.last]
            mask += [*([True] * len(found)), False]
        return subwords, mask
