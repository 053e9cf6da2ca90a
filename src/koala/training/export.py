"""A trained network → one ONNX graph that runs without torch, and the card that describes it."""

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file
from torch import Tensor, nn

import koala
from koala.batch import Batch, Batcher, Item
from koala.encoders.weights import WEIGHTS
from koala.model.koala import KoalaModel
from koala.runtime.files import NETWORK, OUTPUTS, Card, write_card

Floats = NDArray[np.float32]

_OPSET = 17
_AXES = {
    "pieces": ("procedures", "pieces"),
    "pieces_mask": ("procedures", "pieces"),
    "step_pieces": ("procedures", "steps", "pieces"),
    "verb_pieces": ("procedures", "steps", "pieces"),
    "candidate_pieces": ("procedures", "candidates", "steps", "pieces"),
    "candidate_mask": ("procedures", "candidates"),
    "step_mask": ("procedures", "steps"),
    "procedure": ("batch",),
    "group": ("batch",),
    "entity_pieces": ("batch", "steps", "pieces"),
    "triple_pieces": ("distinct triples", "triple pieces"),
    "triple_pieces_mask": ("distinct triples", "triple pieces"),
    "triple_input_mask": ("distinct triples", "triple pieces"),
    "triples": ("batch", "triples"),
    "triple_mask": ("batch", "triples"),
}
_OUTPUT_AXES = {
    "tags": ("batch", "steps"),
    "places": ("batch", "positions", "candidates"),
    "attention": ("batch", "steps", "triples"),
}


class _Graph(nn.Module):
    """The network with plain tensors in and out."""

    def __init__(self, model: KoalaModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, *arrays: Tensor) -> tuple[Tensor, ...]:
        names = (each.name for each in fields(Batch))
        output = self.model.score(dict(zip(names, arrays, strict=True)))
        if output.state_attention is None:
            return output.tags, output.places
        return output.tags, output.places, output.state_attention.exp()


def export_network(
    model: KoalaModel,
    batcher: Batcher,
    items: Sequence[Item],
    folder: Path,
    card: Card,
    *,
    public: Path | None = None,
) -> None:
    """Write a network as ONNX with 8-bit weights; `items` are an example of what it will read.

    The model's own weights are rounded, too: from then on both say the same. With the weights of a
    public encoder, what training has left as it is there stays out, and is read from there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model.eval()
    model.forget()
    known = _read_tables(public) if public else {}
    round_weights(model, known)
    batch = batcher.build(items)
    arrays = {each.name: getattr(batch, each.name) for each in fields(batch)}
    outputs = list(OUTPUTS) if model.triple_encoder is not None else list(OUTPUTS[:-1])
    temporary = folder / f".{NETWORK}.tmp"
    with warnings.catch_warnings():
        # The exporter that follows control flow cannot yet write an LSTM over sequences of several
        # lengths; this one can.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Graph(model),
            tuple(torch.from_numpy(array) for array in arrays.values()),
            str(temporary),
            dynamo=False,
            opset_version=_OPSET,
            input_names=list(arrays),
            output_names=outputs,
            dynamic_axes={
                name: dict(enumerate(axes))
                for name, axes in (_AXES | _OUTPUT_AXES).items()
                if name in arrays or name in outputs
            },
        )
    links = _pack(temporary, known)
    temporary.replace(folder / NETWORK)
    digest = hashlib.sha256((folder / NETWORK).read_bytes()).hexdigest()[:8]
    signature = f"{card.name}|network:{digest}|koala:{koala.__version__}"
    transitions, starts, ends = (part.tolist() for part in model.crf.potentials())
    whole = replace(
        card, transitions=transitions, starts=starts, ends=ends, signature=signature, public=links
    )
    write_card(whole, folder)


def _read_tables(folder: Path) -> dict[bytes, str]:
    """Give the names of the large tables of a public encoder by a digest of their values."""
    tables = load_file(folder / WEIGHTS)
    return {
        _digest(table): name
        for name, table in tables.items()
        if table.ndim == 2 and table.size >= _LEAST_VALUES
    }


def _digest(table: Floats) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(table, dtype=np.float32).tobytes()).digest()


def round_weights(model: nn.Module, known: Mapping[bytes, str] = MappingProxyType({})) -> None:
    """Round large tables to 8-bit numbers, with a scale for each row, in place; known ones stay.

    Only weights are rounded. What is computed stays in 32 bits, so that an answer never depends on
    what else is in its batch.
    """
    for parameter in model.parameters():
        if parameter.ndim == 2 and parameter.numel() >= _LEAST_VALUES:
            if known and _digest(parameter.detach().numpy()) in known:
                continue
            numbers, scale = _round_rows(parameter.detach().numpy())
            parameter.data.copy_(torch.from_numpy(numbers * scale))


_LEAST_VALUES = 4096
"""Tables smaller than this stay as they are: they cost nothing."""

_LARGEST = 127


def _round_rows(values: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Give 8-bit numbers and a scale for each row, (rows, 1)."""
    scale = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-12) / np.float32(_LARGEST)
    numbers = np.clip(np.round(values / scale), -_LARGEST, _LARGEST).astype(np.int8)
    return numbers, scale


