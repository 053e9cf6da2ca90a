"""Outputs of a transformer's layers: their learned mixture, and a cache for frozen layers."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from koala.files import replacing
from koala.network.torch.transformer import Layers, run_layers

_CACHE_VALUES = 2_000_000_000
"""Values of frozen layers that are cached in memory, in half precision: 4 GB. All layers of MPNet
take 0.7 GB for ProPara, and 3.4 GB with another 1,400 training paragraphs."""


class LayerMixture(nn.Module):
    """γ Σ s_j h_j over all layers j, s = softmax w, as in ELMo (Peters et al. 2018)."""

    def __init__(self, n_layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(n_layers))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, layers: Tensor) -> Tensor:
        """Mix (rows, layers, subwords, hidden) to (rows, subwords, hidden)."""
        shares = self.weights.softmax(0)
        return self.scale * torch.einsum("rlph,l->rph", layers, shares)


class FrozenLayerCache:
    """Outputs of frozen layers, computed once for each row of subwords and without dropout."""

    def __init__(self, transformer: nn.Module, layers: Layers = "last", *, n_layers: int) -> None:
        self._transformer = transformer
        self._layers: Layers = layers
        self._n_layers = n_layers
        self._cache: dict[bytes, Tensor] = {}
        self._n_values = 0
        self._folder: Path | None = None

    def cache_in(self, folder: Path) -> None:
        """Cache rows in a folder, where other runs with the same encoder find them.

        A row of MPNet takes about two megabytes. Several encoders may share a folder.
        """
        digest = hashlib.sha256(f"{self._layers} {self._n_layers}".encode())
        for value in self._transformer.state_dict().values():
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        self._folder = folder / digest.hexdigest()[:16]
        self._folder.mkdir(parents=True, exist_ok=True)

    def get(self, subwords: Tensor, mask: Tensor) -> Tensor:
        """Give the layers' outputs (rows, layers, subwords, hidden); zero at padding."""
        lengths = mask.sum(1).tolist()
        keys = [row[:n].numpy().tobytes() for row, n in zip(subwords.cpu(), lengths, strict=True)]
        if self._n_values > _CACHE_VALUES:
            self._cache.clear()
            self._n_values = 0
        self._open_files(keys)
        new = list({key: i for i, key in enumerate(keys) if key not in self._cache}.values())
        if new:
            self._encode(subwords[new], mask[new], [keys[i] for i in new])
        rows = [self._cache[key] for key in keys]
        first = rows[0]
        shape = (len(rows), first.shape[0], subwords.shape[1], first.shape[2])
        table = torch.zeros(shape, device=subwords.device)
        for number, row in enumerate(rows):
            table[number, :, : row.shape[1]] = row.float()
        return table

    def _encode(self, subwords: Tensor, mask: Tensor, keys: Sequence[bytes]) -> None:
        was_training = self._transformer.training
        self._transformer.eval()
        with torch.no_grad():
            hidden = run_layers(
                self._transformer, subwords, mask, self._layers, stop=self._n_layers
            )
        self._transformer.train(was_training)
        for row, key, length in zip(hidden, keys, mask.sum(1).tolist(), strict=True):
            # Half precision halves the memory; every epoch reads the same rounded values.
            self._cache[key] = row[:, :length].half()
            if self._folder is None:
                self._n_values += self._cache[key].numel()
            else:
                self._write(key, self._cache[key])

    def _open_files(self, keys: Sequence[bytes]) -> None:
        """Open the rows that the folder holds; they are memory-mapped and take no memory."""
        for key in keys if self._folder else ():
            path = self._path_of(key)
            if key not in self._cache and path.is_file():
                self._cache[key] = torch.from_numpy(np.load(path, mmap_mode="r+"))

    def _write(self, key: bytes, row: Tensor) -> None:
        path = self._path_of(key)
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.save(file, row.cpu().numpy())
        self._cache[key] = torch.from_numpy(np.load(path, mmap_mode="r+"))

    def _path_of(self, key: bytes) -> Path:
        return (self._folder or Path()) / f"{hashlib.sha256(key).hexdigest()[:32]}.npy"
