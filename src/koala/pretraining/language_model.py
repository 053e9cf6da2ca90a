"""One language-model stage, on text or on triples: train a head if there is none, then everything.

A stage has a folder. While it runs, the folder has `settings.toml`, `data.json`, `log.jsonl` and
`checkpoints/`. The result is an encoder in the files of a public one (`config.json`,
`tokenizer.json`, `model.safetensors`, …), so that `encoder.weights` in a tracker's settings can
name the folder, and its head (`head.safetensors`).
"""

import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
from koala.files import parse_json, read_text, write_text
from koala.network.torch.transformer import quiet_transformers
from koala.pretraining.batches import (
    LengthSampler,
    MaskedDataset,
    SharedBatches,
    collate,
    fingerprint,
)
from koala.pretraining.callbacks import (
    Log,
    LogLine,
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
from koala.settings.toml import describe_differences
from koala.training.distributed import Processes

SETTINGS, DATA, LOG = "settings.toml", "data.json", "log.jsonl"
_PUBLIC_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
"""Copied unchanged from the encoder at the start, so that this stage's dropout is not in them."""


@dataclass(frozen=True, slots=True)
class StageData:
    """Examples to train on, and masked examples to measure perplexity on."""

    examples: Sequence[Example]
    probes: Mapping[str, Sequence[Masked]]
    """Sets to measure perplexity on, by name; may be empty."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run."""

    folder: Path
    is_finished: bool
    """False if the time limit stopped the run; it can be resumed."""
    log: tuple[LogLine, ...]


class LanguageModelTrainer(Trainer):
    """transformers' Trainer for a model that returns the loss of every prediction."""

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], *_: object, **__: object
    ) -> Tensor:
        """Return the mean loss of the masked subwords, 0 if a batch has none.

        Several processes average their results. The scaling here makes that average the mean over
        all masked subwords of the batch.
        """
        losses: Tensor = model(**inputs)
        processes = Processes()
        n_masked = processes.sum(torch.tensor(losses.numel(), device=losses.device))
        return losses.sum() * processes.n / max(int(n_masked), 1)

    def get_train_dataloader(self) -> DataLoader[Masked]:
        """Build batches of similar length; order and masks depend only on seed and epoch."""
        dataset = self.train_dataset
        if not isinstance(dataset, MaskedDataset):
            raise TypeError(dataset)
        processes = Processes()
        sampler = LengthSampler(dataset, batch=self.args.per_device_train_batch_size * processes.n)
        # Not left to accelerate, which would fill the last batch with examples seen before.
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
    """Run a stage, or resume one; an interrupted and resumed run gives the same weights."""
    started = time.monotonic()
    if not data.examples:
        raise KoalaError("No examples to train on. Give texts with nouns or verbs, or triples.")
    source = find_weights(settings.encoder)
    processes = Processes()
    with processes.main_first():
        _open_folder(folder, settings, data, resume=resume)
    if (folder / WEIGHTS).is_file() and not (folder / CHECKPOINTS).is_dir():
        tell(f"{folder} is already finished.")
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
    """The two parts of a stage: train the head alone, then encoder and head."""

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
        """Train the head with the encoder frozen; return False if the time limit stopped it.

        Only with a trained head is the perplexity before training the encoder meaningful.
        """
        model.freeze_encoder(True)
        is_finished = self._run("head", model, self.settings.head)
        model.freeze_encoder(False)
        return is_finished

    def train_all(self, model: MaskedLanguageModel) -> bool:
        """Train encoder and head; return False if the time limit stopped it."""
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
        # Nothing is printed to stdout; progress and log are callbacks.
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=find_checkpoint(Path(str(args.output_dir))))
        return not limit.is_reached

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
            f"batch is {settings.batch}, expected a multiple of the number of processes, "
            f"{processes.n}."
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
    """Find the last complete checkpoint: one that has the file which is written last."""
    complete = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json")]
    last = max(complete, key=lambda path: int(path.name.rpartition("-")[2]), default=None)
    return None if last is None else str(last)


def save_encoder(model: MaskedLanguageModel, folder: Path, source: Path) -> None:
    """Write the files of a public encoder: new weights, all others copied from `source`."""
    encoder: Any = model.encoder
    with tempfile.TemporaryDirectory(dir=folder, prefix=".weights.") as temporary:
        with quiet_transformers():
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
    """Create the folder of a run, or check that the run in it can be resumed."""
    facts = {
        "examples": len(data.examples),
        "subwords": sum(len(example.subwords) for example in data.examples),
        "fingerprint": fingerprint(data.examples),
    }
    path = folder / SETTINGS
    # With several processes, the others come here after the first has created the folder.
    if path.is_file() and (resume or not Processes().is_main):
        old = PretrainingSettings.from_toml(read_text(path))
        advice = "Resume with those, or choose another folder."
        there, here = (asdict(replace(each, max_minutes=None)) for each in (old, settings))
        if differences := describe_differences(there, here):
            raise FileError(folder, f"has a run with different settings ({differences}). {advice}")
        if differences := describe_differences(parse_json(read_text(folder / DATA)), facts):
            raise FileError(folder, f"has a run with different data ({differences}). {advice}")
        return
    if path.is_file():
        raise FileError(folder, "has a run already. Give --resume, or choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / DATA, json.dumps(facts) + "\n")
    write_text(path, settings.to_toml())
