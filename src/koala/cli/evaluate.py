"""`koala evaluate`: official scores of predictions."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from koala.cli.output import show, write_json
from koala.errors import KoalaError

if TYPE_CHECKING:
    from collections.abc import Collection

    from rich.console import RenderableType

    from koala.evaluation import Comparison, DocumentScores, RecipesScores, SentenceScores
    from koala.grid import Grid

EXAMPLE = "Example: koala evaluate mine.tsv --gold answers.tsv --compare baseline.tsv"


class Level(StrEnum):
    """Which ProPara evaluation to run."""

    DOCUMENT = "document"
    SENTENCE = "sentence"
    BOTH = "both"
    CHANGES = "changes"


def evaluate_cli(
    predictions: Annotated[
        Path,
        typer.Argument(
            metavar="PREDICTIONS",
            help="Leaderboard TSV, Recipes JSON lines or koala's JSON lines; - is stdin.",
        ),
    ],
    gold: Annotated[
        Path,
        typer.Option(
            metavar="ANSWERS",
            help="Gold grids, in any of these formats, or a folder of koala's own corpus.",
        ),
    ],
    level: Annotated[
        Level | None,
        typer.Option(
            help="document, sentence: the two official evaluations of ProPara. changes: precision, "
            "recall and F1 of changes, with and without their locations, by field of koala's own "
            "corpus. Default: document, or both if --labels is given."
        ),
    ] = None,
    found: Annotated[
        bool,
        typer.Option(
            "--found",
            help="With --level changes: the predicted entities were found in the text, not given; "
            "match them to gold by head nouns.",
        ),
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the published sentence-level labels."),
    ] = None,
    per_process: Annotated[
        bool, typer.Option(help="Also print the scores of every procedure.")
    ] = False,
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="OTHER",
            help="Predictions of another system: test the F1 difference by paired bootstrap. Whole "
            "questions are drawn where they are known, else single procedures.",
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            "--prompts",
            metavar="FILE",
            help="With --compare: ProPara's Paragraphs.csv, which has the question of every "
            "paragraph. Default: that of the ProPara folder that ANSWERS is in.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Score predictions: ProPara exactly as its leaderboard does, Recipes by location changes."""
    from koala.corpora.formats import Format, detect_format, read_any_grids

    if str(gold) == "-" or str(compare) == "-":
        raise KoalaError("Only the predictions can be read from stdin; give files for the others.")
    if found and level != Level.CHANGES:
        raise KoalaError("--found needs --level changes. Add that, or omit --found.")
    if questions and not compare:
        raise KoalaError("--questions needs --compare, whose interval it is for.")
    format = detect_format(gold)
    predicted_grids = read_any_grids(predictions, is_scored=True)
    gold_grids = read_any_grids(gold, is_scored=True)
    if level == Level.CHANGES:
        if labels or compare or per_process:
            raise KoalaError(
                "--level changes does not take --labels, --compare or --per-process. Omit them, or "
                "choose another level."
            )
        _report_changes(predicted_grids, gold_grids, as_json, has_found_entities=found)
        return
    if format == Format.RECIPES:
        if level or labels or compare or per_process:
            raise KoalaError(
                "The gold grids are of Recipes, which has one score. Omit --level, --labels, "
                "--compare and --per-process, which are for ProPara."
            )
        _report_recipes(predicted_grids, gold_grids, as_json)
        return
    wanted = level or (Level.BOTH if labels else Level.DOCUMENT)
    if labels and wanted == Level.DOCUMENT:
        raise KoalaError("--labels needs the sentence level; use --level sentence or both.")
    if (compare or per_process) and wanted == Level.SENTENCE:
        raise KoalaError(
            "--compare and --per-process need the document level; use --level document or both."
        )
    report = score_propara(
        predicted_grids,
        gold_grids,
        level=wanted,
        labels=labels,
        compare=read_any_grids(compare, is_scored=True) if compare else None,
        questions=find_topics(gold, gold_grids, questions) if compare else None,
    )
    if as_json:
        write_json(report.to_dict())
    else:
        show(*report.render(per_process=per_process))


