"""A whole run in a folder: data, training, report."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from koala.corpora import Corpus
from koala.corpora.jsonl import read_examples
from koala.encoders.weights import WEIGHTS
from koala.errors import FileError
from koala.evaluation.labels import ProcessLabels
from koala.files import parse_json, read_text, write_text
from koala.processes import Processes
from koala.settings import Settings
from koala.training.checkpoint import BEST, LAST
from koala.training.data import Progress, TrainingData, build_training_data
from koala.training.loop import ShowBatches, Tell, Training
from koala.training.report import RunReport, write_report

SETTINGS, STAGES = "settings.toml", "stages.json"
"""Of a run: its settings, and which weights of the language-model stages it began with."""


class DataSource:
    """Prepares a corpus once for all runs that read the same knowledge."""

    def __init__(
        self,
        corpus: Corpus,
        labels: dict[str, ProcessLabels] | None = None,
        *,
        progress: Progress | None = None,
    ) -> None:
        self.corpus = corpus
        self.labels = labels
        self._progress = progress
        self._known: dict[tuple[object, ...], TrainingData] = {}

    def get(self, settings: Settings) -> TrainingData:
        """Give items with the triples and candidates that the settings ask for."""
        knowledge, extra = settings.knowledge, settings.training.extra
        triples = (knowledge.is_used, knowledge.n_triples, knowledge.has_fuzzy, knowledge.store)
        gold = (settings.training.adds_gold_places, settings.decoder.tags)
        key = (settings.text, triples, gold, extra)
        if key not in self._known:
            self._known[key] = build_training_data(
                self.corpus,
                settings,
                extra=read_examples(extra) if extra else (),
                progress=self._progress,
            )
        return self._known[key]


def train(
    settings: Settings,
    source: DataSource,
    folder: Path,
    *,
    resume: bool = False,
    tell: Tell = lambda _: None,
    show_batches: ShowBatches = lambda _done, _total: None,
) -> RunReport:
    """Train, or go on with a run, and report; the outcome of both is the same."""
    processes = Processes()
    check_folder(folder, settings, resume=resume)
    with processes.main_first():
        data = source.get(settings)
    if processes.is_main:
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / SETTINGS, settings.to_toml())
        write_text(folder / STAGES, json.dumps(sign_stages(settings)) + "\n")
    training = Training(settings, data, folder)
    if resume:
        training.resume()
    training.run(tell=tell, show_batches=show_batches)
    return processes.from_main(lambda: write_report(training, source.labels))


def check_folder(folder: Path, settings: Settings, *, resume: bool) -> None:
    """Make sure that a run can begin in a folder, or go on with what is in it."""
    path = folder / SETTINGS
    if not Processes().is_main:
        # The main process looks for all, and may have begun the folder by now.
        return
    if not path.is_file():
        if (folder / LAST).is_file() or (folder / BEST).is_file():
            raise FileError(folder, f"holds checkpoints but no {SETTINGS}. Choose another folder.")
        return
    if not resume:
        raise FileError(folder, "holds a run. Go on with --resume, or choose another folder.")
    if _essence(Settings.from_toml(read_text(path))) != _essence(settings):
        raise FileError(path, "a run with other settings. Use them, or another folder.")
    stages = folder / STAGES
    if stages.is_file() and parse_json(read_text(stages)) != sign_stages(settings):
        raise FileError(stages, "a run that began with other weights. Use another folder.")


def sign_stages(settings: Settings) -> dict[str, str]:
    """Give a digest of the weights that each language-model stage has left to begin with."""
    encoder, knowledge = settings.encoder.weights, settings.knowledge.weights
    stages = {"text": encoder, "triples": knowledge if settings.knowledge.is_used else None}
    return {
        name: hashlib.sha256(Path(folder, WEIGHTS).read_bytes()).hexdigest()[:12]
        for name, folder in stages.items()
        if folder and Path(folder, WEIGHTS).is_file()
    }


def _essence(settings: Settings) -> Settings:
    """Leave out what may change when a run goes on: how long it may take, and its description."""
    training = replace(settings.training, patience=1)
    if training.schedule == "constant":
        # Where rates fall until the last epoch, more epochs would be another run.
        training = replace(training, epochs=1)
    return replace(settings, reproduces="", training=training)
