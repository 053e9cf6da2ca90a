"""Streaming TF-IDF: the paragraphs of a large corpus that are most similar to each procedure.

The ranker is DrQA's (Chen et al., 2017, section 3.1), as in section 5.1 of the KoaLa paper: hashed
uni- and bigrams without stop words. A query q and a paragraph d score

    Σ_t log(tf_q + 1) · log(tf_d + 1) · idf_t²,   idf_t = max(0, log((N − n_t + ½) / (n_t + ½)))

where t runs over the n-grams of the query, N counts paragraphs and n_t those that hold t. Only the
queries' n-grams take part, so nothing else is counted and memory does not grow with the corpus.
DrQA hashes into 2^24 buckets for all n-grams of Wikipedia, where a rare n-gram of a query often
meets a stranger; the 64 bits here keep them apart.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from koala.document import Procedure
from koala.errors import KoalaError
from koala.pretraining.wikipedia.paragraphs import LEAST_WORDS, Paragraph, Progress, read_paragraphs
from koala.text.nlp import is_content

BLOCK_SIZE = 1024
_FILTER_BITS = 22
_PAIRS_AT_ONCE = 1 << 21
_N_CHARACTERS = 0x110000

# What is left of "plant's", "don't", "they're" when the apostrophe is a token of its own.
_CONTRACTED = frozenset(
    {"aren", "couldn", "d", "didn", "doesn", "don", "hasn", "haven", "isn", "ll", "m", "re", "s"}
    | {"shouldn", "t", "ve", "wasn", "weren", "wouldn"}
)
_Integers = NDArray[np.int64]
_Hashes = NDArray[np.uint64]
_Floats = NDArray[np.float64]
_Entry = tuple[float, str, str]  # the negative score, title, text: sorted, the best is first
Best = list[list[_Entry]]
"""What was kept for every query, the best first."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A paragraph that was found for a query, the best one of rank 1."""

    query: str
    """The procedure's id."""
    rank: int
    score: float
    title: str
    text: str

    def to_dict(self) -> dict[str, str | int | float]:
        """Give it as one object of the output file."""
        return {
            "query": self.query,
            "rank": self.rank,
            "score": round(self.score, 6),
            "title": self.title,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Tally:
    """How many paragraphs a part of a corpus has, and in how many each n-gram stands."""

    n_paragraphs: int
    n_holding: _Integers


def retrieve_paragraphs(
    queries: Iterable[Procedure],
    corpora: Sequence[str | Path],
    *,
    k: int = 50,
    least_words: int = LEAST_WORDS,
    block_size: int = BLOCK_SIZE,
    progress: Progress | None = None,
) -> list[Retrieved]:
    """Give the `k` most similar paragraphs for every procedure, in order, reading the files twice.

    A text that comes several times is kept once, under its first title by the alphabet; a
    procedure's own text is left out, and so is what shares no telling n-gram with it.
    """
    retriever = Retriever(queries, k=k, block_size=block_size)

    def read(turn: int) -> Iterator[Paragraph]:
        def tell(done: int, total: int) -> None:
            if progress is not None:
                progress(done + turn * total, 2 * total)

        return read_paragraphs(corpora, least_words=least_words, progress=tell)

    retriever.count(read(0))
    require_paragraphs(retriever, least_words)
    retriever.rank(read(1))
    return retriever.results()


def require_paragraphs(retriever: "Retriever", least_words: int) -> None:
    """Refuse corpora in which nothing was counted."""
    if not retriever.n_paragraphs:
        raise KoalaError(f"The corpora hold no paragraph of at least {least_words} words.")


class Retriever:
    """Takes all paragraphs twice, as streams: `count`, then `rank`; `results` has the answer.

    Both can be called several times, with one part of the corpus each, or on copies elsewhere: what
    `copy_empty` has counted or ranked is added with `add_tally` and `add_best`.
    """

    def __init__(
        self,
        queries: Iterable[Procedure],
        *,
        k: int = 50,
        block_size: int = BLOCK_SIZE,
    ) -> None:
        queries = list(queries)
        self._ids = [procedure.id for procedure in queries]
        if not self._ids or len(set(self._ids)) < len(self._ids):
            came = "the same id twice" if self._ids else "none"
            raise KoalaError(f"Procedures to retrieve for must have ids of their own; {came} came.")
        if k < 1 or block_size < 1:
            came = f"k = {k}, block_size = {block_size}"
            raise KoalaError(f"{came} came; whole numbers from 1 were expected.")
        self._k = k
        # The scores of a block are dense: with very many queries, blocks get smaller.
        self._block_size = min(block_size, max(1, (1 << 24) // len(queries)))
        self._build_postings([" ".join(step.text for step in q.steps) for q in queries])
        self.n_paragraphs = 0
        self._best: Best = [[] for _ in queries]
        self._floor = np.zeros(len(queries))

    def _build_postings(self, texts: Sequence[str]) -> None:
        """For every n-gram of the queries: which of them have it, and log(tf + 1) in each."""
        self._own: dict[str, list[int]] = {}
        for index, text in enumerate(texts):
            self._own.setdefault(_normalize(text), []).append(index)
        rows, hashes = hash_ngrams(texts)
        self._grams, columns = np.unique(hashes, return_inverse=True)
        self._n_columns = max(1, len(self._grams))
        # Most n-grams of a text are no query's: one look into a small table settles it.
        self._is_likely = np.zeros(1 << _FILTER_BITS, dtype=bool)
        self._is_likely[self._grams >> (64 - _FILTER_BITS)] = True
        keys, counts = np.unique(columns * len(texts) + rows, return_counts=True)
        self._posting_query = keys % len(texts)
        self._posting_weight = np.log1p(counts)
        self._n_postings = np.bincount(keys // len(texts), minlength=self._n_columns)
        self._first_posting = np.cumsum(self._n_postings) - self._n_postings
        self._n_holding = np.zeros(self._n_columns, dtype=np.int64)

    def count(self, paragraphs: Iterable[Paragraph]) -> None:
        """Count in how many paragraphs each n-gram of the queries stands."""
        for block in _split_blocks(paragraphs, self._block_size):
            keys, _ = self._count_terms([paragraph.text for paragraph in block])
            self._n_holding += np.bincount(keys % self._n_columns, minlength=self._n_columns)
            self.n_paragraphs += len(block)

    def rank(self, paragraphs: Iterable[Paragraph]) -> None:
        """Keep the best paragraphs of every query."""
        if not self.n_paragraphs:
            raise KoalaError("No paragraphs were counted. Call count with all of them first.")
        for block in _split_blocks(paragraphs, self._block_size):
            # One of several equal texts: else they could crowd out others within the block.
            titles: dict[str, str] = {}
            for title, text in block:
                titles[text] = min(title, titles.get(text, title))
            distinct = [Paragraph(title, text) for text, title in titles.items()]
            self._keep(distinct, self._score(list(titles)))

    def copy_empty(self) -> "Retriever":
        """Give a copy for a part of the corpus: counts are the same, nothing is ranked yet."""
        part = copy.copy(self)
        part._n_holding = self._n_holding.copy()
        part._best = [[] for _ in self._ids]
        part._floor = np.zeros(len(self._ids))
        return part

    @property
    def tally(self) -> Tally:
        """What was counted."""
        return Tally(self.n_paragraphs, self._n_holding)

    def add_tally(self, tally: Tally) -> None:
        """Count what was counted elsewhere."""
        self.n_paragraphs += tally.n_paragraphs
        self._n_holding += tally.n_holding

    @property
    def best(self) -> Best:
        """What was kept."""
        return self._best

    def add_best(self, best: Best) -> None:
        """Keep the best of what is here and what was kept elsewhere."""
        pairs = zip(self._best, best, strict=True)
        self._best = [_merge(old, new, self._k) for old, new in pairs]

    def results(self) -> list[Retrieved]:
        """Give what was kept: queries in their order, the best paragraph first."""
        return [
            Retrieved(query, rank, -score, title, text)
            for query, best in zip(self._ids, self._best, strict=True)
            for rank, (score, title, text) in enumerate(best, 1)
        ]

    def _count_terms(self, texts: Sequence[str]) -> tuple[_Integers, _Integers]:
        """Give row · n_columns + column of every n-gram that a query has, sorted, and its count."""
        rows, hashes = hash_ngrams(texts)
        likely = self._is_likely[hashes >> (64 - _FILTER_BITS)]
        rows, hashes = rows[likely], hashes[likely]
        known, columns = _look_up(hashes, self._grams)
        keys = rows[known] * self._n_columns + columns[known]
        return np.unique(keys, return_counts=True)

    def _score(self, texts: Sequence[str]) -> _Floats:
        """Give the scores of all queries and texts: (queries, texts)."""
        odds = (self.n_paragraphs - self._n_holding + 0.5) / (self._n_holding + 0.5)
        idf = np.log(np.maximum(odds, 1))
        keys, counts = self._count_terms(texts)
        columns, rows = keys % self._n_columns, keys // self._n_columns
        values = np.log1p(counts) * idf[columns] ** 2
        telling = values > 0
        rows, columns, values = rows[telling], columns[telling], values[telling]
        # How many (term, query) pairs stand before each term; rows are cut where they are too many.
        n_before = np.cumsum(self._n_postings[columns])
        n_pairs = int(n_before[-1]) if len(n_before) else 0
        wanted = np.arange(_PAIRS_AT_ONCE, n_pairs, _PAIRS_AT_ONCE)
        # Between rows, never inside one: in another order the same numbers add up to another sum.
        cuts = np.unique(np.searchsorted(rows, rows[np.searchsorted(n_before, wanted)]))
        scores = np.zeros((len(self._ids), len(texts)))
        for part in np.split(np.arange(len(rows)), cuts):
            scores += self._multiply(rows[part], columns[part], values[part], len(texts))
        return scores

    def _multiply(
        self, rows: _Integers, columns: _Integers, values: _Floats, n_texts: int
    ) -> _Floats:
        """Multiply the queries' sparse matrix with that of texts, (queries, columns, texts)."""
        n = self._n_postings[columns]
        # The postings of a term are neighbours: its first one, then so many after it.
        within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        postings = np.repeat(self._first_posting[columns], n) + within
        cells = self._posting_query[postings] * n_texts + np.repeat(rows, n)
        products = self._posting_weight[postings] * np.repeat(values, n)
        size = len(self._ids) * n_texts
        scores: _Floats = np.bincount(cells, products, size).astype(np.float64, copy=False)
        return scores.reshape(-1, n_texts)

    def _keep(self, paragraphs: Sequence[Paragraph], scores: _Floats) -> None:
        """Merge a block into the best ones, after (queries, texts) scores."""
        promising = (scores > 0) & (scores >= self._floor[:, None])
        for row in np.flatnonzero(promising.any(axis=0)).tolist():
            promising[self._own.get(_normalize(paragraphs[row].text), ()), row] = False
        for query in np.flatnonzero(promising.any(axis=1)).tolist():
            rows = np.flatnonzero(promising[query])
            if len(rows) > self._k:
                # Those that are equal to the last one stay: their titles decide.
                least = np.partition(scores[query, rows], -self._k)[-self._k]
                rows = rows[scores[query, rows] >= least]
            found = zip(scores[query, rows].tolist(), rows.tolist(), strict=True)
            new = [(-score, *paragraphs[row]) for score, row in found]
            best = _merge(self._best[query], new, self._k)
            self._best[query] = best
            self._floor[query] = -best[-1][0] if len(best) == self._k else 0


def hash_ngrams(texts: Sequence[str]) -> tuple[_Integers, _Hashes]:
    """Give the text's index and the hash of every uni- and bigram, in any order.

    Words are runs of letters and digits. A bigram is two neighbours that tell something, with
    nothing but white space between them. Hashes are the same in every run and on every machine.
    """
    lowered = [text.lower() for text in texts]
    codes = np.frombuffer(" ".join(lowered).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    is_letter, is_mark = (table[codes] for table in _load_classes())
    edges = np.flatnonzero(np.diff(is_letter, prepend=False, append=False))
    starts, ends = edges[::2], edges[1::2]
    words = _hash_words(codes[is_letter], ends - starts)
    first = np.cumsum([0, *(len(text) + 1 for text in lowered)])
    rows = np.searchsorted(first, starts, side="right") - 1
    told = ~_look_up(words, _load_stop_hashes())[0]
    n_marks = np.cumsum(is_mark)
    pairs = told[:-1] & told[1:] & (rows[:-1] == rows[1:])
    pairs &= n_marks[ends[:-1] - 1] == n_marks[starts[1:]]
    bigrams = _mix(words[:-1][pairs]) + words[1:][pairs]
    return np.concatenate((rows[told], rows[:-1][pairs])), np.concatenate((words[told], bigrams))


def _hash_words(letters: NDArray[np.uint32], lengths: _Integers) -> _Hashes:
    """Hash runs of letters: the sum of a random number a letter times one a position, mixed."""
    if not len(lengths):
        return np.zeros(0, dtype=np.uint64)
    first = np.cumsum(lengths) - lengths
    within = np.arange(len(letters)) - np.repeat(first, lengths)
    by_position = _mix(np.arange(lengths.max(), dtype=np.uint64)) | 1
    return _mix(np.add.reduceat(_load_letter_hashes()[letters] * by_position[within], first))


def _mix(values: _Hashes) -> _Hashes:
    """Scatter 64 bits over 64 bits: the last step of SplitMix64 (Steele et al., 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@lru_cache(maxsize=1)
def _load_letter_hashes() -> _Hashes:
    return _mix(np.arange(1 << 40, (1 << 40) + _N_CHARACTERS, dtype=np.uint64))


@lru_cache(maxsize=1)
def _load_classes() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell of every character whether it is part of a word, and whether it parts a bigram."""
    is_letter, is_space = (
        np.fromiter(map(test, map(chr, range(_N_CHARACTERS))), bool, _N_CHARACTERS)
        for test in (str.isalnum, str.isspace)
    )
    is_space[ord("_")] = True
    return is_letter, ~is_letter & ~is_space


@lru_cache(maxsize=1)
def _load_stop_hashes() -> _Hashes:
    from spacy.lang.en.stop_words import STOP_WORDS

    words = sorted(_CONTRACTED | {w for w in STOP_WORDS if w.isalnum() and not is_content(w)})
    letters = np.frombuffer("".join(words).encode("utf-32-le"), dtype=np.uint32)
    return np.sort(_hash_words(letters, np.array([len(word) for word in words])))


def _look_up(hashes: _Hashes, table: _Hashes) -> tuple[NDArray[np.bool_], _Integers]:
    """Tell which hashes are in a sorted table, and where they would be."""
    if not len(table):
        return np.zeros(len(hashes), dtype=bool), np.zeros(len(hashes), dtype=np.int64)
    locations = np.minimum(np.searchsorted(table, hashes), len(table) - 1)
    return table[locations] == hashes, locations


def _split_blocks(paragraphs: Iterable[Paragraph], size: int) -> Iterator[list[Paragraph]]:
    stream = iter(paragraphs)
    while block := list(islice(stream, size)):
        yield block


def _merge(old: list[_Entry], new: list[_Entry], k: int) -> list[_Entry]:
    """Sort by score, title and text; keep a text once and `k` of them."""
    entries = sorted(old + new)
    first = {entry[2]: entry for entry in reversed(entries)}
    return sorted(first.values())[:k]


def _normalize(text: str) -> str:
    return " ".join(text.lower().split())
