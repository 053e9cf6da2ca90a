"""The training loop: stage 2 of the paper, the tracker on a corpus (sections 5 and 6.2)."""

import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch import Tensor, nn

from koala.encoders.weights import find_weights
from koala.errors import KoalaError
from koala.evaluation import DocumentScores, RecipesScores
from koala.grid import Grid
from koala.inference.calibration import Calibration, Temperatures
from koala.inference.predict import decode_grids
from koala.inference.scoring import NetworkScorer, Scored, score_all
from koala.inputs.arrays import Batcher
from koala.inputs.examples import Item, group_items, split_entities, split_items
from koala.network.torch.koala import KoalaModel, build_model
from koala.settings import SHARED, Settings
from koala.tasks import find_task
from koala.training.augmentation import hide_questions
from koala.training.calibration import find_temperatures, measure_nll
from koala.training.checkpoint import (
    BEST,
    LAST,
    Progress,
    load_checkpoint,
    load_matching_weights,
    save_checkpoint,
)
from koala.training.data import TrainingData
from koala.training.distributed import Processes, trim_memory
from koala.training.ema import EMA
from koala.training.log import LOG, Epoch, add_to_log, describe_epoch
from koala.training.loss import (
    Losses,
    build_targets,
    compute_losses,
    count_targets,
    weigh_losses,
)
from koala.training.optimizer import build_optimizer, set_rates

_TRIM_INTERVAL = 8
"""Batches between two calls of `trim_memory`; a call takes a twentieth of a second."""

Tell = Callable[[str], None]
ShowBatches = Callable[[int, int], None]


