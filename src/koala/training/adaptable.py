"""Where an adaptation starts and ends: a model or run that is opened, a model that is written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from koala.encoders.weights import find_weights
from koala.inference.calibration import Calibration
from koala.inputs.arrays import Batcher
from koala.inputs.examples import Item
from koala.network.card import CARD, Card, read_card
from koala.network.torch.ensemble import HeadEnsemble
from koala.network.torch.koala import KoalaModel
from koala.settings import Settings
from koala.training.adaptation import Adaptation, Adapted
from koala.training.checkpoint import BEST, open_checkpoint, read_checkpoint_settings
from koala.training.export.onnx import export_network
from koala.training.export.packing import PublicTables, read_public
from koala.training.export.rebuilding import rebuild
from koala.training.export.release import copy_tokenizer
from koala.training.report import read_run_calibration

_N_TRACED = 6
"""Entities that the network is traced and compared with."""


@dataclass(frozen=True, slots=True)
class Adaptable:
    """A network that can be adapted: an exported one, or the checkpoint of a run."""

    path: Path
    name: str
    settings: Settings
    calibration: Calibration
    is_exported: bool

    def open(self, batcher: Batcher, items: Sequence[Item]) -> list[KoalaModel]:
        """Give the torch networks: one, or all heads; `items` are example inputs."""
        if not self.is_exported:
            return [open_checkpoint(self.path)[0]]
        return rebuild(self.path, batcher, choose_traced(items))


def find_adaptable(path: Path) -> Adaptable:
    """Read the settings and the calibration of a model's folder, a run or a checkpoint."""
    if (path / CARD).is_file():
        card = read_card(path)
        calibration = Calibration.from_dict(card.calibration)
        return Adaptable(path, card.name, card.read_settings(), calibration, is_exported=True)
    settings, _ = read_checkpoint_settings(path / BEST if path.is_dir() else path)
    calibration = read_run_calibration(path if path.is_dir() else path.parent)
    return Adaptable(path, path.name, settings, calibration, is_exported=False)


def choose_traced(items: Sequence[Item]) -> list[Item]:
    """Choose example inputs: entities of few procedures, with triples if there are any."""
    ordered = sorted(items, key=lambda item: not item.triples)
    some = ordered[:_N_TRACED]
    # Entities of one procedure must be next to each other.
    return sorted(some, key=lambda item: item.procedure.id)


def save_adapted(
    adapted: Adapted, source: Adaptable, adaptation: Adaptation, folder: Path, name: str
) -> Card:
    """Export an adapted network to a folder that `--model` opens.

    The folder is complete, except that a model that reads the public encoder still does.
    """
    model: KoalaModel | HeadEnsemble = adapted.models[0]
    if len(adapted.models) > 1:
        model = HeadEnsemble(adapted.models)
    settings = replace(
        source.settings.for_card(),
        reproduces=f"{source.name}, adapted to {len(adaptation.examples.corrected)} procedures",
    )
    card = Card(
        name,
        settings.to_toml(),
        calibration=adapted.calibration.to_dict(),
        scores={"adaptation": adapted.to_dict()},
    )
    items = choose_traced(adaptation.data.train)
    export_network(model, adaptation.batcher, items, folder, card, public=_find_public(source))
    copy_tokenizer(settings.encoder.name, folder)
    return read_card(folder)


def _find_public(source: Adaptable) -> PublicTables | None:
    """Leave out the public encoder's tables if the model that was adapted does."""
    if not source.is_exported:
        return None
    card = read_card(source.path)
    if not card.public or card.encoder:
        return None
    return read_public(find_weights(source.settings.encoder.name))
