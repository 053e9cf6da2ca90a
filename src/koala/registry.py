"""Registry: opens trackers by name, folder or run, and chooses one for a text."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from koala.bundled import MODELS
from koala.errors import KoalaError, needs_extra
from koala.network.card import CARD, TOKENIZER, Card, read_card

if TYPE_CHECKING:
    from koala.tracker import Tracker

DEFAULT, RECIPES = "small", "recipes"
"""The bundled models used if none is named: for all texts but recipes, and for recipes."""

AUTO = "auto"
"""Instead of a model's name: choose one of these two by the text."""

_N_CACHED = 64
"""Texts whose tokens a tracker caches: enough for a chunk, few enough for a server's memory."""


def list_models() -> dict[str, Path]:
    """Give the folders of the bundled models by name."""
    return {path.parent.name: path.parent for path in sorted(MODELS.glob(f"*/{CARD}"))}


def choose_model(text: str) -> str:
    """Give the name of the bundled model that fits a text."""
    from koala.text.recipe_detection import is_recipe

    return RECIPES if is_recipe(text) else DEFAULT


def find_bundled(name: str | Path) -> Path | None:
    """Give the folder of a bundled model, by its name (small) or its card's (koala-small)."""
    return list_models().get(str(name).removeprefix("koala-"))


def find_model(name: str | Path = DEFAULT) -> Path:
    """Give the folder of a model: bundled, by its name, else the given folder."""
    bundled = find_bundled(name)
    if bundled is not None:
        return bundled
    if Path(name).is_dir():
        return Path(name)
    known = ", ".join(list_models()) or "none"
    raise KoalaError(f"Model {str(name)!r} is neither bundled nor a folder. Bundled: {known}.")


def load(
    model: str | Path | Sequence[str | Path] = DEFAULT,
    *,
    has_knowledge: bool = True,
    n_threads: int | None = None,
) -> "Tracker":
    """Open a bundled model by name, an exported one by its folder, or a training run.

    Several models become an ensemble. Only a training run needs torch. Without `has_knowledge` no
    triples are retrieved.
    """
    if not isinstance(model, str | Path):
        return join(
            [load(each, has_knowledge=has_knowledge, n_threads=n_threads) for each in model]
        )
    if _is_run(Path(model)):
        return _load_run(Path(model), has_knowledge=has_knowledge, n_threads=n_threads)
    return _load_exported(find_model(model), has_knowledge=has_knowledge, n_threads=n_threads)


def _is_run(path: Path) -> bool:
    # A folder may be called like a bundled model (recipes, the folder of the corpus).
    if find_bundled(path):
        return False
    return path.is_file() or (path.is_dir() and not (path / CARD).is_file())


def _load_exported(folder: Path, *, has_knowledge: bool, n_threads: int | None) -> "Tracker":
    from koala.inference.scoring import NetworkScorer
    from koala.inputs.arrays import Batcher
    from koala.network.onnx.network import OnnxNetwork
    from koala.tracker import Tracker

    network = OnnxNetwork(folder, n_threads=n_threads)
    tokenizer = folder if (folder / TOKENIZER).is_file() else None
    encoder = network.card.read_settings().encoder
    batcher = Batcher(
        tokenizer,
        has_prefix=encoder.has_prefix,
        has_list=encoder.has_list,
        has_question=encoder.has_question,
        n_cached=_N_CACHED,
    )
    scorer = NetworkScorer(network, batcher)
    return Tracker(scorer, network.card, has_knowledge=has_knowledge, n_threads=n_threads)


def _load_run(path: Path, *, has_knowledge: bool, n_threads: int | None) -> "Tracker":
    from koala.inference.scoring import NetworkScorer
    from koala.tracker import Tracker

    with needs_extra("train", "A run that was not exported"):
        from koala.training.checkpoint import open_checkpoint
        from koala.training.loop import build_batcher
        from koala.training.report import read_run_calibration
    network, settings = open_checkpoint(path)
    card = Card(
        path.name,
        settings.to_toml(),
        calibration=read_run_calibration(path if path.is_dir() else path.parent).to_dict(),
        signature=f"{path.name}|checkpoint",
    )
    scorer = NetworkScorer(network.predict, build_batcher(settings))
    return Tracker(scorer, card, has_knowledge=has_knowledge, n_threads=n_threads)


