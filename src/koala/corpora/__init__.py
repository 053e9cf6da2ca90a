"""Corpora: read and write procedures with gold grids; splits, statistics, checks."""

from pathlib import Path

from koala.corpora import propara, recipes, written
from koala.corpora.corpus import Corpus, Example, Statistics
from koala.errors import FileError
from koala.files import is_folder

__all__ = ["Corpus", "Example", "Statistics", "read_corpus"]


_READERS = (propara, recipes, written)
"""A module per corpus: `is_here` tells whether a folder holds it, `read` reads it."""


def read_corpus(folder: str | Path) -> Corpus:
    """Read a corpus from its folder; the files in it tell which corpus it is."""
    path = Path(folder)
    if not is_folder(path):
        raise FileError(path, "no such folder. Give the folder of a corpus.")
    for reader in _READERS:
        if reader.is_here(path):
            corpus: Corpus = reader.read(path)
            return corpus
    raise FileError(
        path,
        "no corpus here. Expected csv/ or leaderboard/ (ProPara), train.jsonl (Recipes), or "
        "train/*.txt (koala's own).",
    )
