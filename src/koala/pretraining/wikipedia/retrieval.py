"""Streaming TF-IDF: the paragraphs of a large corpus that are most similar to each procedure.

The ranker is DrQA's (Chen et al., 2017, section 3.1), as in section 5.1 of the KoaLa paper: hashed
uni- and bigrams without stop words. A query q and a paragraph d score

    Σ_t log(tf_q + 1) · log(tf_d + 1) · idf_t²,   idf_t = max(0, log((N − n_t + ½) / (n_t + ½)))

where t runs over the n-grams of the query, N is the number of paragraphs and n_t the number of
those with t. Only n-grams of the queries are counted, so memory does not grow with the corpus. DrQA
hashes all n-grams of Wikipedia into 2^24 buckets, where a rare n-gram of a query often collides
with another; 64-bit hashes avoid that.
"""

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from koala.document import Procedure
from koala.errors import KoalaError
from koala.pretraining.wikipedia.ngrams import Integers, hash_ngrams, look_up
from koala.pretraining.wikipedia.paragraphs import LEAST_WORDS, Paragraph, Progress, read_paragraphs

BLOCK_SIZE = 1024
_FILTER_BITS = 22
_PAIRS_PER_BATCH = 1 << 21

_Floats = NDArray[np.float64]
_Entry = tuple[float, str, str]  # negative score, title, text: the best sorts first
Best = list[list[_Entry]]
"""The best paragraphs of each query, best first."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A paragraph retrieved for a query; the best has rank 1."""

    query: str
    """The procedure's id."""
    rank: int
    score: float
    title: str
    text: str

    def to_dict(self) -> dict[str, str | int | float]:
        """Return it as an object of the output file."""
        return {
            "query": self.query,
            "rank": self.rank,
            "score": round(self.score, 6),
            "title": self.title,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of a part of a corpus."""

    n_paragraphs: int
    n_holding: Integers
    """For each n-gram of the queries, the number of paragraphs that have it."""


def retrieve_paragraphs(
    queries: Iterable[Procedure],
    corpora: Sequence[str | Path],
    *,
    k: int = 50,
    least_words: int = LEAST_WORDS,
    block_size: int = BLOCK_SIZE,
    progress: Progress | None = None,
) -> list[Retrieved]:
    """Return the `k` most similar paragraphs for every procedure, in order; read the files twice.

    A text that occurs several times is returned once, with its alphabetically first title. A
    procedure's own text is left out, and so are paragraphs with a score of 0.
    """
    retriever = Retriever(queries, k=k, block_size=block_size)

    def read(number: int) -> Iterator[Paragraph]:
        def report(done: int, total: int) -> None:
            if progress is not None:
                progress(done + number * total, 2 * total)

        return read_paragraphs(corpora, least_words=least_words, progress=report)

    retriever.count(read(0))
    require_paragraphs(retriever, least_words)
    retriever.rank(read(1))
    return retriever.results()


def require_paragraphs(retriever: "Retriever", least_words: int) -> None:
    """Raise an error if no paragraph was counted."""
    if not retriever.n_paragraphs:
        raise KoalaError(f"The corpora have no paragraph of at least {least_words} words.")


class Retriever:
    """Reads all paragraphs twice, as streams: first `count`, then `rank`, then ask for `results`.

    Both can be called several times, with a part of the corpus each, also in other processes on
    copies made by `copy_empty`, whose results are merged with `add_tally` and `add_best`.
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
        if not self._ids:
            raise KoalaError("Retrieval needs at least one procedure; none was given.")
        if len(set(self._ids)) < len(self._ids):
            double = next(one for one, n in Counter(self._ids).items() if n > 1)
            raise KoalaError(f"Several procedures have the id {double!r}; ids must be unique.")
        if k < 1 or block_size < 1:
            raise KoalaError(f"Expected k and block_size of at least 1, got {k} and {block_size}.")
        self._k = k
        # The scores of a block are a dense array, so very many queries need smaller blocks.
        self._block_size = min(block_size, max(1, (1 << 24) // len(queries)))
        self._build_postings([" ".join(step.text for step in q.steps) for q in queries])
        self.n_paragraphs = 0
        self._best: Best = [[] for _ in queries]
        self._floor = np.zeros(len(queries))

    def _build_postings(self, texts: Sequence[str]) -> None:
        """Store for every n-gram of the queries which queries have it, and log(tf + 1) in each."""
        self._queries_of_text: dict[str, list[int]] = {}
        for index, text in enumerate(texts):
            self._queries_of_text.setdefault(_normalize(text), []).append(index)
        rows, hashes = hash_ngrams(texts)
        self._grams, columns = np.unique(hashes, return_inverse=True)
        self._n_columns = max(1, len(self._grams))
        # Most n-grams of a text are in no query: one look-up in a small table excludes them.
        self._is_likely = np.zeros(1 << _FILTER_BITS, dtype=bool)
        self._is_likely[self._grams >> (64 - _FILTER_BITS)] = True
        keys, counts = np.unique(columns * len(texts) + rows, return_counts=True)
        self._posting_query = keys % len(texts)
        self._posting_weight = np.log1p(counts)
        self._n_postings = np.bincount(keys // len(texts), minlength=self._n_columns)
        self._first_posting = np.cumsum(self._n_postings) - self._n_postings
        self._n_holding = np.zeros(self._n_columns, dtype=np.int64)

    def count(self, paragraphs: Iterable[Paragraph]) -> None:
        """Count how many paragraphs have each n-gram of the queries."""
        for block in _split_blocks(paragraphs, self._block_size):
            keys, _ = self._count_terms([paragraph.text for paragraph in block])
            self._n_holding += np.bincount(keys % self._n_columns, minlength=self._n_columns)
            self.n_paragraphs += len(block)

    def rank(self, paragraphs: Iterable[Paragraph]) -> None:
        """Score paragraphs and store the best ones of every query."""
        if not self.n_paragraphs:
            raise KoalaError("No paragraphs were counted. Call count with all paragraphs first.")
        for block in _split_blocks(paragraphs, self._block_size):
            # Without duplicates, which could take the places of others within the block.
            titles: dict[str, str] = {}
            for title, text in block:
                titles[text] = min(title, titles.get(text, title))
            distinct = [Paragraph(title, text) for text, title in titles.items()]
            self._update_best(distinct, self._score(list(titles)))

    def copy_empty(self) -> "Retriever":
        """Return a copy for a part of the corpus, with the same counts and nothing ranked yet."""
        part = copy.copy(self)
        part._n_holding = self._n_holding.copy()
        part._best = [[] for _ in self._ids]
        part._floor = np.zeros(len(self._ids))
        return part

    @property
    def tally(self) -> Tally:
        """The counts."""
        return Tally(self.n_paragraphs, self._n_holding)

    def add_tally(self, tally: Tally) -> None:
        """Add the counts of another part."""
        self.n_paragraphs += tally.n_paragraphs
        self._n_holding += tally.n_holding

    @property
    def best(self) -> Best:
        """The best paragraphs so far."""
        return self._best

    def add_best(self, best: Best) -> None:
        """Merge the best paragraphs of another part."""
        pairs = zip(self._best, best, strict=True)
        self._best = [_merge(old, new, self._k) for old, new in pairs]

    def results(self) -> list[Retrieved]:
        """Return the best paragraphs: queries in their order, the best paragraph first."""
        return [
            Retrieved(query, rank, -score, title, text)
            for query, best in zip(self._ids, self._best, strict=True)
            for rank, (score, title, text) in enumerate(best, 1)
        ]

    def _count_terms(self, texts: Sequence[str]) -> tuple[Integers, Integers]:
        """Return row · n_columns + column of each text's query n-grams, sorted, and the counts."""
        rows, hashes = hash_ngrams(texts)
        likely = self._is_likely[hashes >> (64 - _FILTER_BITS)]
        rows, hashes = rows[likely], hashes[likely]
        known, columns = look_up(hashes, self._grams)
        keys = rows[known] * self._n_columns + columns[known]
        return np.unique(keys, return_counts=True)

    def _score(self, texts: Sequence[str]) -> _Floats:
        """Return the scores of all queries and texts: (queries, texts)."""
        odds = (self.n_paragraphs - self._n_holding + 0.5) / (self._n_holding + 0.5)
        idf = np.log(np.maximum(odds, 1))
        keys, counts = self._count_terms(texts)
        columns, rows = keys % self._n_columns, keys // self._n_columns
        values = np.log1p(counts) * idf[columns] ** 2
        is_positive = values > 0
        rows, columns, values = rows[is_positive], columns[is_positive], values[is_positive]
        # Cumulative number of (term, query) pairs, to split the work into batches of bounded size.
        n_before = np.cumsum(self._n_postings[columns])
        n_pairs = int(n_before[-1]) if len(n_before) else 0
        wanted = np.arange(_PAIRS_PER_BATCH, n_pairs, _PAIRS_PER_BATCH)
        # Cut only between rows: summing a row in another order would change its floating-point sum.
        cuts = np.unique(np.searchsorted(rows, rows[np.searchsorted(n_before, wanted)]))
        scores = np.zeros((len(self._ids), len(texts)))
        for part in np.split(np.arange(len(rows)), cuts):
            scores += self._multiply(rows[part], columns[part], values[part], len(texts))
        return scores

    def _multiply(
        self, rows: Integers, columns: Integers, values: _Floats, n_texts: int
    ) -> _Floats:
        """Multiply the sparse matrices (queries, columns) and (columns, texts)."""
        n = self._n_postings[columns]
        # The postings of a term are contiguous.
        within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        postings = np.repeat(self._first_posting[columns], n) + within
        cells = self._posting_query[postings] * n_texts + np.repeat(rows, n)
        products = self._posting_weight[postings] * np.repeat(values, n)
        size = len(self._ids) * n_texts
        scores: _Floats = np.bincount(cells, products, size).astype(np.float64, copy=False)
        return scores.reshape(-1, n_texts)

    def _update_best(self, paragraphs: Sequence[Paragraph], scores: _Floats) -> None:
        """Merge a block into the best paragraphs, by its scores (queries, texts)."""
        promising = (scores > 0) & (scores >= self._floor[:, None])
        for row in np.flatnonzero(promising.any(axis=0)).tolist():
            text = _normalize(paragraphs[row].text)
            promising[self._queries_of_text.get(text, ()), row] = False
        for query in np.flatnonzero(promising.any(axis=1)).tolist():
            rows = np.flatnonzero(promising[query])
            if len(rows) > self._k:
                # Keep ties with the k-th score: titles decide between them.
                least = np.partition(scores[query, rows], -self._k)[-self._k]
                rows = rows[scores[query, rows] >= least]
            found = zip(scores[query, rows].tolist(), rows.tolist(), strict=True)
            new = [(-score, *paragraphs[row]) for score, row in found]
            best = _merge(self._best[query], new, self._k)
            self._best[query] = best
            self._floor[query] = -best[-1][0] if len(best) == self._k else 0


def _split_blocks(paragraphs: Iterable[Paragraph], size: int) -> Iterator[list[Paragraph]]:
    stream = iter(paragraphs)
    while block := list(islice(stream, size)):
        yield block


def _merge(old: list[_Entry], new: list[_Entry], k: int) -> list[_Entry]:
    """Sort by score, title and text; return the first `k`, without duplicate texts."""
    entries = sorted(old + new)
    first = {entry[2]: entry for entry in reversed(entries)}
    return sorted(first.values())[:k]


def _normalize(text: str) -> str:
    return " ".join(text.lower().split())
