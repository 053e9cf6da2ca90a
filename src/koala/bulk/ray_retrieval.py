"""Paragraph retrieval on Ray: workers count n-grams per shard, then rank; results are merged."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import ceil
from pathlib import Path

from koala.bulk.ray import open_cluster
from koala.document import Procedure
from koala.pretraining.wikipedia.paragraphs import (
    LEAST_WORDS,
    Paragraph,
    Progress,
    find_files,
    read_paragraphs,
)
from koala.pretraining.wikipedia.retrieval import (
    BLOCK_SIZE,
    Best,
    Retrieved,
    Retriever,
    Tally,
    require_paragraphs,
)

_SHARDS_PER_WORKER = 4
"""More shards balance the load better, but each returns the best paragraphs of every query."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Some files, or every `n_parts`-th paragraph of one large file."""

    files: tuple[Path, ...]
    n_bytes: int
    part: int = 0
    n_parts: int = 1

    def read(self, least_words: int) -> Iterator[Paragraph]:
        """Stream the paragraphs of this shard."""
        stream = read_paragraphs(self.files, least_words=least_words)
        return islice(stream, self.part, None, self.n_parts)


def retrieve_ray(
    queries: Iterable[Procedure],
    corpora: Sequence[str | Path],
    *,
    k: int = 50,
    least_words: int = LEAST_WORDS,
    block_size: int = BLOCK_SIZE,
    n_workers: int = 1,
    address: str | None = None,
    progress: Progress | None = None,
) -> list[Retrieved]:
    """Like `retrieve_paragraphs`, on Ray; workers must see the files under the same paths."""
    retriever = Retriever(queries, k=k, block_size=block_size)
    shards = split_files([file for path in corpora for file in find_files(path)], n_workers)
    total = sum(shard.n_bytes for shard in shards)
    done = 0

    def tell(shard: Shard) -> None:
        nonlocal done
        done += shard.n_bytes
        if progress is not None:
            progress(done, 2 * total)

    with open_cluster(address, n_workers=n_workers) as cluster:
        count = partial(_open_count, retriever, least_words)
        for shard, tally in zip(shards, cluster.map(count, shards), strict=True):
            retriever.add_tally(tally)
            tell(shard)
        require_paragraphs(retriever, least_words)
        rank = partial(_open_rank, retriever, least_words)
        for shard, best in zip(shards, cluster.map(rank, shards), strict=True):
            retriever.add_best(best)
            tell(shard)
    return retriever.results()


def split_files(files: Sequence[Path], n_workers: int) -> list[Shard]:
    """Split files into shards: small files are grouped, large files divided into parts.

    For each part, the whole file is read, because compressed files have no random access. Reading
    takes a quarter of the time of counting and ranking.
    """
    sizes = [(file.resolve(), file.stat().st_size) for file in files]
    share = sum(size for _, size in sizes) / n_workers
    shards: list[Shard] = []
    group: list[tuple[Path, int]] = []

    def close_group() -> None:
        if group:
            shards.append(Shard(tuple(file for file, _ in group), sum(size for _, size in group)))
            group.clear()

    for file, size in sizes:
        n_parts = ceil(size / share) if size else 1
        if n_parts == 1:
            group.append((file, size))
            if sum(size for _, size in group) >= share / _SHARDS_PER_WORKER:
                close_group()
            continue
        close_group()
        cuts = [size * part // n_parts for part in range(n_parts + 1)]
        shards += [Shard((file,), cuts[n + 1] - cuts[n], n, n_parts) for n in range(n_parts)]
    close_group()
    return shards


def _open_count(retriever: Retriever, least_words: int) -> Callable[[Shard], Tally]:
    def count(shard: Shard) -> Tally:
        part = retriever.copy_empty()
        part.count(shard.read(least_words))
        return part.tally

    return count


def _open_rank(retriever: Retriever, least_words: int) -> Callable[[Shard], Best]:
    def rank(shard: Shard) -> Best:
        part = retriever.copy_empty()
        part.rank(shard.read(least_words))
        return part.best

    return rank
