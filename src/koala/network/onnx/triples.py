"""Vectors of knowledge triples from the exported network, cached across batches."""

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from koala.cache import BoundedCache
from koala.inputs.arrays import TRIPLE_VECTORS, Batch
from koala.network.onnx.names import current_name

Floats = NDArray[np.float32]

_CACHE_SIZE = 1 << 15
"""Number of cached vectors."""


class TripleVectors:
    """Encodes each distinct triple once and caches its vector for later batches.

    Only triples of the same length are encoded together. Nothing is padded, so the vector of a
    triple does not depend on the other triples of its batch.
    """

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._cache: BoundedCache[bytes, Floats] = BoundedCache(_CACHE_SIZE)

    def get(self, batch: Batch) -> Floats:
        """Give the vectors of a batch: (distinct triples, width)."""
        lengths = batch.triple_input_mask.sum(1).tolist()
        keys = [row[:n].tobytes() for row, n in zip(batch.triple_subwords, lengths, strict=True)]
        found = {key: cached for key in keys if (cached := self._cache.get(key)) is not None}
        missing: dict[int, dict[bytes, int]] = {}
        for row, (key, length) in enumerate(zip(keys, lengths, strict=True)):
            if key not in found:
                missing.setdefault(length, {})[key] = row
        for length, rows in missing.items():
            vectors = self._read(batch, list(rows.values()), length)
            for key, vector in zip(rows, vectors, strict=True):
                found[key] = self._cache[key] = vector
        return np.stack([found[key] for key in keys])

    def _read(self, batch: Batch, rows: list[int], length: int) -> Floats:
        names = [each.name for each in self._session.get_inputs()]
        feed = {name: getattr(batch, current_name(name))[rows, :length] for name in names}
        vectors: Floats = self._session.run([TRIPLE_VECTORS], feed)[0]
        return vectors