class Report:
    """ProPara scores at one or both levels, with an optional comparison."""

    def __init__(self) -> None:
        self.document: DocumentScores | None = None
        self.sentence: SentenceScores | None = None
        self.comparison: Comparison | None = None

    @property
    def signature(self) -> str:
        """The signatures of all scores: version, corpus size and settings of each."""
        parts = (self.document, self.comparison, self.sentence)
        return " ".join(part.signature for part in parts if part is not None)

    def to_dict(self) -> dict[str, Any]:
        """Give plain values in the layout of the `official-scores.json` files."""
        value: dict[str, Any] = {}
        if self.document:
            value["document"] = self.document.to_dict()
        if self.sentence:
            value["sentence"] = self.sentence.to_dict()
        if self.comparison:
            value["compare"] = self.comparison.to_dict()
        return {**value, "signature": self.signature}

    def render(self, *, per_process: bool) -> list["RenderableType"]:
        """Build the tables for the terminal."""
        from koala.cli import scores

        parts: list[RenderableType] = []
        if self.document:
            parts.append(scores.build_document_table(self.document))
            if per_process:
                parts.append(scores.build_process_table(self.document))
        if self.comparison:
            parts.append(scores.describe_comparison(self.comparison))
        if self.sentence:
            parts.append(scores.build_sentence_table(self.sentence))
        return [*parts, self.signature]


def score_propara(
    predicted: dict[str, "Grid"],
    gold: dict[str, "Grid"],
    *,
    level: Level,
    labels: Path | None = None,
    compare: dict[str, "Grid"] | None = None,
    questions: dict[str, str] | None = None,
) -> Report:
    """Score predictions at the requested levels; compare them with others if given.

    `questions` has the question of every procedure, by which the comparison then draws.
    """
    from koala.evaluation import compare_documents, score_document, score_sentence
    from koala.evaluation.labels import read_labels

    report = Report()
    if level != Level.SENTENCE:
        report.document = score_document(predicted, gold)
    if report.document and compare is not None:
        try:
            other = score_document(compare, gold)
        except KoalaError as error:
            raise KoalaError(f"--compare: {error}") from None
        report.comparison = compare_documents(report.document, other, questions=questions)
    if level != Level.DOCUMENT:
        published = read_labels(labels, gold) if labels else None
        report.sentence = score_sentence(predicted, gold, published)
    return report


def find_topics(
    gold: Path, ids: "Collection[str]", given: Path | None = None
) -> dict[str, str] | None:
    """Find the question of every scored procedure.

    The file is the given one, or that of the ProPara folder that the gold grids are in. Without a
    given file, the answer is None unless all questions are known and are enough to draw from.
    """
    from koala.corpora.corpus import name_topic
    from koala.corpora.propara import find_questions, read_questions
    from koala.evaluation.bootstrap import LEAST

    path = given or find_questions(gold)
    if path is None:
        return None
    known = read_questions(path)
    topics = {id: name_topic(known[id]) for id in ids if known.get(id)}
    if given is None and (len(topics) < len(ids) or len(set(topics.values())) < LEAST):
        return None
    return topics


def _report_changes(
    predicted: dict[str, "Grid"],
    gold: dict[str, "Grid"],
    as_json: bool,
    *,
    has_found_entities: bool,
) -> None:
    from koala.cli.scores import build_changes_table
    from koala.evaluation.changes import score_changes

    scores = score_changes(predicted, gold, has_found_entities=has_found_entities)
    if as_json:
        write_json({"changes": scores.to_dict(), "signature": scores.signature})
    else:
        show(build_changes_table(scores), scores.signature)


def _report_recipes(predicted: dict[str, "Grid"], gold: dict[str, "Grid"], as_json: bool) -> None:
    from koala.cli.scores import build_recipes_table
    from koala.evaluation import score_recipes

    scores: RecipesScores = score_recipes(predicted, gold)
    if as_json:
        write_json({"recipes": scores.to_dict(), "signature": scores.signature})
    else:
        show(build_recipes_table(scores), scores.signature)
