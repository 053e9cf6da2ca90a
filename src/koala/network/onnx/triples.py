"""What a network says of triples: each distinct one is read once, whatever texts come."""

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from koala.cache import BoundedCache
from koala.inputs.arrays import TRIPLE_VECTORS, Batch
from koala.network.onnx.names import current_name

Floats = NDArray[np.float32]

_MOST_KEPT = 1 << 15
"""Vectors that are kept."""


class TripleVectors:
    """Vectors of triples, kept for later batches.

    Only triples of the same length are read together: nothing is padded, so that what is said of
    one does not depend on when it came and on its neighbours.
    """

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._known: BoundedCache[bytes, Floats] = BoundedCache(_MOST_KEPT)

    def get(self, batch: Batch) -> Floats:
        """Give (distinct triples, width)."""
        lengths = batch.triple_input_mask.sum(1).tolist()
        keys = [row[:n].tobytes() for row, n in zip(batch.triple_subwords, lengths, strict=True)]
        found = {key: known for key in keys if (known := self._known.get(key)) is not None}
        missing: dict[int, dict[bytes, int]] = {}
        for row, (key, length) in enumerate(zip(keys, lengths, strict=True)):
            if key not in found:
                missing.setdefault(length, {})[key] = row
        for length, rows in missing.items():
            vectors = self._read(batch, list(rows.values()), length)
            for key, vector in zip(rows, vectors, strict=True):
                found[key] = self._known[key] = vector
        return np.stack([found[key] for key in keys])

    def _read(self, batch: Batch, rows: list[int], length: int) -> Floats:
        names = [each.name for each in self._session.get_inputs()]
        feed = {name: getattr(batch, current_name(name))[rows, :length] for name in names}
        vectors: Floats = self._session.run([TRIPLE_VECTORS], feed)[0]
        return vectors
