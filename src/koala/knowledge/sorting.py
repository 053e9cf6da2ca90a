"""Sort more lines than fit in memory: sorted runs on disk, merged as they are read."""

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

RUN_CHARACTERS = 1 << 26
RUN_LINES = 1 << 20
"""A run holds at most so much: some 150 MB with what Python adds to a string."""

MOST_RUNS = 128
"""Then they are merged to one: a process may not open files without end."""


class Sorter:
    """Takes lines in any order, each with its line end, and gives them back sorted."""

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
        """Take one line."""
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
        if len(self._runs) == MOST_RUNS:
            runs, self._runs = self._runs, []
            self._write(heapq.merge(*map(_read_run, runs)))

    def _write(self, lines: Iterable[str]) -> None:
        run = self._folder / f"{self._name}-{self._n_runs}"
        with run.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
        self._runs.append(run)
        self._n_runs += 1

    def merge(self) -> Iterator[str]:
        """Give all lines in order, once; runs are removed when they are read."""
        self._lines.sort()
        if not self._runs:
            return iter(self._lines)
        return heapq.merge(*map(_read_run, self._runs), self._lines)


def _read_run(run: Path) -> Iterator[str]:
    with run.open(encoding="utf-8", newline="\n") as file:
        yield from file
    run.unlink()
