"""bfloat16 for the matrix products of the trained transformer layers.

CPUs with AVX512-BF16 or AMX and all newer GPUs multiply at least twice as fast in bfloat16.
Weights, their updates and scoring stay in float32.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

Precision = Literal["float32", "bfloat16"]


@contextmanager
def computing_in(precision: Precision, device: torch.device) -> Iterator[None]:
    """Multiply in a precision inside the block; the caller converts the results to float32."""
    if precision == "float32":
        yield
        return
    with torch.autocast(device.type, dtype=torch.bfloat16):
        if device.type == "cpu":
            # The backward pass of the fused kernel is twice as slow in bfloat16 as in float32.
            with sdpa_kernel(SDPBackend.MATH):
                yield
        else:
            yield
