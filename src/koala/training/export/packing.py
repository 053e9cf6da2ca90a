"""Packing of exported ONNX graphs: large weight tables are stored as 8-bit integers.

`round_weights` rounds the weights of a model to 8 bits before it is exported. `pack` then stores
the tables of the exported graphs as those integers with a scale per row, and inserts nodes that
restore them. Tables that several graphs use are stored once, in a separate file. Unchanged tables
of the public encoder can be left out; a network then reads them from the encoder's own files
(`read_public`) or from an 8-bit copy that several networks share (`round_public`).
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load_file, save
from torch import nn

from koala.encoders.weights import WEIGHTS
from koala.errors import FileError
from koala.files import replacing

Floats = NDArray[np.float32]
Table = NDArray[Any]

_LEAST_VALUES = 4096
"""Tables with fewer values stay in float32: they take hardly any space."""

_LARGEST = 127
"""The largest absolute value of a rounded weight."""


@dataclass(frozen=True, slots=True)
class PublicTables:
    """The large tables of a public encoder, which an exported network can leave out."""

    names: Mapping[bytes, str] = field(default_factory=dict)
    """Name of each table, by a digest of its values."""
    file: Path | None = None
    """File with the tables as 8-bit integers; None: they are read from the public encoder."""

    def find(self, table: Table) -> tuple[str, bool] | None:
        """Give the name of a public table and whether `table` is its transpose, or None."""
        if self.names and table.ndim == 2 and table.size >= _LEAST_VALUES:
            for is_transposed, each in ((False, table), (True, table.T)):
                name = self.names.get(_digest(each))
                if name is not None:
                    return name, is_transposed
        return None


def read_public(folder: Path) -> PublicTables:
    """List the tables of a public encoder, for a network that reads them from its folder."""
    return PublicTables({_digest(table): name for name, table in _read_large(folder).items()})


def round_public(folder: Path, file: Path) -> PublicTables:
    """Write the tables of a public encoder as 8-bit integers into a file that networks share."""
    tables = {name: _round_rows(table)[0] for name, table in _read_large(folder).items()}
    content = save(tables)
    if not file.is_file():
        with replacing(file) as temporary:
            temporary.write_bytes(content)
    elif file.read_bytes() != content:
        raise FileError(
            file,
            f"exists, but these are not the 8-bit tables of {folder.name}. Choose another file.",
        )
    return PublicTables({_digest(table): name for name, table in tables.items()}, file)


def _read_large(folder: Path) -> dict[str, Floats]:
    tables = load_file(folder / WEIGHTS)
    return {n: t for n, t in tables.items() if t.ndim == 2 and t.size >= _LEAST_VALUES}


def _digest(table: Table) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(table).tobytes()).digest()


def round_weights(model: nn.Module, public: PublicTables) -> None:
    """Round the large tables of a model to 8 bits with a scale per row, in place.

    Tables that will be read from the public encoder are not rounded. Activations stay in float32,
    so that an answer never depends on the rest of its batch.
    """
    for parameter in model.parameters():
        if parameter.ndim == 2 and parameter.numel() >= _LEAST_VALUES:
            values = parameter.detach().numpy()
            if public.file is None and public.find(values):
                continue
            numbers, scale = _round_rows(values)
            parameter.data.copy_(torch.from_numpy(numbers * scale))


def _round_rows(values: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Give a table as 8-bit integers, and the scale of each row: (rows, 1)."""
    scale = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-12) / np.float32(_LARGEST)
    numbers = np.clip(np.round(values / scale), -_LARGEST, _LARGEST).astype(np.int8)
    return numbers, scale


@dataclass(frozen=True, slots=True)
class Packed:
    """The tables that packed graphs leave out and need when they are opened."""

    needs: dict[str, list[str]]
    """For the file name of each graph, the tables it needs."""
    public: dict[str, tuple[str, bool]]
    """Those of the public encoder: name of the weight, and whether it is transposed."""
    shared: dict[str, Table] = field(default_factory=dict)
    """The others, which several graphs use."""


def pack(paths: Sequence[Path], public: PublicTables) -> Packed:
    """Rewrite graph files in place, with their rounded tables stored as 8-bit integers."""
    import onnx

    networks = {path: onnx.load(str(path)) for path in paths}
    packers = {path: _Packer(network.graph, public) for path, network in networks.items()}
    readers = Counter(name for packer in packers.values() for name in packer.numbers)
    shared = {name for name, n_readers in readers.items() if n_readers > 1}
    packed = Packed({}, {})
    for path, packer in packers.items():
        packer.write(shared)
        packed.needs[path.name] = sorted({*packer.links, *(shared & packer.numbers.keys())})
        packed.public.update(packer.links)
        packed.shared.update(
            {name: packer.numbers[name] for name in shared & packer.numbers.keys()}
        )
        if not packed.needs[path.name]:
            onnx.checker.check_model(networks[path])
        path.write_bytes(networks[path].SerializeToString())
    return packed


