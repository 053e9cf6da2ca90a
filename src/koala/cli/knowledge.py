"""`koala knowledge`: build a store of commonsense, look into it, retrieve from it."""

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
    help="Commonsense from ConceptNet.",
    rich_markup_mode="rich",
    epilog="Example: koala knowledge retrieve fossils.txt --entity bones",
)

app.command("build", epilog=knowledge_store.BUILD_EXAMPLE)(knowledge_store.build_cli)
app.command("stats", epilog=knowledge_store.STATS_EXAMPLE)(knowledge_store.stats_cli)


@app.command(
    "retrieve", epilog="Example: koala knowledge retrieve fossils.txt --entity bones -k 10"
)
def retrieve_cli(
    file: Annotated[Path, typer.Argument(help="A text, one step a line or prose; - is stdin.")],
    entity: Annotated[
        list[str], typer.Option(help="What to retrieve for; aliases with ;. May be repeated.")
    ],
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many triples.")] = 10,
    store: Annotated[
        Path | None, typer.Option(help="A store made with `build`; default: the bundled one.")
    ] = None,
    question: Annotated[str, typer.Option(help="The question that the text answers.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Print the most relevant triples for an entity in a text, best first."""
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
    if twice := [name for name, n in Counter(names).items() if n > 1]:
        raise KoalaError(f"--entity {twice[0]!r} came more than once. Name each entity once.")
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
    """Build a table of triples as a person reads them."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(f"What is known of {name}"), caption="~ the weight is an estimate")
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
