"""Tables of scores for the terminal."""

from typing import TYPE_CHECKING, Literal

from rich.table import Table

if TYPE_CHECKING:
    from koala.evaluation import PRF, Comparison, DocumentScores, RecipesScores, SentenceScores
    from koala.evaluation.changes import ChangeScore, ChangeScores

_NUMBER: Literal["right"] = "right"


def build_document_table(scores: "DocumentScores") -> Table:
    """Build the table of the four questions and their mean, with the leaderboard's 3 decimals."""
    table = Table(title=f"Document level, {len(scores.per_process)} procedures")
    table.add_column("question")
    for name in ("precision", "recall", "F1"):
        table.add_column(name, justify=_NUMBER)
    for name, score in scores.questions.items():
        table.add_row(name, *_three(score))
    table.add_section()
    table.add_row("overall", *_three(scores.overall), style="bold")
    return table


def build_process_table(scores: "DocumentScores") -> Table:
    """Build the table of precision / recall by procedure and question."""
    table = Table(title="Precision / recall of every procedure")
    table.add_column("procedure")
    for name in scores.questions:
        table.add_column(name, justify=_NUMBER)
    for id, questions in scores.per_process.items():
        table.add_row(id, *(f"{s.precision:.2f} / {s.recall:.2f}" for s in questions.values()))
    return table


def build_sentence_table(scores: "SentenceScores") -> Table:
    """Build the table of the ten questions and their categories, in percent."""
    names = {"published": "published labels", "grid": "leaderboard grid, ? counts"}
    table = Table(title=f"Sentence level ({names[scores.version]})")
    table.add_column("question")
    for name in ("asked", "accuracy", "precision", "recall", "F1"):
        table.add_column(name, justify=_NUMBER)
    for name, counts in scores.questions.items():
        rates = (counts.accuracy, counts.precision, counts.recall, counts.f1)
        table.add_row(name, f"{counts.total:,}", *(f"{rate:.2f}" for rate in rates))
    table.add_section()
    means = {**scores.categories, "macro-avg": scores.macro, "micro-avg": scores.micro}
    for name, value in means.items():
        table.add_row(name, "", f"{value:.2f}", style="bold")
    return table


def build_changes_table(scores: "ChangeScores") -> Table:
    """Build the table of changes, changes with their location, and cells: by field and overall."""
    table = Table(title=f"Changes, {scores.overall.procedures} procedures")
    table.add_column("field")
    columns = ("n", "changes F1", "located P", "R", "F1", "95 %", "cells")
    for name in columns:
        table.add_column(name, justify=_NUMBER)
    for name, score in scores.fields.items():
        table.add_row(name, *_describe_changes(score))
    if scores.fields:
        table.add_section()
    table.add_row("all", *_describe_changes(scores.overall), style="bold")
    return table


def _describe_changes(score: "ChangeScore") -> tuple[str, ...]:
    low, high = score.located_interval
    return (
        str(score.procedures),
        f"{score.actions.f1:.3f}",
        *_three(score.located),
        f"{low:.2f}–{high:.2f}",
        f"{score.cells:.3f}",
    )


def build_recipes_table(scores: "RecipesScores") -> Table:
    """Build the table of the location-change score."""
    table = Table(title="Recipes, location changes")
    for name in ("precision", "recall", "F1", "correct", "predicted", "gold"):
        table.add_column(name, justify=_NUMBER)
    counts = (scores.correct, scores.predicted, scores.gold)
    table.add_row(*_three(scores.overall), *(f"{count:,}" for count in counts))
    return table


def describe_comparison(comparison: "Comparison") -> str:
    """Describe the F1 difference of two systems and its interval in one sentence."""
    low, high = comparison.low, comparison.high
    verdict = "significant" if low > 0 or high < 0 else "not significant"
    return (
        f"F1 difference {100 * comparison.f1_difference:+.1f} "
        f"(95 % interval {100 * low:+.1f} to {100 * high:+.1f}, "
        f"{comparison.samples:,} paired bootstrap samples drawn by {comparison.drawn_by}, "
        f"{comparison.drawn} of them): {verdict}."
    )


def _three(score: "PRF") -> tuple[str, str, str]:
    values = score.to_dict(digits=3)
    return (f"{values['precision']:.3f}", f"{values['recall']:.3f}", f"{values['f1']:.3f}")