class _Packer:
    """Packs one graph: the constructor classifies its tables, `write` stores them.

    Between the two, `pack` finds the tables that several graphs share.
    """

    def __init__(self, graph: Any, public: PublicTables) -> None:  # noqa: ANN401
        from onnx import TensorProto, numpy_helper

        self._graph = graph
        self.links: dict[str, tuple[str, bool]] = {}
        """Public tables that the graph leaves out."""
        self.numbers: dict[str, Table] = {}
        """Tables of 8-bit integers."""
        self._initializers: list[Any] = []
        self._renamed: dict[str, str] = {}
        self._tables: dict[str, tuple[str, Floats, int, tuple[int, ...]]] = {}
        """By the table's name in the graph: name of its integers, scales, their axis, shape."""
        for table in graph.initializer:
            values = numpy_helper.to_array(table)
            link = public.find(values) if public.file is None else None
            packed = _find_numbers(values) if table.data_type == TensorProto.FLOAT else None
            if link is not None:
                self._renamed[table.name] = self._link(link, table.data_type, table.dims)
            elif packed is not None:
                numbers, scale, axis = packed
                link = public.find(numbers)
                if link is not None:
                    name = self._link(link, TensorProto.INT8, numbers.shape)
                else:
                    digest = hashlib.sha256(numbers.tobytes()).hexdigest()[:16]
                    name = f"numbers.{digest}.{'x'.join(map(str, numbers.shape))}"
                    self.numbers[name] = np.ascontiguousarray(numbers)
                self._tables[table.name] = (name, scale, axis, values.shape)
            else:
                self._initializers.append(table)

    def _link(self, link: tuple[str, bool], kind: int, shape: Sequence[int]) -> str:
        """Replace a public table by a reference; give the name of the reference."""
        name = f"public.{link[0]}{'.turned' if link[1] else ''}"
        if name not in self.links:
            self._initializers.append(_leave_out(name, kind, shape))
        self.links[name] = link
        return name

    def write(self, shared: set[str]) -> None:
        """Store integers and scales in the graph; the integers of shared tables are left out."""
        from onnx import TensorProto, helper, numpy_helper

        for name, numbers in self.numbers.items():
            if name in shared:
                self._initializers.append(_leave_out(name, TensorProto.INT8, numbers.shape))
            else:
                self._initializers.append(numpy_helper.from_array(numbers, name))
        nodes: list[Any] = []
        for name, (numbers_name, scale, axis, shape) in self._tables.items():
            self._initializers.append(numpy_helper.from_array(scale.ravel(), f"{name}.scale"))
            readers = self._find_readers(name)
            if axis == 0 and len(shape) == 2 and all(_picks_rows(node, name) for node in readers):
                for node in readers:
                    self._unpack_rows(node, numbers_name, f"{name}.scale")
                continue
            unpacked = name if len(shape) == 2 else f"{name}.flat"
            inputs = [numbers_name, f"{name}.scale"]
            nodes.append(helper.make_node("DequantizeLinear", inputs, [unpacked], axis=axis))
            if len(shape) > 2:
                self._initializers.append(numpy_helper.from_array(np.array(shape), f"{name}.shape"))
                nodes.append(helper.make_node("Reshape", [unpacked, f"{name}.shape"], [name]))
        rest = list(self._graph.node)
        for node in rest:
            for index, name in enumerate(node.input):
                node.input[index] = self._renamed.get(name, name)
        del self._graph.initializer[:], self._graph.node[:]
        self._graph.initializer.extend(self._initializers)
        self._graph.node.extend([*nodes, *rest])

    def _find_readers(self, name: str) -> list[Any]:
        return [node for node in self._graph.node if name in node.input]

    def _unpack_rows(self, node: Any, numbers: str, scale: str) -> None:  # noqa: ANN401
        """Restore only the rows that are looked up: embedding tables are large, texts short."""
        from onnx import TensorProto, helper

        rows, output = node.input[1], node.output[0]
        found = [f"{output}.{part}" for part in ("numbers", "plain", "scale", "wide")]
        last = f"{output}.last"
        axes = helper.make_tensor(last, TensorProto.INT64, [1], [-1])
        self._initializers.append(axes)
        where = list(self._graph.node).index(node)
        self._graph.node.remove(node)
        for new in (
            helper.make_node("Mul", [found[1], found[3]], [output]),
            helper.make_node("Unsqueeze", [found[2], last], [found[3]]),
            helper.make_node("Gather", [scale, rows], [found[2]]),
            helper.make_node("Cast", [found[0]], [found[1]], to=TensorProto.FLOAT),
            helper.make_node("Gather", [numbers, rows], [found[0]]),
        ):
            self._graph.node.insert(where, new)


def _picks_rows(node: Any, name: str) -> bool:  # noqa: ANN401
    axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
    return node.op_type == "Gather" and axis == 0 and list(node.input).index(name) == 0


def _leave_out(name: str, kind: int, shape: Sequence[int]) -> Any:  # noqa: ANN401
    """Give an initializer without values: a reference to a table outside the graph."""
    from onnx import TensorProto

    bare = TensorProto(name=name, data_type=kind, dims=shape)
    bare.data_location = TensorProto.EXTERNAL
    entry = bare.external_data.add()
    entry.key, entry.value = "location", "elsewhere"
    return bare


def _find_numbers(values: Floats) -> tuple[NDArray[np.int8], Floats, int] | None:
    """Give a rounded table as 8-bit integers, scales and the axis of the scales, else None.

    The axis is 1 for tables that the exporter has transposed.
    """
    if values.size < _LEAST_VALUES or values.ndim < 2:
        return None
    # Both directions of an LSTM are one table with three axes: their rows are stacked.
    flat = values.reshape(-1, values.shape[-1])
    for axis, table in ((0, flat), (1, flat.T)):
        numbers, scale = _round_rows(table)
        if np.allclose(numbers * scale, table, rtol=1e-5, atol=1e-7):
            return numbers if axis == 0 else numbers.T, scale, axis
    return None
