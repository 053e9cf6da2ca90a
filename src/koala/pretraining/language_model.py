"""One language-model stage, of text or of triples: a head first where there is none, then all.

A stage lives in a folder. While it runs: `settings.toml`, `data.json`, `log.jsonl` and
`checkpoints/`. What it gives: the encoder as the public ones are (`config.json`, `tokenizer.json`,
`model.safetensors`, …), so that `encoder.weights` in a tracker's settings may name the folder, and
its head beside (`head.safetensors`).
"""

import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from koala.encoders.tokenizer import SubwordTokenizer
from koala.encoders.weights import CHECKPOINTS, WEIGHTS, find_weights
from koala.errors import FileError, KoalaError
from koala.files import read_text, write_text
from koala.network.torch.transformer import without_bars
from koala.pretraining.batches import (
    LengthSampler,
    MaskedDataset,
    SharedBatches,
    collate,
    fingerprint,
)
from koala.pretraining.callbacks import (
    Line,
    Log,
    NewMasks,
    Progress,
    ShowProgress,
    Tell,
    TimeLimit,
    read_log,
)
from koala.pretraining.examples import build_replacement
from koala.pretraining.head import (
    HEAD,
    MaskedLanguageModel,
    load_language_model,
    save_head,
)
from koala.pretraining.masking import Example, Masked, TripleMasking, WordMasking
from koala.settings.pretraining import HeadSettings, PretrainingSettings
from koala.training.distributed import Processes

SETTINGS, DATA, LOG = "settings.toml", "data.json", "log.jsonl"
_PUBLIC_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
"""Taken over as they are: a tracker has its own dropout, not that of this stage."""


@dataclass(frozen=True, slots=True)
class StageData:
    """Examples to learn from, and masked ones to measure on."""

    examples: Sequence[Example]
    probes: Mapping[str, Sequence[Masked]]
    """What perplexity is measured on, by name; may be empty."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run has ended."""

    folder: Path
    is_finished: bool
    """False: the time limit came first; a resumed run goes on."""
    log: tuple[Line, ...]


class LanguageModelTrainer(Trainer):
    """transformers' Trainer for a model that gives the loss of every guess."""

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], *_: object, **__: object
    ) -> Tensor:
        """Give the mean over the pieces to guess, 0 where a batch has none.

        Several processes average what each gives here: all guesses of a batch count the same.
        """
        losses: Tensor = model(**inputs)
        processes = Processes()
        n_guesses = processes.sum(torch.tensor(losses.numel(), device=losses.device))
        return losses.sum() * processes.n / max(int(n_guesses), 1)

    def get_train_dataloader(self) -> DataLoader[Masked]:
        """Batches of about equal length, whose order and masks depend on seed and epoch alone."""
        dataset = self.train_dataset
        if not isinstance(dataset, MaskedDataset):
            raise TypeError(dataset)
        processes = Processes()
        sampler = LengthSampler(dataset, batch=self.args.per_device_train_batch_size * processes.n)
        # Shared out here: accelerate would fill the last batch up with examples seen before.
        batches = SharedBatches(sampler, index=processes.index, n_processes=processes.n)
        return DataLoader(dataset, batch_sampler=batches, collate_fn=self.data_collator)


def pretrain(
    settings: PretrainingSettings,
    data: StageData,
    folder: Path,
    *,
    resume: bool = False,
    progress: Progress = lambda _done, _total: None,
    tell: Tell = lambda _: None,
) -> Outcome:
    """Run a stage, or go on with one; the outcome of both is the same."""
    started = time.monotonic()
    if not data.examples:
        raise KoalaError("There are no examples to learn from.")
    source = find_weights(settings.encoder)
    processes = Processes()
    with processes.main_first():
        _open_folder(folder, settings, data, resume=resume)
    if (folder / WEIGHTS).is_file() and not (folder / CHECKPOINTS).is_dir():
        tell(f"{folder} is finished already.")
        return Outcome(folder, True, tuple(read_log(folder / LOG)))
    model, has_head = load_language_model(
        source, seed=settings.seed, dropout=settings.dropout, precision=settings.precision
    )
    stage = _Stage(settings, data, folder, source, progress=progress, tell=tell, started=started)
    is_finished = has_head or stage.train_head(model)
    if is_finished:
        is_finished = stage.train_all(model)
        if processes.is_main:
            save_encoder(model, folder, source)
            if is_finished:
                shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    processes.wait()
    return Outcome(folder, is_finished, tuple(read_log(folder / LOG)))