class Training:
    """A training run in a folder; it can be killed at any time and resumes after the last epoch.

    Several processes share every batch and have equal weights; the main one scores and writes.
    `layers_folder` caches the outputs of a frozen text encoder for other runs. A given `model` is
    trained further as it is.
    """

    def __init__(
        self,
        settings: Settings,
        data: TrainingData,
        folder: Path,
        *,
        layers_folder: Path | None = None,
        model: KoalaModel | None = None,
    ) -> None:
        self.settings = settings
        self.data = data
        self.folder = folder
        self.processes = Processes()
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(settings.training.seed)
        self.model = (model or build_model(settings)).to(self.processes.device)
        if layers_folder is not None and self.model.text_encoder.frozen is not None:
            self.model.text_encoder.frozen.cache_in(layers_folder)
        if settings.training.start:
            load_matching_weights(Path(settings.training.start), self.model, settings)
        if settings.decoder.crf_start == "counts" and model is None:
            self.model.crf.init_from_counts(item.tags for item in data.train)
        self.optimizer = build_optimizer(self.model, settings)
        ema_decay = settings.training.ema_decay
        self.average = EMA(self.model, ema_decay) if ema_decay else None
        self.batcher = build_batcher(settings)
        self.scorer = NetworkScorer(self.model.predict, self.batcher)
        self.progress = Progress()
        self.task = find_task(settings)

    def resume(self) -> None:
        """Load the state after the last finished epoch, if there is one."""
        if (self.folder / LAST).is_file():
            self.progress = load_checkpoint(
                self.folder / LAST, self.model, self.optimizer, self.average
            )
        problem = (
            f"The processes see different runs in {self.folder}. They must share the folder: put "
            "it on a file system that all machines mount."
        )
        self.processes.agree(self.progress, problem)

    def run(
        self,
        *,
        until: int | None = None,
        tell: Tell = lambda _: None,
        show_batches: ShowBatches = lambda _done, _total: None,
    ) -> Progress:
        """Train until the last epoch, or until dev F1 has not improved for `patience` epochs.

        If `training.selection` is "last", training never stops early. Training pauses after epoch
        `until`, if given.
        """
        training = self.settings.training
        last = training.epochs if until is None else min(until, training.epochs)
        while self.progress.epoch < last:
            if self.progress.epoch - self.progress.best_epoch >= training.patience:
                tell(f"Stopping early: dev F1 has not improved for {training.patience} epochs.")
                break
            line = self._run_epoch(self.progress.epoch + 1, show_batches)
            self._update_progress(line)
            self._write(line)
            tell(describe_epoch(line, is_selected=self.progress.best_epoch == line.epoch))
        return self.progress

    def _run_epoch(self, epoch: int, show_batches: ShowBatches) -> Epoch:
        start = time.perf_counter()
        losses = self.learn(epoch, show_batches)
        seconds = time.perf_counter() - start
        return self.processes.from_main(lambda: self._score_epoch(epoch, losses, seconds))

    def learn(
        self, epoch: int, show_batches: ShowBatches = lambda _done, _total: None
    ) -> tuple[float, float, float, float]:
        """Train for one epoch; give the mean of the total, state, location and attention losses."""
        # Every epoch has its own seed, so that an epoch repeated after a kill is the same.
        seed = self.settings.training.seed * 1000 + epoch
        # Every process has its own dropout.
        torch.manual_seed(seed + (self.processes.index << 32))
        items: Sequence[Item] = [*self.data.train, *self._sample_extra(seed)]
        if self.settings.encoder.has_question:
            items = hide_questions(items, self.settings.training.hidden_questions, seed)
        split = split_items if self.settings.training.shuffle == "procedures" else split_entities
        batches = split(items, self.settings.training.batch, seed=seed)
        return self._learn(epoch, batches, show_batches)

    def _score_epoch(
        self, epoch: int, losses: tuple[float, float, float, float], seconds: float
    ) -> Epoch:
        start = time.perf_counter()
        with self.averaged():
            scored = score_all(self.scorer, self.data.dev)
        grids = decode_grids(scored, task=self.task)
        overall = self._score_grids(grids).overall
        tag_nll, location_nll = measure_nll(scored)
        mbr_f1 = None
        if self.settings.training.selection == "mbr":
            mbr_grids = self.decode_mbr(scored, find_temperatures(scored))
            mbr_f1 = self._score_grids(mbr_grids).overall.f1
        return Epoch(
            epoch,
            *losses,
            precision=overall.precision,
            recall=overall.recall,
            f1=overall.f1,
            seconds=seconds,
            evaluation_seconds=time.perf_counter() - start,
            tag_nll=tag_nll,
            location_nll=location_nll,
            mbr_f1=mbr_f1,
        )

    def _sample_extra(self, seed: int) -> list[Item]:
        """Sample extra texts for an epoch, up to `training.extra_share` of the train items."""
        groups = group_items(self.data.extra)
        random.Random(seed).shuffle(groups)
        sampled: list[Item] = []
        wanted = self.settings.training.extra_share * len(self.data.train)
        for group in groups:
            if len(sampled) + len(group) > wanted:
                break
            sampled += group
        return sampled

    def _learn(
        self, epoch: int, batches: Sequence[Sequence[Item]], show_batches: ShowBatches
    ) -> tuple[float, float, float, float]:
        self.model.train()
        training = self.settings.training
        totals = torch.zeros(4, device=self.processes.device)
        for done, items in enumerate(batches, 1):
            totals += self._find_gradients(items)
            norm = nn.utils.clip_grad_norm_(self.model.parameters(), training.clip)
            if not math.isfinite(float(norm)):
                raise KoalaError(
                    f"The gradient is not finite in epoch {epoch}, batch {done}. Lower "
                    "training.learning_rate or training.head_learning_rate."
                )
            share_done = (epoch - 1 + (done - 1) / len(batches)) / training.epochs
            set_rates(self.optimizer, training, share_done)
            self.optimizer.step()
            if self.average is not None:
                self.average.update()
            if done % _TRIM_INTERVAL == 0:
                trim_memory()
            show_batches(done, len(batches))
        total, state, location, attention = (self.processes.sum(totals) / len(batches)).tolist()
        return total, state, location, attention

    def _find_gradients(self, items: Sequence[Item]) -> Tensor:
        """Compute the gradients of a batch; give this process's part of its losses."""
        self.optimizer.zero_grad()
        totals = torch.zeros(4, device=self.processes.device)
        # Procedures are not split: with fewer procedures than processes, some have nothing to do.
        share = take_share(items, self.processes.index, self.processes.n)
        size = self.settings.training.part or len(share)
        parts = split_items(share, size) if len(share) > size else [share]
        for part in parts if share else ():
            losses = self._compute_losses(part, items)
            losses.total.backward()  # type: ignore[no-untyped-call]
            found = (losses.total, losses.state, losses.location, losses.attention)
            totals += torch.stack([loss.detach() for loss in found])
            if self.settings.training.part:
                # Parts are there to save memory, so the memory of each part is returned at once.
                trim_memory()
        self.processes.sum_gradients(self.model.parameters())
        return totals

    def _compute_losses(self, share: Sequence[Item], items: Sequence[Item]) -> Losses:
        settings = self.settings.loss
        output = self.model(self.batcher.build(share))
        annotators = self.settings.training.annotators
        targets = build_targets(share, annotators)
        losses = compute_losses(output, targets, self.model.crf, settings)
        if len(share) == len(items):
            return losses
        own, whole = (count_targets(each, settings, annotators) for each in (share, items))
        return weigh_losses(losses, own, whole, settings)

    def averaged(self) -> AbstractContextManager[None]:
        """Use the moving average of the weights inside the block, if the run has one."""
        return nullcontext() if self.average is None else self.average.in_use()

    def decode_mbr(self, scored: Sequence[Scored], temperatures: Temperatures) -> list[Grid]:
        """Give the grids of MBR decoding with the given temperatures."""
        calibration = Calibration.with_temperatures(temperatures)
        return decode_grids(scored, task=self.task, decoding="mbr", calibration=calibration)

    def _score_grids(self, grids: Sequence[Grid]) -> DocumentScores | RecipesScores:
        return self.task.score(grids, self.data.dev_gold)

    def _update_progress(self, line: Epoch) -> None:
        selects_last = self.settings.training.selection == "last"
        is_selected = selects_last or line.choice > self.progress.best_f1
        self.progress = Progress(
            epoch=line.epoch,
            best_epoch=line.epoch if is_selected else self.progress.best_epoch,
            best_f1=line.choice if is_selected else self.progress.best_f1,
        )

    def _write(self, line: Epoch) -> None:
        if not self.processes.is_main:
            return
        if self.progress.best_epoch == line.epoch:
            with self.averaged():
                save_checkpoint(self.folder / BEST, self.model, self.settings, self.progress)
        add_to_log(line, self.folder / LOG)
        save_checkpoint(
            self.folder / LAST,
            self.model,
            self.settings,
            self.progress,
            self.optimizer,
            self.average,
        )


def take_share(items: Sequence[Item], index: int, n: int) -> Sequence[Item]:
    """Deal the procedures of a batch to `n` processes in turn; give the share of one process."""
    if n == 1:
        return items
    return [item for group in group_items(items)[index::n] for item in group]


def build_batcher(settings: Settings) -> Batcher:
    """Build a batcher with the tokenizers of the encoders."""
    knowledge = settings.knowledge
    return Batcher(
        find_weights(settings.encoder.name),
        triple_tokenizer=None if knowledge.encoder == SHARED else find_weights(knowledge.encoder),
        has_prefix=settings.encoder.has_prefix,
        has_list=settings.encoder.has_list,
        has_question=settings.encoder.has_question,
    )
