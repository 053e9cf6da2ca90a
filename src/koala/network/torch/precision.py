"""bfloat16 where it pays: in the multiplications of a transformer that learns.

Processors with AVX512-BF16 or AMX, and all newer GPUs, multiply in it two times as fast or more.
Weights, their updates and everything that is scored stay in float32.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

Precision = Literal["float32", "bfloat16"]


@contextmanager
def computing_in(precision: Precision, device: torch.device) -> Iterator[None]:
    """Multiply in a precision; what comes out of the block is to be made float32 again."""
    if precision == "float32":
        yield
        return
    with torch.autocast(device.type, dtype=torch.bfloat16):
        if device.type == "cpu":
            # The way back through the fused kernel is twice as slow in bfloat16 as in float32.
            with sdpa_kernel(SDPBackend.MATH):
                yield
        else:
            yield