def _pack(path: Path, known: Mapping[bytes, str]) -> dict[str, tuple[str, bool]]:
    """Store rounded tables of a graph as the 8-bit numbers they are; opening unpacks them.

    Known tables are left out: gives where each of them comes from.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    network: Any = onnx.load(str(path))
    graph = network.graph
    kept: list[Any] = []
    nodes: list[Any] = []
    links: dict[str, tuple[str, bool]] = {}
    for table in graph.initializer:
        name, values = table.name, numpy_helper.to_array(table)
        link = _find_known(values, known)
        if link is not None:
            links[name] = link
            kept.append(_leave_out(table))
            continue
        packed = _find_numbers(values) if table.data_type == TensorProto.FLOAT else None
        if packed is None:
            kept.append(table)
            continue
        numbers, scale, axis = packed
        kept.append(numpy_helper.from_array(np.ascontiguousarray(numbers), f"{name}.numbers"))
        kept.append(numpy_helper.from_array(scale.ravel(), f"{name}.scale"))
        unpacked = name if values.ndim == 2 else f"{name}.flat"
        nodes.append(
            helper.make_node(
                "DequantizeLinear",
                [f"{name}.numbers", f"{name}.scale"],
                [unpacked],
                axis=axis,
            )
        )
        if values.ndim > 2:
            kept.append(numpy_helper.from_array(np.array(values.shape), f"{name}.shape"))
            nodes.append(helper.make_node("Reshape", [unpacked, f"{name}.shape"], [name]))
    rest = list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend([*nodes, *rest])
    if not links:
        onnx.checker.check_model(network)
    path.write_bytes(network.SerializeToString())
    return links


def _find_known(values: Floats, known: Mapping[bytes, str]) -> tuple[str, bool] | None:
    """Give the name of a known table, and whether the graph has it turned."""
    if not known or values.ndim != 2 or values.size < _LEAST_VALUES:
        return None
    for is_turned, table in ((False, values), (True, values.T)):
        name = known.get(_digest(table))
        if name is not None:
            return name, is_turned
    return None


def _leave_out(table: Any) -> Any:  # noqa: ANN401
    """Give a table of a graph without its values: who opens the graph must bring them."""
    from onnx import TensorProto

    bare = TensorProto(name=table.name, data_type=table.data_type, dims=table.dims)
    bare.data_location = TensorProto.EXTERNAL
    entry = bare.external_data.add()
    entry.key, entry.value = "location", "public"
    return bare


def _find_numbers(values: Floats) -> tuple[NDArray[np.int8], Floats, int] | None:
    """Give a table as 8-bit numbers, scales and their axis, if it was rounded; the graph has some
    tables turned.
    """
    if values.size < _LEAST_VALUES or values.ndim < 2:
        return None
    # Both directions of an LSTM are one table of three axes: their rows are put together.
    flat = values.reshape(-1, values.shape[-1])
    for axis, table in ((0, flat), (1, flat.T)):
        numbers, scale = _round_rows(table)
        if np.allclose(numbers * scale, table, rtol=1e-5, atol=1e-7):
            return numbers if axis == 0 else numbers.T, scale, axis
    return None
