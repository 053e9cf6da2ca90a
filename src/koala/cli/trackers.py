"""Trackers by what a user calls them: bundled, exported, or a run that is still in training."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, cast

from koala.cli.training import needs_training

if TYPE_CHECKING:
    from koala.decoding import Decoding
    from koala.tracker import Tracker


class DecodingName(StrEnum):
    """How scores become grids; koala-recipes knows the first two."""

    OWN = "own"
    EXPECTED = "expected"
    LEGAL = "legal"
    PLACES = "places"


def decode_as(tracker: "Tracker", decoding: DecodingName | None) -> "Tracker":
    """Give a tracker that decodes as was asked for; where nothing was, as its model was made."""
    if decoding is None or decoding is DecodingName.OWN:
        return tracker
    return tracker.decode_as(cast("Decoding", decoding.value))


def open_trackers(models: Sequence[str | None], *, has_knowledge: bool = True) -> "Tracker":
    """Open one tracker, the bundled one if none is named; several are joined."""
    from koala.tracker import join

    return join([open_tracker(model, has_knowledge=has_knowledge) for model in models or [None]])


def open_tracker(model: str | None, *, has_knowledge: bool = True) -> "Tracker":
    """Open a tracker; only one that was not exported needs torch."""
    from koala.runtime.files import CARD
    from koala.runtime.models import DEFAULT, find_bundled
    from koala.tracker import Tracker, load

    path = Path(model or DEFAULT)
    is_run = path.is_file() or (path.is_dir() and not (path / CARD).is_file())
    # A folder may be called as a bundled network is: corpora are.
    if find_bundled(path) or not is_run:
        return load(path, has_knowledge=has_knowledge)
    with needs_training():
        from koala.prediction import Reader
        from koala.runtime.files import Card
        from koala.training.checkpoint import BEST, open_checkpoint
        from koala.training.loop import build_batcher
        from koala.training.report import read_report

        network, settings = open_checkpoint(path)
        report = read_report(path.parent if path.name == BEST else path)
        tags, places = (report and report.temperatures) or (1.0, 1.0)
        card = Card(
            path.name,
            settings.to_toml(),
            tag_temperature=tags,
            place_temperature=places,
            signature=f"{path.name}|checkpoint",
        )
        return Tracker(
            Reader(network.predict, build_batcher(settings)), card, has_knowledge=has_knowledge
        )
