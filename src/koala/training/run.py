"""A whole run in a folder: data, training, report."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from koala.corpora import Corpus, Example, written
from koala.corpora.jsonl import read_examples, write_examples
from koala.encoders.weights import WEIGHTS
from koala.errors import FileError, KoalaError
from koala.evaluation.labels import ProcessLabels
from koala.files import parse_json, read_text, write_text
from koala.settings import Settings
from koala.training.checkpoint import BEST, LAST
from koala.training.data import Progress, TrainingData, build_training_data
from koala.training.distributed import Processes
from koala.training.loop import ShowBatches, Tell, Training
from koala.training.report import RunReport, write_report

SETTINGS, ORIGIN = "settings.toml", "origin.json"
"""Of a run: its settings, and digests of the data, weights and further grids it began with."""


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

    def over(self, corpus: Corpus) -> "DataSource":
        """Give a source of another corpus, which shows its progress in the same way."""
        return DataSource(corpus, progress=self._progress)

    def get(self, settings: Settings) -> TrainingData:
        """Give items with the triples and candidates that the settings ask for."""
        knowledge, extra = settings.knowledge, settings.training.extra
        triples = (knowledge.is_used, knowledge.n_triples, knowledge.has_fuzzy, knowledge.store)
        training = settings.training
        gold = (training.adds_gold_locations, settings.decoder.tags, training.annotators > 0)
        key = (settings.text, triples, gold, extra)
        if key not in self._known:
            self._known[key] = build_training_data(
                self.corpus,
                settings,
                extra=read_extra(extra) if extra else (),
                progress=self._progress,
            )
        return self._known[key]


def train(
    settings: Settings,
    source: DataSource,
    folder: Path,
    *,
    resume: bool = False,
    layers_folder: Path | None = None,
    tell: Tell = lambda _: None,
    show_batches: ShowBatches = lambda _done, _total: None,
) -> RunReport:
    """Train, or go on with a run, and report; the outcome of both is the same.

    What frozen encoders say of texts may be kept in a folder, for other runs to read.
    """
    processes = Processes()
    check_folder(folder, settings, resume=resume, corpus=source.corpus)
    with processes.main_first():
        data = source.get(settings)
    training = Training(settings, data, folder, layers_folder=layers_folder)
    if processes.is_main:
        write_text(folder / SETTINGS, settings.to_toml())
        write_text(folder / ORIGIN, json.dumps(sign_origin(settings, source.corpus)) + "\n")
    if resume:
        training.resume()
    training.run(tell=tell, show_batches=show_batches)
    return processes.from_main(lambda: write_report(training, source.labels))


def check_folder(
    folder: Path, settings: Settings, *, resume: bool, corpus: Corpus | None = None
) -> None:
    """Make sure that a run can begin in a folder, or go on with what is in it.

    Before the corpus is read, only what needs no corpus is looked at.
    """
    if corpus is not None and corpus.name != settings.corpus:
        raise KoalaError(f"The settings are for {settings.corpus}; {corpus.name} came.")
    if folder.exists() and not folder.is_dir():
        raise FileError(folder, "this is a file; a folder for the run was expected.")
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
    origin = folder / ORIGIN
    if corpus is None or not origin.is_file():
        return
    known, signed = parse_json(read_text(origin)), sign_origin(settings, corpus)
    # Runs of before may not have remembered everything.
    if any(signed.get(name) != digest for name, digest in known.items()):
        raise FileError(origin, "a run that began with other data or weights. Use another folder.")


def read_extra(path: str) -> list[Example]:
    """Read further texts to learn from: JSON lines, or koala's own corpus."""
    if Path(path).is_dir() or path.endswith(".txt"):
        return written.read_examples(path)
    return read_examples(path)


def sign_origin(settings: Settings, corpus: Corpus) -> dict[str, str]:
    """Give digests of train and dev, of weights that stages and runs have left to begin with, and
    of further grids.
    """
    knowledge, training = settings.knowledge, settings.training
    digests = {
        split: _digest(repr(corpus.splits.get(split, ())).encode()) for split in ("train", "dev")
    }
    if training.annotators:
        said = [example.annotators for example in corpus.splits.get("train", ())]
        digests["annotators"] = _digest(repr(said).encode())
    files: dict[str, Path] = {}
    if settings.encoder.weights:
        files["text"] = Path(settings.encoder.weights, WEIGHTS)
    if knowledge.is_used and knowledge.weights:
        files["triples"] = Path(knowledge.weights, WEIGHTS)
    if training.start:
        files["start"] = Path(training.start, BEST)
    if training.extra and Path(training.extra).is_file():
        files["extra"] = Path(training.extra)
    elif training.extra:
        digests["extra"] = _digest(write_examples(read_extra(training.extra)).encode())
    found = {name: path for name, path in files.items() if path.is_file()}
    return digests | {name: _digest(path.read_bytes()) for name, path in found.items()}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _essence(settings: Settings) -> Settings:
    """Leave out what may change when a run goes on: how long it may take, in how many parts a
    batch passes, which gives the same gradient, and its description.
    """
    training = replace(settings.training, patience=1, part=0)
    if training.schedule == "constant" and training.selection != "last":
        # Where rates fall until the last epoch, or it is the one kept, more would be another run.
        training = replace(training, epochs=1)
    return replace(settings, reproduces="", training=training)