class _Stage:
    """The two steps of a stage: the head alone, then everything."""

    def __init__(
        self,
        settings: PretrainingSettings,
        data: StageData,
        folder: Path,
        source: Path,
        *,
        progress: Progress,
        tell: Tell,
        started: float,
    ) -> None:
        self.settings = settings
        self.data = data
        self.folder = folder
        self.subwords = SubwordTokenizer(source)
        self.progress = progress
        self.tell = tell
        self.started = started

    def train_head(self, model: MaskedLanguageModel) -> bool:
        """Train the head with the encoder frozen, so that "before" means something."""
        model.freeze_encoder(True)
        is_finished = self._run("head", model, self.settings.head)
        model.freeze_encoder(False)
        return is_finished

    def train_all(self, model: MaskedLanguageModel) -> bool:
        """Fine-tune encoder and head."""
        settings = self.settings
        steps = HeadSettings(settings.epochs, settings.learning_rate, settings.max_steps)
        return self._run("encoder", model, steps)

    def _run(self, name: str, model: MaskedLanguageModel, steps: HeadSettings) -> bool:
        settings = self.settings
        dataset = MaskedDataset(self.data.examples, self._build_masking(), seed=settings.seed)
        args = _build_arguments(settings, steps, self.folder / CHECKPOINTS / name)
        log = Log(
            self.folder / LOG,
            name,
            self.data.probes,
            pad=self.subwords.pad,
            subwords_per_step=settings.batch * dataset.n_subwords / len(dataset),
            tell=self.tell,
        )
        callbacks: list[TrainerCallback] = [NewMasks(dataset), log, ShowProgress(self.progress)]
        minutes = settings.max_minutes
        deadline = self.started + minutes * 60 if minutes is not None else float("inf")
        callbacks.append(limit := TimeLimit(deadline))
        trainer = LanguageModelTrainer(
            model=model,
            args=args,
            train_dataset=dataset,
            data_collator=partial(collate, pad=self.subwords.pad),
            callbacks=callbacks,
        )
        # Nothing goes to stdout; progress and the log are callbacks of ours.
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=find_checkpoint(Path(str(args.output_dir))))
        return not limit.has_struck

    def _build_masking(self) -> WordMasking | TripleMasking:
        masking = self.settings.masking
        replacement = build_replacement(self.subwords, masking)
        if self.settings.stage == "text":
            return WordMasking(replacement, masking.probability)
        return TripleMasking(replacement)


def _build_arguments(
    settings: PretrainingSettings, steps: HeadSettings, folder: Path
) -> TrainingArguments:
    processes = Processes()
    if settings.batch % processes.n:
        raise KoalaError(
            f"batch is {settings.batch}; a multiple of the {processes.n} processes was expected."
        )
    return TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=settings.batch // processes.n,
        num_train_epochs=steps.epochs,
        max_steps=-1 if steps.max_steps is None else steps.max_steps,
        learning_rate=steps.learning_rate,
        lr_scheduler_type="linear",
        optim="adamw_torch_fused",
        save_strategy="epoch",
        save_total_limit=1,
        logging_strategy="epoch",
        seed=settings.seed,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=processes.device.type == "cpu",
        ddp_find_unused_parameters=False,
    )


def find_checkpoint(folder: Path) -> str | None:
    """Find the last whole checkpoint: one whose last file is there."""
    whole = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json")]
    best = max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
    return None if best is None else str(best)


def save_encoder(model: MaskedLanguageModel, folder: Path, source: Path) -> None:
    """Write an encoder as the public ones are, all but its weights from where it came."""
    encoder: Any = model.encoder
    with tempfile.TemporaryDirectory(dir=folder, prefix=".weights.") as temporary:
        with without_bars():
            encoder.save_pretrained(temporary)
        for name in _PUBLIC_FILES:
            if (source / name).is_file():
                shutil.copyfile(source / name, Path(temporary, name))
        for path in sorted(Path(temporary).iterdir()):
            path.replace(folder / path.name)
    save_head(model.head, folder / HEAD)


def _open_folder(
    folder: Path, settings: PretrainingSettings, data: StageData, *, resume: bool
) -> None:
    """Begin a folder, or make sure that what is in it can be gone on with."""
    facts = {
        "examples": len(data.examples),
        "subwords": sum(len(example.subwords) for example in data.examples),
        "fingerprint": fingerprint(data.examples),
    }
    path = folder / SETTINGS
    # The others of several processes come when the first has begun the folder.
    if path.is_file() and (resume or not Processes().is_main):
        old = PretrainingSettings.from_toml(read_text(path))
        if replace(old, max_minutes=None) != replace(settings, max_minutes=None):
            raise FileError(path, "a run with other settings. Use them, or another folder.")
        if json.loads(read_text(folder / DATA)) != facts:
            raise FileError(folder / DATA, "a run with other data. Use it, or another folder.")
        return
    if path.is_file():
        raise FileError(folder, "holds a run. Go on with --resume, or choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / DATA, json.dumps(facts) + "\n")
    write_text(path, settings.to_toml())
