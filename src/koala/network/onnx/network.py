"""The ONNX network: takes the same Batch and gives the same Output as the torch model."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from koala.encoders.weights import WEIGHTS, find_weights
from koala.errors import FileError
from koala.inputs.arrays import TRIPLE_VECTORS, Batch
from koala.network.card import NETWORK, OUTPUTS, TABLES, TRIPLES, Card, read_card
from koala.network.onnx.names import current_name
from koala.network.onnx.triples import TripleVectors
from koala.network.output import Output

Tables = dict[str, onnxruntime.OrtValue]


class OnnxNetwork:
    """An exported network, opened from its folder."""

    def __init__(self, folder: Path, *, n_threads: int | None = None) -> None:
        self.card = read_card(folder)
        # The sessions do not copy the tables, so they must live as long as the sessions.
        self._tables = read_tables(self.card, folder)
        self._session = self._open(folder / NETWORK, n_threads)
        self._triples: TripleVectors | None = None
        if (folder / TRIPLES).is_file():
            self._triples = TripleVectors(self._open(folder / TRIPLES, n_threads))
        self._transitions = np.array(self.card.transitions, dtype=np.float32)
        self._starts = np.array(self.card.starts, dtype=np.float32)
        self._ends = np.array(self.card.ends, dtype=np.float32)
        settings = self.card.read_settings()
        self._may_be_absent = settings.may_be_absent
        self._inputs = {each.name for each in self._session.get_inputs()}
        self._outputs = [each.name for each in self._session.get_outputs()]

    def _open(self, path: Path, n_threads: int | None) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        # By default onnxruntime would also quantize activations, with a scale over the whole batch.
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        # Spinning threads would block the cores for the rest of the process.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if n_threads is not None:
            options.intra_op_num_threads = n_threads
        needed = self.card.needs.get(path.name, [])
        options.add_external_initializers(needed, [self._tables[name] for name in needed])
        try:
            return onnxruntime.InferenceSession(
                str(path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise FileError(
                path, f"cannot be opened as an ONNX graph ({error}). Export the network again."
            ) from None

    def __call__(self, batch: Batch) -> Output:
        """Score the tags and locations of every entity of a batch."""
        feed = {
            name: getattr(batch, current_name(name)) for name in self._inputs - {TRIPLE_VECTORS}
        }
        if self._triples is not None:
            feed[TRIPLE_VECTORS] = self._triples.get(batch)
        outputs: dict[str, Any] = dict(
            zip(
                map(current_name, self._outputs),
                self._session.run(self._outputs, feed),
                strict=True,
            )
        )
        owner = batch.procedure
        return Output(
            **{name: outputs[name] for name in OUTPUTS if name in outputs},
            transitions=self._transitions,
            starts=self._starts,
            ends=self._ends,
            n_steps=batch.step_mask.sum(1)[owner].astype(np.int64),
            n_candidates=batch.candidate_mask.sum(1)[owner].astype(np.int64),
            may_be_absent=self._may_be_absent,
        )


def read_tables(card: Card, folder: Path) -> Tables:
    """Read the tables stored outside the graph files: the public encoder's and the shared ones."""
    names = {name for needed in card.needs.values() for name in needed}
    tables: Tables = {}
    if card.public:
        own = folder / card.encoder if card.encoder else None
        public = own or find_weights(card.read_settings().encoder.name) / WEIGHTS
        tables |= _read(public, card.public)
    shared = {name: (name, False) for name in names - card.public.keys()}
    if shared:
        tables |= _read(folder / TABLES, shared)
    return tables


def _read(path: Path, wanted: dict[str, tuple[str, bool]]) -> Tables:
    """Read tables from a safetensors file.

    `wanted` gives for each table the name of its weight in the file and whether to transpose it.
    """
    from safetensors import SafetensorError, safe_open

    tables = {}
    try:
        with safe_open(path, framework="np") as file:
            for name, (weight, is_transposed) in wanted.items():
                table = file.get_tensor(weight)
                if table.dtype != np.int8:
                    table = table.astype(np.float32)
                ready = np.ascontiguousarray(table.T if is_transposed else table)
                tables[name] = onnxruntime.OrtValue.ortvalue_from_numpy(ready)
    except (OSError, SafetensorError) as error:
        raise FileError(path, f"cannot be read ({error}).") from None
    return tables
