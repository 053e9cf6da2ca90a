"""A whole training run in a folder: check the folder, prepare data, train, report."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from koala.corpora import Corpus, Example, written
from koala.corpora.jsonl import read_examples, write_examples
from koala.encoders.weights import WEIGHTS
from koala.errors import FileError, KoalaError
from koala.evaluation.labels import ProcessLabels
from koala.files import parse_json, read_text, write_text
from koala.inference.predict import sign_triples
from koala.settings import Settings
from koala.settings.toml import describe_differences
from koala.training.checkpoint import BEST, LAST
from koala.training.data import Progress, TrainingData, build_training_data
from koala.training.distributed import Processes
from koala.training.loop import ShowBatches, Tell, Training
from koala.training.report import RunReport, write_report

SETTINGS, ORIGIN = "settings.toml", "origin.json"
"""Files of a run: its settings, and digests of the data and weights that it began with."""


class DataSource:
    """Prepares the training data of a corpus, and caches it for runs that need the same data."""

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
        self._cache: dict[tuple[object, ...], TrainingData] = {}

    def over(self, corpus: Corpus) -> "DataSource":
        """Give a source of another corpus that reports its progress in the same way."""
        return DataSource(corpus, progress=self._progress)

    def get(self, settings: Settings) -> TrainingData:
        """Give the training data with the triples and candidates that the settings ask for."""
        knowledge, extra = settings.knowledge, settings.training.extra
        triples = (
            knowledge.is_used,
            knowledge.n_triples,
            knowledge.has_fuzzy,
            knowledge.store,
            knowledge.retrieved,
        )
        training = settings.training
        gold = (training.adds_gold_locations, settings.decoder.tags, training.annotators > 0)
        fields = training.without_fields.split()
        key = (settings.text, triples, gold, extra, *fields)
        if key not in self._cache:
            corpus, further = leave_out_fields(
                self.corpus, read_extra(extra) if extra else [], fields
            )
            self._cache[key] = build_training_data(
                corpus,
                settings,
                extra=further,
                progress=self._progress,
            )
        return self._cache[key]


def train(
    settings: Settings,
    source: DataSource,
    folder: Path,
    *,
    resume: bool = False,
    layers_folder: Path | None = None,
    until: int | None = None,
    tell: Tell = lambda _: None,
    show_batches: ShowBatches = lambda _done, _total: None,
) -> RunReport:
    """Train in a folder and write a report; a resumed run gives the same result as a whole one.

    `layers_folder` caches the outputs of a frozen text encoder for other runs. The run stops after
    epoch `until`, if given; the schedule of the learning rates stays that of `training.epochs`.
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
    training.run(until=until, tell=tell, show_batches=show_batches)
    return processes.from_main(lambda: write_report(training, source.labels))


def check_folder(
    folder: Path, settings: Settings, *, resume: bool, corpus: Corpus | None = None
) -> None:
    """Raise an error unless a run with these settings can begin in a folder, or resume there.

    Without a corpus, only the folder and the settings are checked.
    """
    if corpus is not None and corpus.name != settings.corpus:
        raise KoalaError(
            f"The settings are for the corpus {settings.corpus}, but {corpus.name} was given. "
            "Choose other data or other settings."
        )
    if folder.exists() and not folder.is_dir():
        raise FileError(folder, "this is a file; expected a folder for the run.")
    path = folder / SETTINGS
    if not Processes().is_main:
        # The main process checks for all processes, and may already have begun the folder.
        return
    if not path.is_file():
        if (folder / LAST).is_file() or (folder / BEST).is_file():
            raise FileError(folder, f"holds checkpoints but no {SETTINGS}. Choose another folder.")
        return
    if not resume:
        raise FileError(
            folder, "already holds a run. Resume it with --resume, or choose another folder."
        )
    saved = Settings.from_toml(read_text(path))
    differences = describe_differences(
        *(asdict(_fixed_settings(each)) for each in (saved, settings))
    )
    if differences:
        raise FileError(
            folder,
            f"holds a run with different settings ({differences}). Resume with those, or choose "
            "another folder.",
        )
    origin = folder / ORIGIN
    if corpus is None or not origin.is_file():
        return
    known, signed = parse_json(read_text(origin)), sign_origin(settings, corpus)
    # Earlier versions may not have recorded all digests.
    changed = [name for name, digest in known.items() if signed.get(name) != digest]
    if changed:
        raise FileError(
            folder,
            f"holds a run that began with different data or weights ({', '.join(changed)}). "
            "Resume with the original ones, or choose another folder.",
        )


def read_extra(path: str) -> list[Example]:
    """Read extra training texts: JSON lines, or the train split of koala's own corpus."""
    if Path(path).is_dir() or path.endswith(".txt"):
        return written.read_examples(path)
    return read_examples(path)


def leave_out_fields(
    corpus: Corpus, extra: Sequence[Example], fields: Sequence[str]
) -> tuple[Corpus, list[Example]]:
    """Leave fields of koala's own corpus out of the train split and of extra texts; dev stays."""
    if not fields:
        return corpus, list(extra)
    train = corpus.splits.get("train", ())
    known = {_field_of(example) for example in (*train, *extra)} - {""}
    if unknown := [field for field in fields if field not in known]:
        raise KoalaError(
            f"training.without_fields names {', '.join(unknown)}; the training texts have these "
            f"fields: {', '.join(sorted(known)) or 'none'}."
        )
    kept = tuple(example for example in train if _field_of(example) not in fields)
    return (
        replace(corpus, splits={**corpus.splits, "train": kept}),
        [example for example in extra if _field_of(example) not in fields],
    )


def _field_of(example: Example) -> str:
    """Give the field of a procedure of koala's own corpus: `wet-lab/pcr` is of `wet-lab`."""
    field, slash, _ = example.procedure.id.partition("/")
    return field if slash else ""


def sign_origin(settings: Settings, corpus: Corpus) -> dict[str, str]:
    """Give digests of everything a run begins with.

    These are train and dev, the annotators' labels, the weights of pretraining stages or of a run
    to start from, the source of triples and the extra texts, as far as the settings name them.
    """
    knowledge, training = settings.knowledge, settings.training
    digests = {
        split: _digest(repr(corpus.splits.get(split, ())).encode()) for split in ("train", "dev")
    }
    if training.annotators:
        annotators = [example.annotators for example in corpus.splits.get("train", ())]
        digests["annotators"] = _digest(repr(annotators).encode())
    if knowledge.is_used:
        digests["knowledge"] = sign_triples(knowledge)
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


def _fixed_settings(settings: Settings) -> Settings:
    """Reset the settings that may change when a run is resumed.

    These are the number of epochs, the patience, the size of parts, which does not change the
    gradient, and the description.
    """
    training = replace(settings.training, patience=1, part=0)
    if training.schedule == "constant" and training.selection != "last":
        # With a falling rate, or if the last epoch is selected, the number of epochs is fixed.
        training = replace(training, epochs=1)
    return replace(settings, reproduces="", training=training)
