"""`koala pretrain`: the two language-model stages before the tracker is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from koala.cli.corpus import find_corpus
from koala.cli.output import is_main
from koala.cli.progress import show_progress
from koala.cli.training import main_first, needs_training, tell

if TYPE_CHECKING:
    from koala.encoders.tokenizer import SubwordTokenizer
    from koala.knowledge.triple import Triple
    from koala.pretraining.masking import Example
    from koala.settings.pretraining import PretrainingSettings

app = typer.Typer(
    no_args_is_help=True,
    help="Fine-tune an encoder as a masked language model, before the tracker is trained.",
    rich_markup_mode="rich",
    epilog="Example: koala pretrain text configs/pretraining/text-minilm.toml --corpus wiki.jsonl "
    "-o runs/text",
)

Probes = dict[str, "Sequence[Example]"]

_Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="Settings file (TOML).")]
_Dev = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder of a corpus: also measure perplexity on the texts of its dev."
    ),
]
_Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", help="Folder for log and weights; default: `output` in the settings."
    ),
]
_Resume = Annotated[bool, typer.Option("--resume", help="Continue the run in the folder.")]
_Seed = Annotated[int | None, typer.Option(min=0, help="Override the seed of the settings.")]
_Minutes = Annotated[
    float | None,
    typer.Option(min=0.0, help="Save and stop after this time; --resume continues the run."),
]


@app.command(
    "text",
    epilog="Example: koala pretrain text configs/pretraining/text-minilm.toml --corpus wiki.jsonl "
    "--dev propara/ -o runs/text-minilm",
)
def text_cli(
    config: _Config,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Paragraphs from `koala wikipedia retrieve`; default: `paragraphs` in the "
            "settings.",
        ),
    ] = None,
    output: _Output = None,
    dev: _Dev = None,
    resume: _Resume = False,
    seed: _Seed = None,
    max_minutes: _Minutes = None,
) -> None:
    """Train on masked nouns and verbs of retrieved paragraphs (section 5.1 of the paper)."""
    from koala.pretraining.examples import read_paragraphs
    from koala.pretraining.tagged import find_text_examples

    settings = _read_settings(config, "text", seed, max_minutes)
    output = _choose(output, settings.output, config, "output", "-o")
    corpus = _choose(corpus, settings.paragraphs, config, "paragraphs", "--corpus")
    subwords = _load_subwords(settings)
    texts = read_paragraphs(corpus)
    # The main process tags the paragraphs and caches them in the folder for the others.
    with main_first(), show_progress("Tagging paragraphs") as progress:
        examples = find_text_examples(
            output, texts, subwords, longest=settings.longest, progress=progress
        )
    tell(f"{len(texts):,} paragraphs, {sum(len(e.subwords) for e in examples):,} subwords.")
    _run(settings, subwords, examples, _build_dev_probe(dev, subwords, settings), output, resume)


@app.command(
    "triples",
    epilog="Example: koala pretrain triples configs/pretraining/triples-minilm.toml "
    "--triples triples.tsv -o runs/triples-minilm",
)
def triples_cli(
    config: _Config,
    output: _Output = None,
    triples: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Triples to train on: a TSV of head, relation and tail, or a whole store "
            "(.store).",
        ),
    ] = None,
    procedures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Instead of --triples: folder of a corpus; train on the triples retrieved for its "
            "entities. Default: $KOALA_DATA/propara.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(help="Store that --procedures retrieves from; default: the bundled one."),
    ] = None,
    dev: _Dev = None,
    resume: _Resume = False,
    seed: _Seed = None,
    max_minutes: _Minutes = None,
) -> None:
    """Train on masked heads, relations and tails of triples (section 5.2 of the paper)."""
    from koala.pretraining.examples import build_triple_examples, hold_out

    settings = _read_settings(config, "triples", seed, max_minutes)
    output = _choose(output, settings.output, config, "output", "-o")
    if triples is None and procedures is None:
        procedures = find_corpus(None, "propara", option="--procedures")
    subwords = _load_subwords(settings)
    known = _find_triples(triples, procedures, store)
    learned, held = hold_out(known, settings.held_out, seed=settings.seed)
    examples = build_triple_examples(learned, subwords)
    tell(f"{len(learned):,} triples make {len(examples):,} instances; {len(held):,} held out.")
    probes = _build_dev_probe(dev, subwords, settings)
    if held:
        probes["held-out triples"] = build_triple_examples(held, subwords)
    _run(settings, subwords, examples, probes, output, resume)


def _read_settings(
    config: Path, stage: str, seed: int | None, max_minutes: float | None
) -> "PretrainingSettings":
    from koala.errors import FileError
    from koala.settings.pretraining import read_pretraining_settings

    settings = read_pretraining_settings(config)
    if settings.stage != stage:
        raise FileError(
            config,
            f"these settings are for stage {settings.stage!r}, not {stage!r}. Run: koala pretrain "
            f"{settings.stage}",
        )
    if seed is not None:
        settings = replace(settings, seed=seed)
    return settings if max_minutes is None else replace(settings, max_minutes=max_minutes)


def _choose(given: Path | None, named: str, config: Path, setting: str, option: str) -> Path:
    """Give the path from the command line, or else the one in the settings."""
    from koala.errors import FileError

    if given is None and not named:
        raise FileError(config, f"has no setting {setting!r}. Add it, or give {option}.")
    return given or Path(named)


def _load_subwords(settings: "PretrainingSettings") -> "SubwordTokenizer":
    from koala.encoders.tokenizer import SubwordTokenizer
    from koala.encoders.weights import find_weights

    return SubwordTokenizer(find_weights(settings.encoder))


def _build_dev_probe(
    dev: Path | None, subwords: "SubwordTokenizer", settings: "PretrainingSettings"
) -> Probes:
    if dev is None:
        return {}
    from koala.corpora import read_corpus
    from koala.pretraining.examples import build_text_examples

    procedures = [example.procedure for example in read_corpus(dev).take("dev")]
    texts = [" ".join(step.text for step in procedure.steps) for procedure in procedures]
    examples = build_text_examples(texts, subwords, longest=settings.longest)
    return {"nouns and verbs of dev": examples}


def _find_triples(
    triples: Path | None, procedures: Path | None, store: Path | None
) -> "list[Triple]":
    from koala.errors import KoalaError
    from koala.knowledge.store import Store
    from koala.pretraining.examples import read_triples

    if triples is not None and procedures is not None:
        raise KoalaError(
            "Give --triples (a file of triples) or --procedures (a corpus to retrieve them for), "
            "not both."
        )
    if procedures is not None:
        return _retrieve_triples(procedures, store)
    if triples is not None and triples.suffix == ".store":
        with Store.open(triples) as opened:
            return list(opened)
    return read_triples(str(triples))


def _retrieve_triples(folder: Path, store: Path | None) -> "list[Triple]":
    """Retrieve triples for every entity of a corpus, each triple once.

    All splits are used: retrieval reads texts and entity names, not gold grids.
    """
    from koala.corpora import read_corpus
    from koala.document import annotate
    from koala.knowledge.retrieval import retrieve_triples

    splits = read_corpus(folder).splits
    procedures = annotate([example.procedure for split in splits.values() for example in split])
    with main_first(), show_progress("Retrieving triples") as progress:
        found = retrieve_triples(procedures, store=store, progress=progress)
    triples = (triple for groups in found for group in groups for triple in group)
    distinct = {(t.head, t.relation, t.tail): t for t in triples}
    return list(distinct.values())


def _run(
    settings: "PretrainingSettings",
    subwords: "SubwordTokenizer",
    examples: "Sequence[Example]",
    probes: "Mapping[str, Sequence[Example]]",
    output: Path,
    resume: bool,
) -> None:
    with needs_training():
        from koala.pretraining.language_model import StageData, pretrain
        from koala.pretraining.perplexity import mask_in_parts
        from koala.training.distributed import give_memory_back

        give_memory_back()
        masked = {name: mask_in_parts(some, subwords.mask) for name, some in probes.items()}
        with show_progress("Training") as progress:
            outcome = pretrain(
                settings,
                StageData(examples, masked),
                output,
                resume=resume,
                progress=progress,
                tell=tell,
            )
    if not outcome.is_finished:
        tell("Time is up; the run is saved. Run the same command with --resume to continue.")
    if is_main():
        typer.echo(outcome.folder)
