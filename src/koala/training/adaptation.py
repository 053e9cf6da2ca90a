"""Adaptation of a trained network to corrected procedures, such as those of a new field.

Only the heads are trained: the encoder stays as it is, so that its outputs are computed once. Every
epoch also rehearses procedures that the network has learned from, so that it does not forget them.
Cross-validation over the corrected procedures tells what adapting brings on procedures that were
not trained on.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from koala.corpora import Corpus, Example
from koala.errors import KoalaError
from koala.evaluation.changes import score_changes
from koala.grid import Grid
from koala.inference.calibration import Calibration
from koala.inference.predict import decode_grids
from koala.inference.scoring import NetworkScorer, Scored, score_all
from koala.inputs.arrays import Batch, Batcher
from koala.inputs.examples import Item
from koala.network.output import Output, average_outputs
from koala.network.torch.koala import KoalaModel
from koala.settings import Settings
from koala.training.calibration import find_temperatures, measure_nll
from koala.training.data import TrainingData, build_training_data
from koala.training.loop import Training, build_batcher

Tell = Callable[[str], None]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class AdaptationSettings:
    """How a network is adapted."""

    epochs: int = 8
    learning_rate: float = 3e-4
    """Learning rate of the heads."""
    rehearsed: float = 2.0
    """Rehearsed entities in an epoch, as a multiple of the corrected ones."""
    folds: int = 4
    """Parts of the cross-validation; with fewer corrected procedures, one is left out at a time."""
    batch: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.folds < 2 or self.learning_rate <= 0 or self.rehearsed < 0:
            raise KoalaError(
                "Adapting needs 1 or more epochs, 2 or more folds, a learning rate above 0 and a "
                f"share of rehearsal of 0 or more; got {asdict(self)}."
            )


@dataclass(frozen=True, slots=True)
class Measure:
    """Scores of one network on some procedures."""

    procedures: int
    changes: float
    """F1 of changes."""
    located: float
    """F1 of changes with their location."""
    cells: float
    """Share of cells whose location is right."""
    nll: float
    """Mean NLL of gold tags plus that of gold locations."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A network before and after adapting, on the same procedures."""

    before: Measure
    after: Measure

    @property
    def is_better(self) -> bool:
        """Whether F1 of changes with location rose or, if it stayed, NLL fell."""
        old, new = self.before, self.after
        return (new.located, -new.nll) > (old.located, -old.nll)


