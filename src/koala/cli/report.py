"""`koala report`: pages and pictures about results."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.corpus import Data, find_corpus, name_folder
from koala.cli.options import OutputOption
from koala.cli.output import write
from koala.errors import KoalaError

if TYPE_CHECKING:
    from koala.document import Procedure
    from koala.grid.attention import Attention

ATTENTION_EXAMPLE = (
    "Example: koala report attention --id 37 --entity plants --model runs/koala-seed0 "
    "--model runs/minus-attention-loss-seed0 -o attention.html"
)

RECORD_EXAMPLE = (
    "Example: koala report record configs/paper/propara/published-minilm.toml --data propara/"
)
TABLES_EXAMPLE = "Example: koala report tables --check"
PAPER_EXAMPLE = "Example: koala report paper --results results/"

app = typer.Typer(
    no_args_is_help=True,
    help="Pages and pictures about results.",
    rich_markup_mode="rich",
    epilog=TABLES_EXAMPLE,
)


class AttentionFormat(StrEnum):
    """Output format of the case study."""

    HTML = "html"
    SVG = "svg"
    JSON = "json"


@app.command("attention", epilog=ATTENTION_EXAMPLE)
def attention_cli(
    model: Annotated[
        list[str],
        typer.Option(
            metavar="RUN",
            help="Folder of a training run; several are shown side by side (repeatable).",
        ),
    ],
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Text to read; - is stdin.")
    ] = None,
    id: Annotated[
        str | None, typer.Option(metavar="ID", help="Instead of FILE: a procedure of the corpus.")
    ] = None,
    data: Data = None,
    entity: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Entity to show (repeatable). Default: all of the procedure; in a FILE, those "
            "found.",
        ),
    ] = None,
    location: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Location candidate whose attention is shown. Default: the predicted location of "
            "each step.",
        ),
    ] = None,
    question: Annotated[
        str, typer.Option("--question", "--prompt", help="Question that the text of FILE answers.")
    ] = "",
    format: Annotated[
        AttentionFormat | None,
        typer.Option(help="Output format; default: by the name of the output, else html."),
    ] = None,
    output: OutputOption = None,
) -> None:
    """Draw how much each model attends to each triple, in states and in locations.

    This is the case study of the paper. With a run trained with the
    attention loss and one trained without it, both are shown side by side.
    """
    from koala.files import check_outputs
    from koala.registry import load

    if (file is None) == (id is None):
        raise KoalaError("Give either a FILE or --id with a procedure of the corpus.")
    check_outputs([output], [file])
    procedure = (
        find_procedure(id, data, entity or ())
        if id is not None
        else read_procedure(file or Path("-"), entity, question)
    )
    found: dict[str, list[Attention]] = {}
    for name in model:
        tracker = load(name)
        found[_name_model(name, found)] = tracker.find_attention([procedure], location=location)
    write(render_attention(procedure, found, format or _guess_format(output)), output)


def render_attention(
    procedure: "Procedure", found: dict[str, list["Attention"]], format: AttentionFormat
) -> str:
    """Write the attention of all models in a format."""
    import json

    from koala.display.heatmap import render_attention_page, render_attention_svg

    if format == AttentionFormat.SVG:
        return render_attention_svg(found)
    if format == AttentionFormat.JSON:
        models = {name: [each.to_dict() for each in own] for name, own in found.items()}
        return json.dumps({"id": procedure.id, "models": models}, ensure_ascii=False, indent=2)
    title = f"Attention to triples, {procedure.id}"
    steps = [step.text for step in procedure.steps]
    return render_attention_page(found, title=title, steps=steps)


def find_procedure(id: str, data: Path | None, names: "list[str] | tuple[str, ...]") -> "Procedure":
    """Find a procedure of ProPara by its id, with some of its entities, or all."""
    from dataclasses import replace

    from koala.corpora import read_corpus

    folder = find_corpus(data, "propara")
    splits = read_corpus(folder).splits.values()
    known = {e.procedure.id: e.procedure for examples in splits for e in examples}
    if id not in known:
        some = ", ".join(list(known)[:8])
        raise KoalaError(f"{folder} has no procedure {id!r}. It has: {some}, ….")
    procedure = known[id]
    entities = {entity.name: entity for entity in procedure.entities}
    for name in names:
        if name not in entities:
            listed = ", ".join(entities)
            raise KoalaError(f"Procedure {id} has no entity {name!r}. It has: {listed}.")
    chosen = tuple(entities[name] for name in names) or procedure.entities
    return replace(procedure, entities=chosen)


def read_procedure(file: Path, names: list[str] | None, question: str) -> "Procedure":
    """Read a text and its entities; without names, the entities are found."""
    from koala.discovery.add import add_entities
    from koala.document import Procedure
    from koala.document.build import build_entities, build_steps
    from koala.files import read_text

    id = "stdin" if str(file) == "-" else file.stem
    procedure = Procedure(id, build_steps(read_text(file)), build_entities(names), question)
    if not names:
        procedure = add_entities([procedure])[0]
    if not procedure.entities:
        raise KoalaError("No entities worth tracking were found in the text; name one or more.")
    return procedure


def _name_model(model: str, others: dict[str, list["Attention"]]) -> str:
    """Name a run by its folder; by its whole path if another has the same name."""
    name = Path(model).name
    return model if name in others else name


def _guess_format(output: Path | None) -> AttentionFormat:
    suffix = output.suffix.removeprefix(".") if output else ""
    known = {each.value: each for each in AttentionFormat}
    return known.get(suffix, AttentionFormat.HTML)


Results = Annotated[
    Path, typer.Option("--results", metavar="DIR", help="Folder of pages, tables.toml and runs/.")
]


@app.command("record", epilog=RECORD_EXAMPLE)
def record_cli(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="Table file (TOML).")],
    runs: Annotated[
        Path | None,
        typer.Option(help="Folder of the runs; default: runs/CONFIG, as koala ablate names it."),
    ] = None,
    data: Data = None,
    folds: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="The runs of koala ablate --folds N.")
    ] = None,
    results: Results = Path("results"),
) -> None:
    """Put the finished runs of koala ablate into the results, one file each.

    The files hold the scores of single procedures, from which koala report
    paper draws its intervals.
    """
    from koala.cli.training import needs_training
    from koala.corpora import read_corpus

    _check_results(results)
    with needs_training():
        from koala.training.record import record_runs
        from koala.training.sweep import find_corpus_name, read_ablation

        ablation = read_ablation(config)
        corpus = find_corpus_name(ablation)
        folder = runs or name_folder(config, corpus)
        found = record_runs(
            ablation, read_corpus(find_corpus(data, corpus)), folder, results, n_folds=folds
        )
    if not found:
        raise KoalaError(f"{folder} holds no finished run of {config}. Run koala ablate first.")
    for path in found:
        write(str(path), None)


@app.command("tables", epilog=TABLES_EXAMPLE)
def tables_cli(
    results: Results = Path("results"),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a page is stale.")
    ] = False,
) -> None:
    """Rewrite the tables of all pages of results from the files of their runs."""
    _rewrite(results, None, check=check)


@app.command("paper", epilog=PAPER_EXAMPLE)
def paper_cli(
    results: Results = Path("results"),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if the page is stale.")
    ] = False,
) -> None:
    """Rewrite paper.md: the tables of the paper beside ours, figures, and a verdict on each claim.

    Everything comes from the files of runs; koala report record makes them.
    """
    if not check:
        _draw_figures(results)
    _rewrite(results, ["paper.md"], check=check)


def _draw_figures(results: Path) -> None:
    from koala.display.plots import draw_bars
    from koala.evaluation.report.figures import find_figures

    _check_results(results)
    for figure in find_figures(results):
        draw_bars(figure.bars, figure.path, title=figure.title, label=figure.label)


def _rewrite(results: Path, pages: list[str] | None, *, check: bool) -> None:
    from koala.evaluation.report.tables import rewrite_pages

    _check_results(results)
    changed = rewrite_pages(results, only=pages, check=check)
    for page in changed:
        typer.echo(f"{page}: {'stale' if check else 'rewritten'}", err=True)
    if changed and check:
        raise typer.Exit(1)


def _check_results(results: Path) -> None:
    from koala.evaluation.report.tables import TABLES

    if not (results / TABLES).is_file():
        raise KoalaError(
            f"{results} is no folder of results: it has no {TABLES}. Give one with --results."
        )
