"""External sorting of more lines than fit in memory: sorted runs on disk, merged while reading."""

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

RUN_CHARACTERS = 1 << 26
RUN_LINES = 1 << 20
"""Maximum size of a run: about 150 MB in memory, with Python's overhead per string."""

MAX_RUNS = 128
"""This many runs are merged into one, since a process can only open so many files."""


class Sorter:
    """Takes lines in any order, each with its line end, and returns them sorted."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._lines: list[str] = []
        self._n_characters = 0
        self._runs: list[Path] = []
        self._n_runs = 0
        self._n_written = 0

    def __len__(self) -> int:
        return self._n_written + len(self._lines)

    def add(self, line: str) -> None:
        """Add one line."""
        self._lines.append(line)
        self._n_characters += len(line)
        if self._n_characters >= RUN_CHARACTERS or len(self._lines) >= RUN_LINES:
            self._write_run()

    def _write_run(self) -> None:
        self._lines.sort()
        self._write(self._lines)
        self._n_written += len(self._lines)
        self._lines = []
        self._n_characters = 0
        if len(self._runs) == MAX_RUNS:
            runs, self._runs = self._runs, []
            self._write(heapq.merge(*map(_read_run, runs)))

    def _write(self, lines: Iterable[str]) -> None:
        run = self._folder / f"{self._name}-{self._n_runs}"
        with run.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
        self._runs.append(run)
        self._n_runs += 1

    def merge(self) -> Iterator[str]:
        """Yield all lines in order; can be called once, since runs are deleted after reading."""
        self._lines.sort()
        if not self._runs:
            return iter(self._lines)
        return heapq.merge(*map(_read_run, self._runs), self._lines)


def _read_run(run: Path) -> Iterator[str]:
    with run.open(encoding="utf-8", newline="\n") as file:
        yield from file
    run.unlink()
