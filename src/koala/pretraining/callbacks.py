"""What happens beside training: new masks every epoch, a time limit, a log, progress."""

# The Trainer hands every callback the same arguments, whichever it needs.
# ruff: noqa: ANN401, ARG002

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from koala.files import read_text, write_text
from koala.pretraining.batches import MaskedDataset
from koala.pretraining.head import MaskedLanguageModel
from koala.pretraining.masking import Masked
from koala.pretraining.perplexity import measure_perplexity

Tell = Callable[[str], None]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log: where training is, and how good."""

    stage: str
    """head or encoder."""
    epoch: float
    """Epochs done; 0 is before the first, a fraction where a limit has stopped training."""
    step: int
    loss: float | None
    """Mean over the epoch, or over its part after a resume."""
    perplexity: dict[str, float]
    seconds: float | None
    """Of training, without measuring."""
    subwords_per_second: float | None


class NewMasks(TrainerCallback):
    """Tells the examples which epoch it is."""

    def __init__(self, dataset: MaskedDataset) -> None:
        self.dataset = dataset

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Count epochs by batches, which a resumed run has right, too."""
        self.dataset.epoch = state.global_step // len(rest["train_dataloader"])


class TimeLimit(TrainerCallback):
    """Stops after some minutes; stopping ends the epoch, and its end is saved."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        """In seconds of `time.monotonic`."""
        self.has_struck = False

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Stop if it is time; the first process decides, as clocks differ."""
        is_late = torch.tensor(int(time.monotonic() >= self.deadline), device=args.device)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.broadcast(is_late, src=0)
        if is_late.item() and state.global_step < state.max_steps:
            self.has_struck = True
            control.should_training_stop = True


class ShowProgress(TrainerCallback):
    """Tells how many batches of how many are done."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Tell it after every batch."""
        if state.is_world_process_zero:
            self.progress(state.global_step, state.max_steps)


class Log(TrainerCallback):
    """Measures perplexity before the first and after every epoch, and writes a line."""

    def __init__(
        self,
        path: Path,
        stage: str,
        probes: Mapping[str, Sequence[Masked]],
        *,
        pad: int,
        subwords_per_step: float,
        tell: Tell,
    ) -> None:
        self.path = path
        self.stage = stage
        self.probes = probes
        self.pad = pad
        self.subwords_per_step = subwords_per_step
        self.tell = tell
        self._start = (0, 0.0)
        self._seconds = 0.0

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Write the line before training."""
        if state.is_world_process_zero and state.global_step == 0:
            perplexity = self._measure(rest["model"])
            self._write(Line(self.stage, 0.0, 0, None, perplexity, None, None))

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Start the clock."""
        self._start = (state.global_step, time.monotonic())

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Stop the clock."""
        self._seconds = time.monotonic() - self._start[1]

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Write the line of an epoch; it comes before the checkpoint."""
        logs: Mapping[str, float] = rest["logs"]
        if not state.is_world_process_zero or "loss" not in logs:
            return
        n_subwords = (state.global_step - self._start[0]) * self.subwords_per_step
        self._write(
            Line(
                self.stage,
                epoch=round(state.epoch or 0.0, 4),
                step=state.global_step,
                loss=logs["loss"],
                perplexity=self._measure(rest["model"]),
                seconds=round(self._seconds, 2),
                subwords_per_second=round(n_subwords / max(self._seconds, 1e-9), 1),
            )
        )

    def _measure(self, model: MaskedLanguageModel) -> dict[str, float]:
        return {
            name: measure_perplexity(model, examples, pad=self.pad)
            for name, examples in self.probes.items()
        }

    def _write(self, line: Line) -> None:
        # What a killed run wrote after its last checkpoint is done again: those lines go.
        kept = [old for old in read_log(self.path) if _is_before(old, line)]
        write_text(self.path, "".join(json.dumps(asdict(each)) + "\n" for each in [*kept, line]))
        self.tell(_describe(line))


def read_log(path: Path) -> list[Line]:
    """Read the log of a run; none is an empty one."""
    if not path.is_file():
        return []
    return [Line(**json.loads(line)) for line in read_text(path).splitlines()]


def _is_before(old: Line, new: Line) -> bool:
    return old.step < new.step if old.stage == new.stage else old.stage == "head"


def _describe(line: Line) -> str:
    parts = [f"{line.stage}, epoch {line.epoch:g}:"]
    parts += [] if line.loss is None else [f"loss {line.loss:.3f},"]
    parts += [f"perplexity {value:.2f} ({name})," for name, value in line.perplexity.items()]
    parts += [] if line.seconds is None else [f"{line.seconds:.0f} s,"]
    return " ".join(parts).rstrip(",:")
