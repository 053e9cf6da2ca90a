"""`koala data`: what is in a corpus."""

from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.output import show, write_json

if TYPE_CHECKING:
    from rich.table import Table

    from koala.corpora import Corpus, Statistics

app = typer.Typer(
    no_args_is_help=True,
    help="Look at a corpus.",
    rich_markup_mode="rich",
    epilog="Example: koala data stats propara/",
)

_Folder = Annotated[str, typer.Argument(metavar="DIR", help="Folder of ProPara or Recipes.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

_PAPER = {
    "propara": {
        "train": ("391", "1,504", "6.7", "61.1"),
        "dev": ("43", "175", "6.7", "57.8"),
        "test": ("54", "236", "6.9", "67.0"),
        "total": ("488", "1,915", "6.8", "61.4"),
    },
    "recipes": {
        "train": ("693", "5,932", "8.8", "93.1"),
        "dev": ("86", "756", "8.9", "89.1"),
        "test": ("87", "737", "9.0", "93.9"),
        "total": ("866", "7,425", "8.8", "92.8"),
    },
}
"""Table 1 of the KoaLa paper."""

_NOTES = {
    "propara": "Words are spaCy's tokens, punctuation included. The entities of test come from the "
    "leaderboard's template.",
    "recipes": "Words are split at spaces: the texts came tokenised. The train split holds 157 "
    "entities more than the paper's 5,932; its filter of rare ones is not published.",
}


@app.command("stats", epilog="Example: koala data stats propara/ --json")
def stats_cli(folder: _Folder, as_json: _Json = False) -> None:
    """Print the paper's dataset table: paragraphs, instances, sentences and words."""
    from koala.corpora import read_corpus

    corpus = read_corpus(folder)
    if as_json:
        figures = {split: _to_dict(figure) for split, figure in corpus.statistics().items()}
        write_json({"corpus": corpus.name, "splits": figures})
    else:
        show(build_statistics_table(corpus), _NOTES.get(corpus.name, ""))


def build_statistics_table(corpus: "Corpus") -> "Table":
    """Build the paper's table with its own figures beside ours."""
    from rich.table import Table

    figures = corpus.statistics()
    paper = _PAPER.get(corpus.name, {})
    table = Table(title=f"{corpus.name} (in brackets: the paper)")
    table.add_column("")
    for split in figures:
        table.add_column(split, justify="right")
    labels = ("procedures", "entities", "steps / procedure", "words / procedure")
    for index, label in enumerate(labels):
        row = []
        for split, figure in figures.items():
            beside = f" ({paper[split][index]})" if split in paper else ""
            row.append(_format(figure)[index] + beside)
        table.add_row(label, *row)
    return table


def _format(figure: "Statistics") -> tuple[str, str, str, str]:
    return (
        f"{figure.procedures:,}",
        f"{figure.entities:,}",
        f"{figure.steps_per_procedure:.1f}",
        f"{figure.words_per_procedure:.1f}",
    )


def _to_dict(figure: "Statistics") -> dict[str, float]:
    return {
        "procedures": figure.procedures,
        "entities": figure.entities,
        "steps_per_procedure": round(figure.steps_per_procedure, 4),
        "words_per_procedure": round(figure.words_per_procedure, 4),
    }


@app.command("candidates", epilog="Example: koala data candidates propara/ --split dev")
def candidates_cli(
    folder: _Folder,
    split: Annotated[str, typer.Option(help="train or dev.")] = "dev",
    as_json: _Json = False,
) -> None:
    """Measure how many gold places are among the location candidates."""
    from rich.table import Table

    from koala.corpora import read_corpus
    from koala.corpora.coverage import measure_coverage
    from koala.errors import KoalaError

    corpus = read_corpus(folder)
    examples = corpus.splits.get(split, ())
    if not any(example.gold for example in examples):
        known = [name for name, some in corpus.splits.items() if any(e.gold for e in some)]
        raise KoalaError(f"Split {split!r} has no gold grids. With answers: {', '.join(known)}.")
    coverage = measure_coverage(examples)
    if as_json:
        write_json(
            {
                "corpus": corpus.name,
                "split": split,
                "place_recall": coverage.place_recall,
                "cell_recall": coverage.cell_recall,
                "places": coverage.places,
                "cells": coverage.cells,
                "candidates_per_procedure": coverage.candidates_per_procedure,
                "missed": [list(pair) for pair in coverage.missed],
            }
        )
        return
    table = Table(title=f"Location candidates, {corpus.name} {split}")
    for name in ("counted", "gold", "found", "recall"):
        table.add_column(name, justify="right" if name != "counted" else "left")
    for label, gold, found, recall in (
        ("places", coverage.places, coverage.places_found, coverage.place_recall),
        ("cells", coverage.cells, coverage.cells_found, coverage.cell_recall),
    ):
        table.add_row(label, f"{gold:,}", f"{found:,}", f"{recall:.1%}")
    show(table, f"{coverage.candidates_per_procedure:.1f} candidates a procedure.")
