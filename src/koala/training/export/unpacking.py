"""Unpacking of exported ONNX graphs: the reverse of `packing`, back to tables of floats."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from koala.network.card import read_card
from koala.network.onnx.network import read_tables

Table = NDArray[Any]


def unpack(folder: Path, name: str) -> dict[str, Table]:
    """Give the constants of a graph by the names that the exporter gave them.

    Tables that the graph reads from the public encoder in full precision are left out.
    """
    import onnx

    card = read_card(folder)
    # Copies, because the memory of a table is freed with its OrtValue.
    outside = {each: value.numpy().copy() for each, value in read_tables(card, folder).items()}
    network = onnx.load(str(folder / name), load_external_data=False)
    return unpack_graph(network.graph, outside)


def unpack_graph(graph: Any, outside: Mapping[str, Table]) -> dict[str, Table]:  # noqa: ANN401
    """Give the constants of a graph; `outside` has the tables that are not in its file."""
    from onnx import numpy_helper

    packed = {
        table.name: outside[table.name] if table.name in outside else numpy_helper.to_array(table)
        for table in graph.initializer
    }
    found = {name: packed[name] for name in packed if not name.startswith(("numbers.", "public."))}
    gathers: dict[str, list[str]] = {}
    for node in graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in packed:
            axis = next((each.i for each in node.attribute if each.name == "axis"), 1)
            numbers, scale = (packed[each] for each in node.input[:2])
            values = numbers * (scale[:, None] if axis == 0 else scale[None, :])
            own = node.output[0].removesuffix(".flat")
            shape = packed.get(f"{own}.shape", np.array(values.shape))
            found[own] = values.astype(np.float32).reshape(shape)
        elif node.op_type == "Gather" and node.input[0] in packed:
            gathers.setdefault(node.output[0].rpartition(".")[0], []).append(node.input[0])
    for tables in gathers.values():
        # Rows that are looked up have two tables, the integers and their scales.
        scales = [each for each in tables if each.endswith(".scale")]
        integers = [each for each in tables if packed[each].dtype == np.int8]
        if scales and integers:
            values = packed[integers[0]] * packed[scales[0]][:, None]
            found[scales[0].removesuffix(".scale")] = values.astype(np.float32)
    helpers = {f"{name}{part}" for name in found for part in (".scale", ".shape")}
    return {name: table for name, table in found.items() if name not in helpers}
