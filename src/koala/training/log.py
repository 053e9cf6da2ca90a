"""The log of a training run: one line for each epoch, with losses on train and scores on dev."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from koala.files import read_jsonl, write_text

LOG = "log.jsonl"
"""Name of the file in the folder of a run."""

_OLD_NAMES = {"dev_tags": "tag_nll", "dev_places": "location_nll", "expected_f1": "mbr_f1"}
"""Names in the logs of earlier versions."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """One line of a training log: losses on train, scores on dev."""

    epoch: int
    loss: float
    """Weighted sum of the three losses, mean over the batches."""
    state_loss: float
    location_loss: float
    attention_loss: float
    precision: float
    """Precision, recall and F1 of Viterbi decoding on dev."""
    recall: float
    f1: float
    seconds: float
    """Training time."""
    evaluation_seconds: float
    tag_nll: float | None = None
    """Mean NLL of the gold tags of dev; less noisy than F1 on 43 procedures."""
    location_nll: float | None = None
    """Mean NLL of the gold locations of dev."""
    mbr_f1: float | None = None
    """F1 of MBR decoding on dev; only if it selects the epoch."""

    @property
    def choice(self) -> float:
        """The dev F1 by which the best epoch is selected."""
        return self.f1 if self.mbr_f1 is None else self.mbr_f1


def read_log(path: Path) -> list[Epoch]:
    """Read the log of a run; a run without a log has no epochs yet."""
    if not path.is_file():
        return []
    return [
        Epoch(**{_OLD_NAMES.get(name, name): value for name, value in line.items()})
        for _, line in read_jsonl(path)
    ]


def add_to_log(line: Epoch, path: Path) -> None:
    """Add an epoch to a log.

    After a kill between log and checkpoint the epoch runs again: its first line is replaced.
    """
    lines = [old for old in read_log(path) if old.epoch < line.epoch]
    write_text(path, "".join(json.dumps(asdict(each)) + "\n" for each in [*lines, line]))


def describe_epoch(line: Epoch, *, is_selected: bool) -> str:
    """Describe an epoch in a line for the terminal; a star marks the selected one."""
    return (
        f"epoch {line.epoch:2}  loss {line.loss:.3f} (state {line.state_loss:.3f}, "
        f"location {line.location_loss:.3f}, attention {line.attention_loss:.3f})  "
        f"dev P {line.precision:.3f} R {line.recall:.3f} F1 {line.f1:.3f}"
        f"{f' MBR F1 {line.mbr_f1:.3f}' if line.mbr_f1 is not None else ''}"
        f"  tag NLL {line.tag_nll or 0:.3f}  location NLL {line.location_nll or 0:.3f}"
        f"{' *' if is_selected else ''}  {line.seconds:.0f} s"
    )
