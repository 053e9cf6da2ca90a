"""Corpora: files ↔ (Procedure, gold Grid), splits, statistics."""

from koala.corpora.corpus import Corpus, Example, Statistics

__all__ = ["Corpus", "Example", "Statistics", "read_corpus"]


def read_corpus(folder: str) -> Corpus:
    """Read a corpus from its folder, telling ProPara and Recipes apart by what is inside."""
    from pathlib import Path

    from koala.corpora import propara, recipes
    from koala.errors import FileError

    path = Path(folder)
    if not path.is_dir():
        raise FileError(path, "no such folder. Give the folder of a corpus.")
    for reader in (propara, recipes):
        if reader.is_here(path):
            return reader.read(path)
    raise FileError(
        path,
        "no corpus here. Expected csv/ or leaderboard/ (ProPara), or train.jsonl (Recipes).",
    )
