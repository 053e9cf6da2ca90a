"""Export of a trained network to ONNX graphs and a card that describes them.

Networks with knowledge have a second graph that encodes triples, so that the vector of a triple can
be cached for all texts.
"""

import hashlib
import os
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path

import torch
from safetensors.numpy import save
from torch import Tensor, nn

import koala
from koala.inputs.arrays import TRIPLE_INPUTS, TRIPLE_VECTORS, Batch, Batcher
from koala.inputs.examples import Item
from koala.network.card import (
    NETWORK,
    OUTPUTS,
    TABLES,
    TRIPLES,
    Card,
    write_card,
)
from koala.network.torch.ensemble import HeadEnsemble
from koala.network.torch.koala import KoalaModel
from koala.training.export.packing import PublicTables, pack, round_weights

_OPSET = 17
_AXES = {
    "subwords": ("procedures", "subwords"),
    "subwords_mask": ("procedures", "subwords"),
    "step_subwords": ("procedures", "steps", "subwords"),
    "verb_subwords": ("procedures", "steps", "subwords"),
    "candidate_subwords": ("procedures", "candidates", "steps", "subwords"),
    "candidate_mask": ("procedures", "candidates"),
    "candidate_number": ("procedures", "candidates"),
    "step_mask": ("procedures", "steps"),
    "convention": ("procedures",),
    "procedure": ("batch",),
    "group": ("batch",),
    "entity_subwords": ("batch", "steps", "subwords"),
    "name_subwords": ("batch", "subwords"),
    "triple_subwords": ("distinct triples", "triple subwords"),
    "triple_subwords_mask": ("distinct triples", "triple subwords"),
    "triple_input_mask": ("distinct triples", "triple subwords"),
    "triples": ("batch", "triples"),
    "triple_mask": ("batch", "triples"),
    TRIPLE_VECTORS: ("distinct triples",),
    "tags": ("batch", "steps"),
    "locations": ("batch", "positions", "candidates"),
    "attention": ("batch", "steps", "triples"),
}


class _Graph(nn.Module):
    """The network as a function from tensors to tensors, as the exporter needs it."""

    def __init__(self, model: KoalaModel | HeadEnsemble, names: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self._names = names

    def forward(self, *arrays: Tensor) -> tuple[Tensor, ...]:
        output = self.model.score(dict(zip(self._names, arrays, strict=True)))
        if output.state_attention is None:
            return output.tags, output.locations
        return output.tags, output.locations, output.state_attention.exp()


class _TripleGraph(nn.Module):
    """The encoding of triples as a function from tensors to tensors."""

    def __init__(self, model: KoalaModel | HeadEnsemble) -> None:
        super().__init__()
        # The whole model, because the exporter finds only weights of registered submodules, and a
        # shared triple encoder does not register the text encoder's layers.
        self.model = model

    def forward(self, *arrays: Tensor) -> Tensor:
        vectors: Tensor = self.model.read_triples(*arrays)
        return vectors


def export_network(
    model: KoalaModel | HeadEnsemble,
    batcher: Batcher,
    items: Sequence[Item],
    folder: Path,
    card: Card,
    *,
    public: PublicTables | None = None,
) -> None:
    """Write a network as ONNX graphs with 8-bit weights and a card.

    `items` are example inputs for tracing. The weights of `model` itself are rounded as well, so
    that it gives the same output as the export. Tables of the public encoder that training did not
    change are left out if `public` has them; they are then read from the public encoder or from its
    8-bit copy.
    """
    model.eval()
    model.clear_cache()
    tables = public or PublicTables()
    round_weights(model, tables)
    batch = batcher.build(items)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".export-") as name:
        temporary = Path(name)
        paths = write_graphs(model, batch, temporary)
        packed = pack(paths, tables)
        if packed.shared:
            (temporary / TABLES).write_bytes(save(packed.shared))
        for old in (NETWORK, TRIPLES, TABLES):
            (folder / old).unlink(missing_ok=True)
        for new in sorted(temporary.iterdir()):
            new.replace(folder / new.name)
    transitions, starts, ends = (part.tolist() for part in model.potentials())
    digest = _digest_of(folder, tables.file)
    complete = replace(
        card,
        transitions=transitions,
        starts=starts,
        ends=ends,
        signature=f"{card.name}|network:{digest}|koala:{koala.__version__}",
        needs=packed.needs,
        public=packed.public,
        encoder=os.path.relpath(tables.file, folder) if tables.file else "",
    )
    write_card(complete, folder)


def write_graphs(model: KoalaModel | HeadEnsemble, batch: Batch, folder: Path) -> list[Path]:
    """Write a network as ONNX graphs with 32-bit weights: of texts and, if it reads any, triples.

    `batch` is an example input for tracing.
    """
    arrays = {each.name: torch.from_numpy(getattr(batch, each.name)) for each in fields(Batch)}
    paths = [folder / NETWORK]
    if model.triple_encoder is not None:
        inputs = {name: arrays.pop(name) for name in TRIPLE_INPUTS}
        paths.append(folder / TRIPLES)
        _export(_TripleGraph(model), inputs, (TRIPLE_VECTORS,), paths[1])
        with torch.no_grad():
            arrays[TRIPLE_VECTORS] = model.read_triples(*inputs.values())
    outputs = OUTPUTS if model.triple_encoder is not None else OUTPUTS[:-1]
    _export(_Graph(model, list(arrays)), arrays, outputs, paths[0])
    return paths


def _export(
    graph: nn.Module, arrays: Mapping[str, Tensor], outputs: Sequence[str], path: Path
) -> None:
    with warnings.catch_warnings():
        # The newer exporter (dynamo) cannot yet export an LSTM over sequences of different lengths;
        # the older one can, and warns that it is deprecated.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph,
            tuple(arrays.values()),
            str(path),
            dynamo=False,
            opset_version=_OPSET,
            input_names=list(arrays),
            output_names=list(outputs),
            dynamic_axes={name: dict(enumerate(_AXES[name])) for name in (*arrays, *outputs)},
        )


def _digest_of(folder: Path, encoder: Path | None) -> str:
    """Give a short digest of all files of a network."""
    digest = hashlib.sha256()
    for path in (*(folder / name for name in (NETWORK, TRIPLES, TABLES)), encoder):
        if path is not None and path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()[:8]
