"""`koala knowledge`: build a store of commonsense triples, inspect it, retrieve from it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli import knowledge_store
from koala.cli.output import show, warn_unnamed, write_json
from koala.cli.progress import show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from koala.knowledge.retrieval import Retrieved

app = typer.Typer(
    no_args_is_help=True,
    help="Commonsense triples from ConceptNet.",
    rich_markup_mode="rich",
    epilog="Example: koala knowledge retrieve fossils.txt --entity bones",
)

app.command("build", epilog=knowledge_store.BUILD_EXAMPLE)(knowledge_store.build_cli)
app.command("stats", epilog=knowledge_store.STATS_EXAMPLE)(knowledge_store.stats_cli)


@app.command(
    "retrieve", epilog="Example: koala knowledge retrieve fossils.txt --entity bones -k 10"
)
def retrieve_cli(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Text with one step per line, or prose on a single line; - is stdin.",
        ),
    ],
    entity: Annotated[
        list[str],
        typer.Option(
            metavar="NAME", help="Entity to retrieve for, aliases separated by `;` (repeatable)."
        ),
    ],
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="Triples per entity.")] = 10,
    store: Annotated[
        Path | None,
        typer.Option(
            help="Store built with `koala knowledge build`; default: $KOALA_STORE, else the "
            "bundled store."
        ),
    ] = None,
    question: Annotated[str, typer.Option(help="Question that the text answers.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Print the most relevant triples for the entities of a text, best first."""
    from collections import Counter
    from dataclasses import replace

    from koala.document import Procedure, annotate
    from koala.encoders import open_encoder
    from koala.errors import KoalaError
    from koala.files import read_text
    from koala.knowledge.retrieval import Retriever
    from koala.knowledge.store import Store

    procedure = Procedure.from_text(read_text(file), entity)
    names = [each.name for each in procedure.entities]
    if repeated := [name for name, n in Counter(names).items() if n > 1]:
        raise KoalaError(
            f"--entity {repeated[0]!r} was given more than once. Name each entity once."
        )
    (annotated,) = annotate([replace(procedure, question=question)])
    warn_unnamed([each.name for each in annotated.entities if not each.mentions])
    retriever = Retriever(Store.open(store), open_encoder(), n_triples=k)
    with show_progress("Encoding triples") as progress:
        (found,) = retriever.retrieve([annotated], progress=progress)
    if as_json:
        values = [[one.to_dict() for one in retrieved] for retrieved in found]
        write_json(values[0] if len(values) == 1 else dict(zip(names, values, strict=True)))
    else:
        pairs = zip(names, found, strict=True)
        show(*(build_triples_table(name, retrieved) for name, retrieved in pairs))


def build_triples_table(name: str, found: "Sequence[Retrieved]") -> "Table":
    """Build a table of the triples retrieved for an entity."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"Triples for {name}"), caption="~ the weight is an estimate")
    table.add_column("")
    table.add_column("triple")
    table.add_column("relation")
    for column in ("weight", "match", "score"):
        table.add_column(column, justify="right")
    for rank, one in enumerate(found, 1):
        triple = one.triple
        weight = f"{'~' if triple.is_estimate else ''}{triple.weight:.2f}"
        cells = (Text(triple.sentence), triple.relation, weight, one.match.value)
        table.add_row(str(rank), *cells, f"{one.score:.2f}")
    return table
