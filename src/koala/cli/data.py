"""`koala data`: statistics and checks of a corpus."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.options import JsonOption
from koala.cli.output import show, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from koala.corpora import Corpus, Statistics
    from koala.corpora.written import WrittenProcedure

app = typer.Typer(
    no_args_is_help=True,
    help="Show statistics of a corpus, and check it.",
    rich_markup_mode="rich",
    epilog="Example: koala data stats propara/",
)

_Folder = Annotated[
    str,
    typer.Argument(metavar="DIR", help="Folder of ProPara, of Recipes or of koala's own corpus."),
]

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
    "recipes": "Words are split at spaces, because the published texts are tokenised. The train "
    "split has 157 entities more than the paper's 5,932: the paper filters out rare ones by a rule "
    "that is not published.",
}


@app.command("stats", epilog="Example: koala data stats propara/ --json")
def stats_cli(folder: _Folder, as_json: JsonOption = False) -> None:
    """Print the paper's dataset table: procedures, entities, steps and words per split."""
    from koala.corpora import read_corpus

    corpus = read_corpus(folder)
    if as_json:
        figures = {split: _to_dict(figure) for split, figure in corpus.statistics().items()}
        write_json({"corpus": corpus.name, "splits": figures})
    else:
        show(build_statistics_table(corpus), _NOTES.get(corpus.name, ""))
        if corpus.name == "written":
            from koala.corpora.written import read_split

            groups = {split: read_split(Path(folder) / split) for split in corpus.splits}
            show(build_shares_table(groups))


def build_statistics_table(corpus: "Corpus") -> "Table":
    """Build the paper's dataset table with koala's counts, and the paper's in brackets."""
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


@app.command("check", epilog="Example: koala data check corpus/ --unseen propara/")
def check_cli(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Files of koala's own corpus, or folders of them."),
    ],
    unseen: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of ProPara: also report texts that are too similar to its dev and test.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check files of koala's own corpus: format, cells, entity names, near-duplicate texts.

    Defects are printed one per line; if there are any, the exit code is 2.
    """
    from koala.corpora import checks, read_corpus

    read, defects = checks.read_checked(checks.find_files(paths))
    splits = read_corpus(unseen).splits if unseen else {}
    texts = [e.procedure for split in ("dev", "test") for e in splits.get(split, ())]
    defects += checks.find_defects(read, texts)
    if as_json:
        shares = checks.measure_shares([each for _, each in read])
        write_json({"defects": [str(defect) for defect in defects], **shares.to_dict()})
    else:
        for defect in defects:
            typer.echo(str(defect))
        show(build_shares_table({f"{len(read):,} procedures": [each for _, each in read]}))
    if defects:
        raise typer.Exit(2)


@app.command("agreement", epilog="Example: koala data agreement corpus/")
def agreement_cli(folder: _Folder, as_json: JsonOption = False) -> None:
    """Measure the agreement of koala's own corpus with its second annotations (second/)."""
    from koala.cli.scores import build_changes_table
    from koala.corpora.written import read_corpus_grids, read_split
    from koala.errors import FileError
    from koala.evaluation.changes import score_changes

    second = {e.id: e for w in read_split(Path(folder, "second")) if (e := w.example.gold)}
    if not second:
        raise FileError(folder, "has no second annotations; second/*.txt was expected.")
    first = read_corpus_grids(Path(folder))
    unknown = next((id for id in second if id not in first), None)
    if unknown is not None:
        raise FileError(
            Path(folder, "second"),
            f"procedure {unknown} has a second annotation, but is not in the corpus.",
        )
    scores = score_changes(second, {id: first[id] for id in second})
    if as_json:
        write_json({"changes": scores.to_dict(), "signature": scores.signature})
    else:
        show(build_changes_table(scores), scores.signature)


def build_shares_table(groups: "Mapping[str, Sequence[WrittenProcedure]]") -> "Table":
    """Build a table of the kinds of cells and changes in groups of procedures, in percent."""
    from rich.table import Table

    from koala.corpora.checks import measure_shares

    table = Table(title="Shares in percent")
    table.add_column("")
    columns = [_list_shares(measure_shares(group).to_dict()) for group in groups.values()]
    for name in groups:
        table.add_column(name, justify="right")
    for label in columns[0] if columns else ():
        table.add_row(label, *(f"{100 * column.get(label, 0.0):.0f}" for column in columns))
    return table


def _list_shares(values: "Mapping[str, object]") -> dict[str, float]:
    """Flatten shares into one level: those of a nested table get the label "table: key"."""
    shares: dict[str, float] = {}
    for name, value in values.items():
        label = name.replace("_", " ")
        if isinstance(value, dict):
            shares |= {f"{label}: {key}": share for key, share in value.items()}
        elif isinstance(value, float) and not name.endswith("per_procedure"):
            shares[label] = value
    return shares


@app.command("candidates", epilog="Example: koala data candidates propara/ --split dev")
def candidates_cli(
    folder: _Folder,
    split: Annotated[str, typer.Option(metavar="SPLIT", help="train or dev.")] = "dev",
    as_json: JsonOption = False,
) -> None:
    """Measure how many gold locations are among the location candidates."""
    from rich.table import Table

    from koala.corpora import read_corpus
    from koala.corpora.coverage import measure_coverage
    from koala.errors import KoalaError

    corpus = read_corpus(folder)
    examples = corpus.splits.get(split, ())
    if not any(example.gold for example in examples):
        known = [name for name, some in corpus.splits.items() if any(e.gold for e in some)]
        raise KoalaError(f"Split {split!r} has no gold grids. Splits that do: {', '.join(known)}.")
    coverage = measure_coverage(examples)
    if as_json:
        write_json(
            {
                "corpus": corpus.name,
                "split": split,
                "location_recall": coverage.location_recall,
                "cell_recall": coverage.cell_recall,
                "locations": coverage.locations,
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
        ("locations", coverage.locations, coverage.locations_found, coverage.location_recall),
        ("cells", coverage.cells, coverage.cells_found, coverage.cell_recall),
    ):
        table.add_row(label, f"{gold:,}", f"{found:,}", f"{recall:.1%}")
    show(table, f"{coverage.candidates_per_procedure:.1f} candidates per procedure.")
