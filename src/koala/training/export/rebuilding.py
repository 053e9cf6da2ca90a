"""Rebuilding of torch networks from exported ones, which hold no checkpoint.

The exporter keeps the names of some parameters only: matrices are transposed, the weights of an
LSTM are stacked, constants are computed in advance. So a network with the same settings and known
weights is exported, too. Where one of its parameters is found in that graph, the parameter of the
network to rebuild is in the other graph. The rebuilt network is compared with the exported one.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from koala.errors import FileError
from koala.inputs.arrays import Batcher
from koala.inputs.examples import Item
from koala.network.card import NETWORK, TRIPLES, Card, read_card
from koala.network.onnx.network import OnnxNetwork
from koala.network.torch.ensemble import HeadEnsemble
from koala.network.torch.knowledge_injector import KnowledgeInjector
from koala.network.torch.koala import KoalaModel, build_model
from koala.network.torch.layers import LayerMixture
from koala.network.torch.location import LocationPredictor
from koala.training.export.onnx import write_graphs
from koala.training.export.unpacking import Table, unpack, unpack_graph

_LARGEST_DIFFERENCE = 1e-2
"""Largest difference of scores between the exported and the rebuilt network. Sums in another order
give differences of 1e-4; a wrong table gives more than 1."""

_HEAD = re.compile(r"^model\.heads\.(\d+)\.")
_NUMBER = re.compile(r"^(onnx::\w+?)_(\d+)$")


@dataclass(frozen=True, slots=True)
class _Constant:
    """A constant that the exporter makes from parameters, and the way back."""

    value: Table
    restore: Callable[[Table], dict[str, Table]]
    """Give the parameters, by name, whose constant has this value."""


def rebuild(folder: Path, batcher: Batcher, items: Sequence[Item]) -> list[KoalaModel]:
    """Build the torch networks of an exported folder: one, or all heads of an ensemble.

    `items` are inputs for tracing and for the comparison with the exported network.
    """
    card = read_card(folder)
    settings = card.read_settings().without_initial_weights()
    # Bfloat16 is for training; a rebuilt encoder is not trained.
    settings = replace(settings, training=replace(settings.training, precision="float32"))
    known = {name: unpack(folder, name) for name in (NETWORK, TRIPLES) if (folder / name).is_file()}
    models = [build_model(settings) for _ in range(_count_heads(known[NETWORK]))]
    template: KoalaModel | HeadEnsemble = models[0]
    if len(models) > 1:
        template = HeadEnsemble(models)
    weights = _read_weights(template, batcher, items, known, folder)
    _load(template, weights)
    _load_crf(models, card)
    for model in models:
        model.clear_cache()
    _compare(template, folder, batcher, items)
    return models


def _count_heads(constants: Mapping[str, Table]) -> int:
    numbers = [int(found[1]) for name in constants if (found := _HEAD.match(name))]
    return max(numbers, default=0) + 1


def _read_weights(
    template: KoalaModel | HeadEnsemble,
    batcher: Batcher,
    items: Sequence[Item],
    known: Mapping[str, Mapping[str, Table]],
    folder: Path,
) -> dict[str, Table]:
    """Give the parameters of the exported network by name."""
    original = {name: value.clone() for name, value in template.state_dict().items()}
    _randomize(template)
    constants = list(_find_constants(template))
    graphs = _export_template(template, batcher, items)
    # What no graph holds is as the public encoder has it.
    template.load_state_dict(original)
    weights: dict[str, Table] = {}
    for name, own in graphs.items():
        theirs = known.get(name)
        if theirs is None:
            raise FileError(folder / name, "this graph is missing. Export the network again.")
        weights |= _read_named(own, theirs)
        linked = _find_links(folder, name)
        for mine, other in _align(own, theirs, constants, linked, folder / name):
            weights |= mine.restore(other)
    return weights


def _randomize(model: nn.Module) -> None:
    """Give all weights different values, so that each is unique.

    Equal weights (biases of zero, two encoders with the same public weights) could not be told
    apart, and the exporter stores them once.
    """
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.rand(parameter.shape, generator=generator) * 0.1 + 0.01)


def _export_template(
    model: KoalaModel | HeadEnsemble, batcher: Batcher, items: Sequence[Item]
) -> dict[str, dict[str, Table]]:
    """Give the constants of the graphs of a network, by the file name of each graph."""
    import onnx

    model.eval()
    model.clear_cache()
    with tempfile.TemporaryDirectory(prefix="koala-") as name:
        paths = write_graphs(model, batcher.build(items), Path(name))
        return {path.name: unpack_graph(onnx.load(str(path)).graph, {}) for path in paths}


def _read_named(own: Mapping[str, Table], theirs: Mapping[str, Table]) -> dict[str, Table]:
    """Give the parameters whose names both graphs have."""
    return {
        name.removeprefix("model."): theirs[name]
        for name in own
        if name.startswith("model.") and name in theirs
    }


def _find_links(folder: Path, graph: str) -> set[str]:
    """Give the tables that a graph reads from the public encoder in full precision."""
    card = read_card(folder)
    if card.encoder:
        return set()
    return {card.public[name][0] for name in card.needs.get(graph, ()) if name in card.public}


def _align(
    own: Mapping[str, Table],
    theirs: Mapping[str, Table],
    constants: Sequence[_Constant],
    linked: set[str],
    path: Path,
) -> Iterator[tuple[_Constant, Table]]:
    """Give each constant without a name and its value in the other graph.

    Constants of the same kind come in the same order in both graphs.
    """
    mine: dict[str, list[tuple[str, _Constant]]] = {}
    for name in _order(own):
        constant = _recognize(own[name], constants)
        if constant is None or _is_linked(constant, linked):
            continue
        mine.setdefault(_kind(name), []).append((name, constant))
    others: dict[str, list[str]] = {}
    for name in _order(theirs):
        others.setdefault(_kind(name), []).append(name)
    for kind, found in mine.items():
        shapes = [constant.value.shape for _, constant in found]
        same = [name for name in others.get(kind, ()) if theirs[name].shape in set(shapes)]
        if [theirs[name].shape for name in same] != shapes:
            raise FileError(
                path,
                "does not have the structure that its settings describe; another version of koala "
                "or torch exported it. Export the network again, or start from its run.",
            )
        for (_, constant), name in zip(found, same, strict=True):
            yield constant, theirs[name]


def _order(constants: Mapping[str, Table]) -> list[str]:
    """List the constants without a name of their own, in the order of the graph."""
    numbered = [(int(found[2]), name) for name in constants if (found := _NUMBER.match(name))]
    return [name for _, name in sorted(numbered)]


def _kind(name: str) -> str:
    return name.rpartition("_")[0]


def _recognize(value: Table, constants: Sequence[_Constant]) -> _Constant | None:
    for constant in constants:
        if constant.value.shape == value.shape and np.allclose(constant.value, value, atol=1e-7):
            return constant
    return None


def _is_linked(constant: _Constant, linked: set[str]) -> bool:
    names = constant.restore(constant.value)
    return any(name.rpartition(".transformer.")[2] in linked for name in names)


def _find_constants(model: nn.Module) -> Iterator[_Constant]:
    """List what the exporter makes from the parameters of a network."""
    for name, module in model.named_modules():
        prefix = f"{name}." if name else ""
        if isinstance(module, nn.Linear):
            yield _transpose(f"{prefix}weight", module.weight)
        elif isinstance(module, nn.LSTM):
            yield from _stack_lstm(prefix, module)
        elif isinstance(module, LayerMixture):
            yield _mix(f"{prefix}weights", module.weights)
        elif isinstance(module, LocationPredictor):
            yield _add_axis(f"{prefix}unknown", module.unknown)
        elif isinstance(module, KnowledgeInjector) and module.gate and module.mix:
            yield from _join_gates(prefix, module.gate, module.mix)


def _transpose(name: str, weight: torch.Tensor) -> _Constant:
    return _Constant(_to_numpy(weight).T, lambda value: {name: value.T})


def _add_axis(name: str, vector: nn.Parameter) -> _Constant:
    return _Constant(_to_numpy(vector)[None], lambda value: {name: value[0]})


def _mix(name: str, weights: nn.Parameter) -> _Constant:
    shares = _to_numpy(weights.softmax(0))
    return _Constant(shares, lambda value: {name: np.log(np.maximum(value, 1e-30))})


def _join_gates(prefix: str, gate: nn.Linear, mix: nn.Linear) -> Iterator[_Constant]:
    for part in ("weight", "bias"):
        names = (f"{prefix}gate.{part}", f"{prefix}mix.{part}")
        value = np.concatenate([_to_numpy(getattr(each, part)) for each in (gate, mix)])
        yield _Constant(
            value,
            lambda value, names=names: dict(zip(names, np.split(value, 2), strict=True)),  # type: ignore[misc]
        )


_DIRECTIONS = ("", "_reverse")


def _stack_lstm(prefix: str, lstm: nn.LSTM) -> Iterator[_Constant]:
    """Both directions are one table; torch orders the gates i, f, g, o, ONNX i, o, f, g."""
    for part in ("weight_ih", "weight_hh"):
        names = [f"{part}_l0{direction}" for direction in _DIRECTIONS]
        value = np.stack([_to_onnx_order(_to_numpy(getattr(lstm, name))) for name in names])
        yield _Constant(value, _restore_lstm([prefix + name for name in names]))
    names = [f"bias_{part}_l0{d}" for d in _DIRECTIONS for part in ("ih", "hh")]
    biases = [_to_onnx_order(_to_numpy(getattr(lstm, name))) for name in names]
    value = np.stack([np.concatenate(biases[:2]), np.concatenate(biases[2:])])
    yield _Constant(value, _restore_lstm([prefix + name for name in names]))


def _restore_lstm(names: Sequence[str]) -> Callable[[Table], dict[str, Table]]:
    def restore(value: Table) -> dict[str, Table]:
        flat = value.reshape(-1, *value.shape[2:])
        parts = np.split(flat, len(names))
        return {n: _to_torch_order(part) for n, part in zip(names, parts, strict=True)}

    return restore


def _to_onnx_order(table: Table) -> Table:
    i, f, g, o = np.split(table, 4)
    return np.concatenate([i, o, f, g])


def _to_torch_order(table: Table) -> Table:
    i, o, f, g = np.split(table, 4)
    return np.concatenate([i, f, g, o])


def _to_numpy(value: torch.Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = value.detach().numpy().copy()
    return array


def _load(model: nn.Module, weights: Mapping[str, Table]) -> None:
    """Load parameters; those that no graph holds stay (public ones, and those without effect)."""
    tensors: dict[str, Any] = {
        name: torch.from_numpy(np.array(value, dtype=np.float32)) for name, value in weights.items()
    }
    own = model.state_dict()
    model.load_state_dict(
        {name: value.reshape(own[name].shape) for name, value in tensors.items() if name in own},
        strict=False,
    )


def _load_crf(models: Sequence[KoalaModel], card: Card) -> None:
    """Load the CRF scores of the card, which are the mean over the heads, into every head."""
    barriers = _find_barriers(models[0])
    with torch.no_grad():
        for model in models:
            for name, barrier in barriers.items():
                scores = torch.tensor(getattr(card, name)) - barrier
                getattr(model.crf, name).copy_(scores)


def _find_barriers(model: KoalaModel) -> dict[str, torch.Tensor]:
    """Give what the CRF adds to its parameters to exclude illegal sequences."""
    parameters = (model.crf.transitions, model.crf.starts, model.crf.ends)
    names = ("transitions", "starts", "ends")
    potentials = model.crf.potentials()
    return {
        name: (whole - own).detach()
        for name, whole, own in zip(names, potentials, parameters, strict=True)
    }


def _compare(
    model: KoalaModel | HeadEnsemble, folder: Path, batcher: Batcher, items: Sequence[Item]
) -> None:
    """Raise an error unless the rebuilt network scores like the exported one."""
    batch = batcher.build(items)
    ours, theirs = model.predict(batch), OnnxNetwork(folder)(batch)
    differences = [float(np.abs(ours.tags - theirs.tags).max(initial=0))]
    for index in range(len(items)):
        scores = [each.location_scores(index) for each in (ours, theirs)]
        differences.append(float(np.abs(scores[0] - scores[1]).max(initial=0)))
    if max(differences) > _LARGEST_DIFFERENCE:
        raise FileError(
            folder,
            f"cannot be trained further: the rebuilt network gives other scores (by "
            f"{max(differences):.3g}). Start from its run instead, if you have it.",
        )
