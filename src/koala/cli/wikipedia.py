"""`koala wikipedia`: retrieve paragraphs for pretraining, for every procedure of a corpus."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from koala.cli.engines import AddressOption, Engine, EngineOption, check_address
from koala.cli.output import write
from koala.cli.progress import show_progress

app = typer.Typer(
    no_args_is_help=True,
    help="Retrieve paragraphs similar to those of a corpus, from Wikipedia or any other text.",
    rich_markup_mode="rich",
    epilog="Example: koala wikipedia retrieve --queries propara/ --corpus wiki.tsv.xz -o out.jsonl",
)


@app.callback()
def _wikipedia() -> None:
    """Keep `retrieve` a subcommand: without a callback, typer merges a single command."""


@app.command(
    "retrieve",
    epilog="Example: koala wikipedia retrieve --queries propara/ --corpus simplewiki.tsv.xz "
    "--corpus extracted/ -k 50 -o wiki50.jsonl",
)
def retrieve_cli(
    queries: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Folder of ProPara or Recipes; the texts of all splits are queries."
        ),
    ],
    corpus: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="Paragraphs to search: TSV of title and text, extracted JSON or plain text, also "
            "as .gz, .bz2 or .xz; or a folder of such files (repeatable).",
        ),
    ],
    more: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Further files or folders, like --corpus."),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Paragraphs per procedure.")] = 50,
    least_words: Annotated[
        int, typer.Option("--least-words", min=0, help="Skip paragraphs with fewer words.")
    ] = 20,
    block_size: Annotated[
        int,
        typer.Option(min=1, help="Paragraphs scored at once; affects memory, but not the result."),
    ] = 1024,
    workers: Annotated[
        int,
        typer.Option(
            min=1, max=10_000, help="With --engine ray: number of workers, one core each."
        ),
    ] = 1,
    engine: EngineOption = Engine.LOCAL,
    address: AddressOption = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="JSON lines file to write; default: stdout."),
    ] = None,
) -> None:
    """Retrieve the paragraphs most similar to each procedure, by DrQA's TF-IDF.

    The queries are the texts of train, dev and test, as in section 5.1 of the
    KoaLa paper; questions, entities and gold grids are not used. Every file
    is read twice. On a Ray cluster, all machines must see the files.

    Writes one JSON object per line: query, rank, score, title, text.
    """
    import json

    from koala.bulk.ray_retrieval import retrieve_ray
    from koala.corpora import read_corpus
    from koala.errors import KoalaError
    from koala.files import check_outputs
    from koala.pretraining.wikipedia import retrieve_paragraphs

    check_address(engine, address)
    if workers > 1 and engine is Engine.LOCAL:
        raise KoalaError(f"--workers {workers} needs --engine ray. Add that, or omit --workers.")
    files = [*corpus, *(more or ())]
    # Checked now, not after an hour of reading.
    check_outputs([output], [queries, *files])
    splits = read_corpus(queries).splits.values()
    procedures = [example.procedure for examples in splits for example in examples]
    on_ray = partial(retrieve_ray, n_workers=workers, address=address)
    retrieve = retrieve_paragraphs if engine is Engine.LOCAL else on_ray
    with show_progress("Reading paragraphs") as progress:
        found = retrieve(
            procedures,
            files,
            k=k,
            least_words=least_words,
            block_size=block_size,
            progress=progress,
        )
    write("".join(json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in found), output)
    n_texts = len({one.text for one in found})
    typer.echo(f"{len(procedures):,} procedures, {n_texts:,} different paragraphs.", err=True)
