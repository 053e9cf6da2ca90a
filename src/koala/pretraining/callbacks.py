"""Callbacks of training: new masks in every epoch, time limit, log, progress."""

# The Trainer passes the same arguments to every callback.
# ruff: noqa: ANN401, ARG002

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from koala.files import read_jsonl, write_text
from koala.pretraining.batches import MaskedDataset
from koala.pretraining.head import MaskedLanguageModel
from koala.pretraining.masking import Masked
from koala.pretraining.perplexity import measure_perplexity

Tell = Callable[[str], None]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log."""

    stage: str
    """head or encoder."""
    epoch: float
    """Finished epochs; 0: before the first; a fraction if a limit stopped training."""
    step: int
    loss: float | None
    """Mean over the epoch, or over its part after a resume."""
    perplexity: dict[str, float]
    """By the name of the data it is measured on."""
    seconds: float | None
    """Time of training in this epoch, without measuring perplexity."""
    subwords_per_second: float | None


class NewMasks(TrainerCallback):
    """Sets the epoch of the dataset, which determines its masks."""

    def __init__(self, dataset: MaskedDataset) -> None:
        self.dataset = dataset

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Compute the epoch from the number of batches, which is also correct after a resume."""
        self.dataset.epoch = state.global_step // len(rest["train_dataloader"])


class TimeLimit(TrainerCallback):
    """Stops training at a deadline; the Trainer then ends the epoch and writes a checkpoint."""

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        """In seconds of `time.monotonic`."""
        self.is_reached = False

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Stop after the deadline; the first process decides, because clocks differ."""
        is_late = torch.tensor(int(time.monotonic() >= self.deadline), device=args.device)
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.broadcast(is_late, src=0)
        if is_late.item() and state.global_step < state.max_steps:
            self.is_reached = True
            control.should_training_stop = True


class ShowProgress(TrainerCallback):
    """Reports the number of finished batches and of all batches."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **rest: Any
    ) -> None:
        """Report after every batch."""
        if state.is_world_process_zero:
            self.progress(state.global_step, state.max_steps)


class Log(TrainerCallback):
    """Measures perplexity before the first and after every epoch, and writes a line each time."""

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
            self._write(LogLine(self.stage, 0.0, 0, None, perplexity, None, None))

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
        """Write the line of an epoch, before the Trainer writes its checkpoint."""
        logs: Mapping[str, float] = rest["logs"]
        if not state.is_world_process_zero or "loss" not in logs:
            return
        n_subwords = (state.global_step - self._start[0]) * self.subwords_per_step
        self._write(
            LogLine(
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

    def _write(self, line: LogLine) -> None:
        # A resumed run repeats what was done after the last checkpoint: drop the lines of that.
        earlier = [old for old in read_log(self.path) if _is_before(old, line)]
        lines = [json.dumps(asdict(each)) + "\n" for each in [*earlier, line]]
        write_text(self.path, "".join(lines))
        self.tell(_describe(line))


def read_log(path: Path) -> list[LogLine]:
    """Read the log of a run; return an empty list if there is no file."""
    if not path.is_file():
        return []
    return [LogLine(**line) for _, line in read_jsonl(path)]


def _is_before(old: LogLine, new: LogLine) -> bool:
    return old.step < new.step if old.stage == new.stage else old.stage == "head"


def _describe(line: LogLine) -> str:
    parts = [f"{line.stage}, epoch {line.epoch:g}:"]
    parts += [] if line.loss is None else [f"loss {line.loss:.3f},"]
    parts += [f"perplexity {value:.2f} ({name})," for name, value in line.perplexity.items()]
    parts += [] if line.seconds is None else [f"{line.seconds:.0f} s,"]
    return " ".join(parts).rstrip(",:")
