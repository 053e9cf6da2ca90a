"""`koala knowledge build` and `koala knowledge stats`: build a store, describe a store."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.options import JsonOption
from koala.cli.output import refuse_stdout, show, write_json

if TYPE_CHECKING:
    from rich.table import Table

    from koala.knowledge.conceptnet import Progress
    from koala.knowledge.store import Store

BUILD_EXAMPLE = (
    "Example: koala knowledge build conceptnet-assertions-5.7.0.csv.gz -o conceptnet.store"
)
STATS_EXAMPLE = "Example: koala knowledge stats --store conceptnet.store"

StorePath = Annotated[
    Path | None,
    typer.Option(
        "--store",
        help="Store built with `koala knowledge build`; default: $KOALA_STORE, else the bundled "
        "store.",
    ),
]


def build_cli(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE",
            help="ConceptNet's official dump (.csv, .csv.gz), TSV or JSON lines; several are "
            "merged.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Store file to write.")],
    exclude_source: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Leave out TSV rows that come only from this source (repeatable)."
        ),
    ] = None,
) -> None:
    """Build a knowledge store from ConceptNet: English, pruned, reweighted, without duplicates."""
    from koala.knowledge.conceptnet import build_store

    refuse_stdout(output, "A store")
    with show_progress() as progress:
        statistics = build_store(
            sources, output, exclude_sources=exclude_source or (), progress=progress
        )
    found = f"{statistics.triples:,} triples, {statistics.concepts:,} concepts"
    typer.echo(f"Wrote {output}: {found}, {output.stat().st_size / 1e6:.1f} MB.", err=True)


@contextmanager
def show_progress() -> "Iterator[Progress]":
    """Show one progress bar per stage of a build, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks = {}

        def advance(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage)
            bars.update(tasks[stage], completed=done, total=total or None)

        yield advance


def stats_cli(
    store: StorePath = None,
    as_json: JsonOption = False,
) -> None:
    """Print the contents of a knowledge store: triples, concepts, relations, sources."""
    from koala.knowledge.store import Store

    with Store.open(store) as opened:
        if as_json:
            write_json(summarize_store(opened))
        else:
            show(build_store_table(opened), describe_store(opened))


def summarize_store(store: "Store") -> dict[str, object]:
    """Give the statistics of a store as plain values."""
    statistics = store.statistics()
    share = round(statistics.estimated_share, 4)
    facts = asdict(statistics) | {"estimated_share": share, "signature": store.signature}
    return {"store": str(store.path), **facts}


def build_store_table(store: "Store") -> "Table":
    """Build the table of relations, most frequent first."""
    from rich.table import Table

    from koala.knowledge.triple import PHRASES

    statistics = store.statistics()
    table = Table(title=f"{store.path.name} ({store.signature})")
    table.add_column("relation")
    table.add_column("phrase")
    table.add_column("triples", justify="right")
    for relation, n_triples in statistics.relations.items():
        table.add_row(relation, f"… {PHRASES[relation][0]} …", f"{n_triples:,}")
    table.add_section()
    table.add_row("all", "", f"{statistics.triples:,}")
    return table


def describe_store(store: "Store") -> str:
    """Describe concepts, estimated weights and sources of a store in a few sentences."""
    statistics = store.statistics()
    sources = "; ".join(
        f"{source.name} ({source.kept:,} of {source.lines:,} lines)"
        for source in statistics.sources
    )
    return (
        f"{statistics.concepts:,} concepts. {statistics.estimated_share:.1%} of the weights are "
        f"estimates. Built from {sources}."
    )
