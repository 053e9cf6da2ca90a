"""An exported network on onnxruntime: the same Batch in, the same Output out."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from koala.batch import Batch
from koala.decoding import Output
from koala.encoders.weights import WEIGHTS, find_weights
from koala.errors import FileError
from koala.runtime.files import NETWORK, OUTPUTS, Card, read_card


def read_public(card: Card) -> dict[str, onnxruntime.OrtValue]:
    """Read the tables that a network takes from the weights of its public encoder."""
    if not card.public:
        return {}
    from safetensors import safe_open

    path = find_weights(card.read_settings().encoder.name) / WEIGHTS
    tables = {}
    with safe_open(path, framework="np") as file:
        for name, (weight, is_turned) in card.public.items():
            table = file.get_tensor(weight).astype(np.float32)
            ready = np.ascontiguousarray(table.T if is_turned else table)
            tables[name] = onnxruntime.OrtValue.ortvalue_from_numpy(ready)
    return tables


class OnnxNetwork:
    """A network from its folder."""

    def __init__(self, folder: Path, *, n_threads: int | None = None) -> None:
        self.card = read_card(folder)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # Left to itself it would also round what is computed, by a scale from the whole batch.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        if n_threads is not None:
            options.intra_op_num_threads = n_threads
        # Kept as long as the session: it does not copy them.
        self._public = read_public(self.card)
        options.add_external_initializers(list(self._public), list(self._public.values()))
        try:
            self._session = onnxruntime.InferenceSession(
                str(folder / NETWORK), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise FileError(folder / NETWORK, f"cannot be opened ({error}).") from None
        self._transitions = np.array(self.card.transitions, dtype=np.float32)
        self._starts = np.array(self.card.starts, dtype=np.float32)
        self._ends = np.array(self.card.ends, dtype=np.float32)
        # A network without knowledge has no inputs for triples.
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._outputs = [each.name for each in self._session.get_outputs()]

    def __call__(self, batch: Batch) -> Output:
        """Score tags and places of every entity of a batch."""
        feed = {name: getattr(batch, name) for name in self._inputs}
        found: dict[str, Any] = dict(
            zip(self._outputs, self._session.run(self._outputs, feed), strict=True)
        )
        owner = batch.procedure
        return Output(
            **{name: found[name] for name in OUTPUTS if name in found},
            transitions=self._transitions,
            starts=self._starts,
            ends=self._ends,
            n_steps=batch.step_mask.sum(1)[owner].astype(np.int64),
            n_candidates=batch.candidate_mask.sum(1)[owner].astype(np.int64),
        )
