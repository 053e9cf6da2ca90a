"""Where a corpus is: named on the command line, or in the folder that `KOALA_DATA` names."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.errors import KoalaError

if TYPE_CHECKING:
    from koala.corpora import Corpus
    from koala.evaluation.labels import ProcessLabels

Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The corpus; default: its folder (propara, recipes) in $KOALA_DATA."
    ),
]


def find_corpus(data: Path | None, name: str, *, option: str = "--data") -> Path:
    """Give the folder of a corpus; say what to do where none is known."""
    if data is not None:
        return data
    root = os.environ.get("KOALA_DATA")
    if not root:
        raise KoalaError(f"Where is {name}? Give its folder with {option}, or set KOALA_DATA.")
    return Path(root, name)


def name_folder(config: Path, corpus: str) -> Path:
    """Name the folder of a run by its settings; those of both corpora may be called the same."""
    return Path("runs", config.stem if corpus == "propara" else f"{corpus}-{config.stem}")


def read_with_labels(folder: Path) -> "tuple[Corpus, dict[str, ProcessLabels] | None]":
    """Read a corpus, and the published sentence-level labels of dev where they lie beside it."""
    from koala.corpora import read_corpus
    from koala.evaluation.labels import read_labels

    corpus = read_corpus(folder)
    labels = folder / "sentence-labels"
    if not labels.is_dir():
        return corpus, None
    return corpus, read_labels(labels, [e.procedure.id for e in corpus.splits.get("dev", ())])