def join(trackers: "Sequence[Tracker]") -> "Tracker":
    """Make an ensemble: the members' temperature-scaled scores are averaged before decoding.

    It decodes as the first tracker does, and retrieves triples if any member reads them.
    """
    from dataclasses import replace

    from koala.inference.calibration import Calibration
    from koala.inference.scoring import Ensemble, TemperatureScaled
    from koala.tracker import Tracker

    first = trackers[0]
    if len(trackers) == 1:
        return first
    settings = first.settings
    for other in (tracker.settings for tracker in trackers):
        if (other.corpus, other.text) != (settings.corpus, settings.text):
            names = " and ".join(tracker.card.name for tracker in trackers)
            raise KoalaError(
                f"{names} read texts differently; their scores cannot be averaged. Join models "
                "with the same settings of corpus and text."
            )
    readers = [tracker for tracker in trackers if tracker.settings.knowledge.is_used]
    if readers:
        settings = replace(settings, knowledge=readers[0].settings.knowledge)
    calibration = first.calibration
    card = Card(
        "+".join(tracker.card.name for tracker in trackers),
        settings.to_toml(),
        signature="+".join(tracker.card.signature for tracker in trackers),
        calibration=Calibration(
            rerankers=calibration.rerankers, consistency=calibration.consistency
        ).to_dict(),
    )
    return Tracker(
        Ensemble(tuple(TemperatureScaled(each.scorer, each.calibration) for each in trackers)),
        card,
        decoding=first.decoding,
        has_knowledge=all(tracker.has_knowledge for tracker in trackers),
        n_threads=first.n_threads,
    )


class Trackers:
    """Trackers by name, each opened at its first use; not safe for several threads."""

    def __init__(self, signatures: Mapping[str, str], open: "Callable[[str], Tracker]") -> None:
        self.signatures = dict(signatures)
        """Signature of each tracker's grids; the card's until the tracker is opened.

        The first tracker is for texts that fit no other."""
        self._open = open
        self._opened: dict[str, Tracker] = {}

    @classmethod
    def single(cls, tracker: "Tracker") -> "Trackers":
        """Use one tracker for every text."""
        name = tracker.card.name.removeprefix("koala-")
        return cls({name: tracker.signature}, lambda _name: tracker)

    @classmethod
    def bundled(cls, open: "Callable[[str], Tracker]") -> "Trackers":
        """Use the two bundled models that `auto` chooses from."""
        names = (DEFAULT, RECIPES)
        return cls({name: read_card(find_model(name)).signature for name in names}, open)

    @property
    def choices(self) -> tuple[str, ...]:
        """Names that a request may give."""
        return (AUTO, *self.signatures)

    def choose(self, model: str, content: str | Sequence[str]) -> "Tracker":
        """Give the tracker of a name; with `auto`, the one that fits the text or its steps."""
        if model == AUTO:
            model = self._fit(content if isinstance(content, str) else "\n".join(content))
        if model not in self._opened:
            self._opened[model] = self._open(model)
            self.signatures[model] = self._opened[model].signature
        return self._opened[model]

    def _fit(self, text: str) -> str:
        first, *others = self.signatures
        fitting = choose_model(text) if others else first
        return fitting if fitting in self.signatures else first


def sign(model: str | Path) -> str:
    """Give the signature of a model; of `auto`, those of both models it chooses from."""
    if model == AUTO:
        return " | ".join(sign(name) for name in (DEFAULT, RECIPES))
    return read_card(find_model(model)).signature


def sign_knowledge(model: str | Path, *, has_knowledge: bool = True) -> str:
    """Give the signature of the store that a model's triples come from."""
    from koala.tracker import sign_store, switch_knowledge

    if model == AUTO:
        signatures = (sign_knowledge(n, has_knowledge=has_knowledge) for n in (DEFAULT, RECIPES))
        return " | ".join(signatures)
    settings = read_card(find_model(model)).read_settings().knowledge
    return sign_store(switch_knowledge(settings, has_knowledge=has_knowledge))
