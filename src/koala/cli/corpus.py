"""Find corpora: a folder given on the command line, or one inside the folder `KOALA_DATA`."""

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
        metavar="DIR",
        help="Folder of the corpus; default: $KOALA_DATA/propara or $KOALA_DATA/recipes.",
    ),
]


def find_corpus(data: Path | None, name: str, *, option: str = "--data") -> Path:
    """Give the folder of a corpus: `data`, or else `name` in KOALA_DATA."""
    if data is not None:
        return data
    root = os.environ.get("KOALA_DATA")
    if not root:
        raise KoalaError(
            f"The corpus {name} was not found. Give its folder with {option}, or set KOALA_DATA "
            "to the folder that contains it."
        )
    return Path(root, name)


def name_folder(config: Path, corpus: str) -> Path:
    """Name the folder of a run after its settings file, prefixed by the corpus if not ProPara.

    Without the prefix, settings of both corpora with the same file name would share a folder.
    """
    return Path("runs", config.stem if corpus == "propara" else f"{corpus}-{config.stem}")


def read_with_labels(folder: Path) -> "tuple[Corpus, dict[str, ProcessLabels] | None]":
    """Read a corpus, and the published sentence-level labels of dev if its folder has them."""
    from koala.corpora import read_corpus
    from koala.evaluation.labels import read_labels

    corpus = read_corpus(folder)
    labels = folder / "sentence-labels"
    if not labels.is_dir():
        return corpus, None
    return corpus, read_labels(labels, [e.procedure.id for e in corpus.splits.get("dev", ())])
