"""Verdicts on the claims of a paper, computed from runs: reproduced, not shown, or contradicted.

A claim says that one row of a table of runs is better than another, such as KoaLa than KoaLa
without ConceptNet. It is *reproduced* if every seed of the first row is above every seed of the
second and the 95 % interval of the difference of their means, drawn by question, is above 0; it is
*contradicted* if both are below; else it is *not shown*.
"""

import statistics
from dataclasses import dataclass
from typing import Any

from koala.errors import KoalaError
from koala.evaluation.bootstrap import Comparison, compare_systems
from koala.evaluation.document import QUESTIONS, DocumentScores, average_processes
from koala.evaluation.report.runs import Run, find_values
from koala.evaluation.scores import PRF

REPRODUCED, NOT_SHOWN, CONTRADICTED = "reproduced", "not shown", "contradicted"

_HEAD = ("claim", "runs", "better", "than", "seeds", "difference", "95 % by question",
         "paper's difference (test)", "verdict")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison of two rows, and what it says about a claim."""

    ones: tuple[float, ...]
    """F1 of the seeds of the row that should be better."""
    others: tuple[float, ...]
    comparison: Comparison | None
    """None if a run has no scores of single procedures or too few questions."""

    @property
    def difference(self) -> float:
        """Difference of the mean F1."""
        return statistics.fmean(self.ones) - statistics.fmean(self.others)

    @property
    def word(self) -> str:
        """The verdict in a word."""
        found = self.comparison
        if found is None:
            return NOT_SHOWN
        if found.low > 0 and min(self.ones) > max(self.others):
            return REPRODUCED
        if found.high < 0 and max(self.ones) < min(self.others):
            return CONTRADICTED
        return NOT_SHOWN


def write_verdicts(table: dict[str, Any], runs: list[Run]) -> str:
    """Write the verdict on each claim in each group of runs that has both rows.

    `claims` has lists of a sentence, the model that should be better, and the other one. `names`
    gives a heading for each group.
    """
    lines = [_HEAD]
    for sentence, better, worse in table["claims"]:
        for group in table["groups"]:
            ones, others = (
                [run for run in runs if run["group"] == group and run["model"] == model]
                for model in (better, worse)
            )
            if ones and others:
                name = table.get("names", {}).get(group, group)
                lines.append((sentence, name, better, worse, *_write_verdict(ones, others)))
    if len(lines) == 1:
        return "*No run yet.*\n"
    rows = [lines[0], ("---",) * len(_HEAD), *lines[1:]]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def judge(ones: list[Run], others: list[Run]) -> Verdict:
    """Compare the runs of two rows."""
    first, second = (tuple(f1 for run in runs for f1 in _read_f1(run)) for runs in (ones, others))
    return Verdict(first, second, _compare(ones, others))


def _read_f1(run: Run) -> list[float]:
    """Give the F1 of a run; those of its seeds if the file is about several (`f1_seed0`)."""
    seeds = sorted(name for name in run["scores"] if name.startswith("f1_seed"))
    return [float(run["scores"][name]) for name in seeds or ["f1"]]


def _compare(ones: list[Run], others: list[Run]) -> Comparison | None:
    if not all(run.get("processes") for run in (*ones, *others)):
        return None
    first = ones[0]["processes"]
    questions = {id: str(scores["question"]) for id, scores in first.items()}
    try:
        return compare_systems(
            list(map(read_processes, ones)), list(map(read_processes, others)), questions=questions
        )
    except KoalaError:
        # Too few questions, or runs on different procedures: there is no interval.
        return None


def read_processes(run: Run) -> DocumentScores:
    """Read the scores of single procedures from a run."""
    per_process = {
        id: {name: PRF(*scores[name]) for name in QUESTIONS}
        for id, scores in run["processes"].items()
    }
    return DocumentScores(
        per_process, average_processes(per_process), run["name"], run["signature"]
    )


def _write_verdict(ones: list[Run], others: list[Run]) -> tuple[str, ...]:
    verdict = judge(ones, others)
    seeds = " against ".join(
        ", ".join(f"{value:.1f}" for value in each) for each in (verdict.ones, verdict.others)
    )
    found = verdict.comparison
    interval = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}" if found else "not drawn"
    paper = [find_values(runs, "paper_f1") for runs in (ones, others)]
    known = f"{paper[0][0] - paper[1][0]:+.1f}" if all(paper) else ""
    cells = (seeds, f"{verdict.difference:+.1f}", interval, known, f"**{verdict.word}**")
    return tuple(cell.replace("-", "−") for cell in cells)