@dataclass(frozen=True, slots=True)
class Adapted:
    """An adapted network, and what is known about it."""

    models: tuple[KoalaModel, ...]
    """One network, or the heads of an ensemble."""
    held_out: Comparison | None
    """On corrected procedures that were left out of training; None if there is only one."""
    rehearsed: Comparison | None
    """On dev procedures of what was rehearsed; None without any."""
    calibration: Calibration
    seconds: float

    @property
    def problem(self) -> str | None:
        """Why the network should not be used, or None."""
        if self.held_out is None:
            return "a single corrected procedure leaves none to measure on"
        if not self.held_out.is_better:
            return "it is not better on corrected procedures that it did not learn from"
        kept = self.rehearsed
        if kept is not None and kept.before.located - kept.after.located > MOST_FORGOTTEN:
            return "it forgets: on rehearsed procedures it is worse than before"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Give plain values."""
        return {
            "held_out": asdict(self.held_out) if self.held_out else None,
            "rehearsed": asdict(self.rehearsed) if self.rehearsed else None,
            "seconds": round(self.seconds, 1),
        }


MOST_FORGOTTEN = 0.01
"""Largest loss of F1 on rehearsed procedures that counts as noise."""


@dataclass(frozen=True, slots=True)
class Examples:
    """What a network is adapted with."""

    corrected: tuple[Example, ...]
    rehearsed: tuple[Example, ...] = ()
    rehearsed_dev: tuple[Example, ...] = ()
    """Procedures on which forgetting is measured; not trained on."""


def choose_rehearsal(
    corrected: Sequence[Example],
    corpora: Sequence[Corpus],
    *,
    most: int = 300,
    most_dev: int = 60,
    seed: int = 0,
) -> Examples:
    """Sample procedures to rehearse from the train splits, and some of dev to measure on.

    Texts that were corrected are left out of both.
    """
    known = {_text_of(example) for example in corrected}
    ids = {example.procedure.id for example in corrected}

    def sample(split: str, n: int) -> tuple[Example, ...]:
        found = [e for corpus in corpora for e in corpus.splits.get(split, ()) if e.gold]
        fresh = [e for e in found if e.procedure.id not in ids and _text_of(e) not in known]
        random.Random(seed).shuffle(fresh)
        return tuple(fresh[:n])

    return Examples(tuple(corrected), sample("train", most), sample("dev", most_dev))


def _text_of(example: Example) -> tuple[str, ...]:
    return tuple(" ".join(step.text.split()) for step in example.procedure.steps)


class Adaptation:
    """Adapts the heads of a network to examples, and measures what that brings."""

    def __init__(
        self,
        settings: Settings,
        calibration: Calibration,
        examples: Examples,
        *,
        how: AdaptationSettings | None = None,
        progress: Progress | None = None,
    ) -> None:
        if settings.decoder.tags == "participation":
            raise KoalaError(
                "This model tells which steps use an ingredient (Recipes), and corrections do not "
                "say that. Adapt small, base, or another model of changes."
            )
        if not examples.corrected:
            raise KoalaError("There are no corrected procedures to learn from.")
        self.how = how or AdaptationSettings()
        self.settings = _build_settings(settings, self.how)
        self.calibration = calibration
        self.examples = examples
        self.batcher = build_batcher(self.settings)
        self.data = _build_data(examples, self.settings, progress)

    def run(
        self, models: Sequence[KoalaModel], work: Path, *, tell: Tell = lambda _: None
    ) -> Adapted:
        """Cross-validate, then adapt to all corrected procedures; the models are changed.

        `work` is a folder for checkpoints; it can be deleted afterwards.
        """
        start = time.perf_counter()
        freeze_heads(models)
        original = [_copy_weights(model) for model in models]
        ids = list(dict.fromkeys(item.procedure.id for item in self.data.train))
        before = self._score(models, ids)
        kept_before = self._score_rehearsed(models)
        folds = split_folds(ids, self.how.folds)
        after: list[Scored] = []
        for number, fold in enumerate(folds, 1):
            self._train(models, set(ids) - set(fold), work / f"fold-{number}")
            after += self._score(models, fold)
            _restore_weights(models, original)
            tell(f"Fold {number} of {len(folds)}: {len(fold)} procedures left out.")
        self._train(models, set(ids), work / "all")
        kept_after = self._score_rehearsed(models)
        return Adapted(
            tuple(models),
            Comparison(self._measure(before), self._measure(after)) if after else None,
            Comparison(self._measure(kept_before), self._measure(kept_after))
            if kept_after
            else None,
            self._calibrate([*after, *kept_after]),
            time.perf_counter() - start,
        )

    def fit(self, models: Sequence[KoalaModel], work: Path) -> None:
        """Adapt to all corrected procedures without measuring anything; the models are changed."""
        freeze_heads(models)
        self._train(models, {item.procedure.id for item in self.data.train}, work)

    def _train(self, models: Sequence[KoalaModel], ids: set[str], folder: Path) -> None:
        train = tuple(item for item in self.data.train if item.procedure.id in ids)
        data = replace(self.data, train=train, dev=(), dev_gold={})
        for number, model in enumerate(models):
            own = replace(self.settings.training, seed=self.how.seed + number)
            settings = replace(self.settings, training=own)
            training = Training(settings, data, folder, model=model)
            for epoch in range(1, self.how.epochs + 1):
                training.learn(epoch)
            with training.averaged():
                averaged = _copy_weights(model)
            _restore_weights([model], [averaged])

    def _score(self, models: Sequence[KoalaModel], ids: Sequence[str]) -> list[Scored]:
        return self._score_items(models, self._select(ids))

    def _score_rehearsed(self, models: Sequence[KoalaModel]) -> list[Scored]:
        ids = [example.procedure.id for example in self.examples.rehearsed_dev]
        return self._score_items(models, self._select(ids)) if ids else []

    def _select(self, ids: Sequence[str]) -> list[Item]:
        return [item for item in self.data.dev if item.procedure.id in set(ids)]

    def _score_items(self, models: Sequence[KoalaModel], items: Sequence[Item]) -> list[Scored]:
        return score_all(build_scorer(models, self.batcher), items)

    def _measure(self, scored: Sequence[Scored]) -> Measure:
        return measure(scored, self.data.dev_gold, self.calibration)

    def _calibrate(self, scored: Sequence[Scored]) -> Calibration:
        """Fit the temperatures of koala's annotation convention again, on unseen procedures."""
        own = [each for each in scored if each.procedure.convention == "koala"]
        if len(own) < LEAST_CALIBRATED:
            return self.calibration
        temperatures = {**self.calibration.temperatures, "koala": find_temperatures(own)}
        return replace(self.calibration, temperatures=temperatures)


LEAST_CALIBRATED = 10
"""Fewest procedures on which temperatures are fitted; with fewer, the old ones are kept."""


def measure(scored: Sequence[Scored], gold: dict[str, Grid], calibration: Calibration) -> Measure:
    """Score a network on procedures, by Viterbi decoding."""
    grids = {grid.id: grid for grid in decode_grids(scored, calibration=calibration)}
    overall = score_changes(grids, {id: gold[id] for id in grids}).overall
    return Measure(
        overall.procedures,
        overall.actions.f1,
        overall.located.f1,
        overall.cells,
        sum(measure_nll(scored)),
    )


def freeze_heads(models: Sequence[KoalaModel]) -> None:
    """Train only the heads from now on; heads over one transformer share what is cached."""
    for model in models:
        model.freeze_encoders()
        if model.text_encoder.transformer is models[0].text_encoder.transformer:
            model.share_cache(models[0])


def build_scorer(models: Sequence[KoalaModel], batcher: Batcher) -> NetworkScorer:
    """Build a scorer that averages the scores of all heads."""

    def predict(batch: Batch) -> Output:
        outputs = [model.predict(batch) for model in models]
        return average_outputs(outputs) if len(outputs) > 1 else outputs[0]

    return NetworkScorer(predict, batcher)


def split_folds(ids: Sequence[str], n: int) -> list[list[str]]:
    """Deal procedures to folds; with fewer than `n`, each is a fold, and one alone has none."""
    if len(ids) < 2:
        return []
    shuffled = list(ids)
    random.Random(0).shuffle(shuffled)
    n = min(n, len(ids))
    return [shuffled[number::n] for number in range(n)]


def _build_settings(settings: Settings, how: AdaptationSettings) -> Settings:
    training = replace(
        settings.training,
        epochs=how.epochs,
        patience=how.epochs,
        batch=how.batch,
        part=0,
        precision="float32",
        learning_rate=how.learning_rate,
        head_learning_rate=how.learning_rate,
        schedule="linear",
        start="",
        annotators=0.0,
        extra="",
        extra_share=how.rehearsed,
        selection="last",
        seed=how.seed,
    )
    return replace(settings.without_initial_weights(), training=training)


def _build_data(examples: Examples, settings: Settings, progress: Progress | None) -> TrainingData:
    """Build all items once: corrected texts both for training and, without gold, for scoring."""
    ids = [e.procedure.id for e in (*examples.corrected, *examples.rehearsed_dev)]
    if twice := next((id for id in ids if ids.count(id) > 1), None):
        raise KoalaError(
            f"Procedure {twice} occurs twice. Give each corrected procedure its own title, also "
            "across files of the same name."
        )
    splits = {
        "train": examples.corrected,
        "dev": (*examples.corrected, *examples.rehearsed_dev),
    }
    corpus = Corpus("corrections", splits)
    return build_training_data(corpus, settings, extra=examples.rehearsed, progress=progress)


def _copy_weights(model: KoalaModel) -> dict[str, Any]:
    return {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}


def _restore_weights(models: Sequence[KoalaModel], saved: Sequence[dict[str, Any]]) -> None:
    for model, weights in zip(models, saved, strict=True):
        model.load_state_dict(weights, strict=False)
