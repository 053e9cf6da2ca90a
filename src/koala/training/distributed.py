"""Training with several processes, as `accelerate launch` starts them; also works with one."""

import ctypes
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import cached_property
from typing import TypeVar

import torch
from accelerate import PartialState  # type: ignore[import-untyped]
from accelerate.utils import broadcast_object_list, reduce  # type: ignore[import-untyped]
from torch import Tensor, nn

from koala.errors import KoalaError

_TIMEOUT = timedelta(hours=4)
"""How long the other processes wait while the main one prepares data or scores dev."""
_BUCKET = 1 << 24
"""Number of gradient values that are summed at a time: 64 MB."""

_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD, a parameter of glibc's `mallopt`."""
_LARGE = 1 << 22
"""Allocations of at least so many bytes return to the system as soon as they are freed."""

Value = TypeVar("Value")


class Processes:
    """All processes of a run, seen from one of them. A single process exchanges nothing."""

    @cached_property
    def _state(self) -> PartialState:
        # Accelerate has one state per process; the first call decides its device and timeout.
        return PartialState(cpu=_is_for_cpu(), timeout=_TIMEOUT)

    @property
    def n(self) -> int:
        """The number of processes."""
        return int(self._state.num_processes)

    @property
    def index(self) -> int:
        """The number of this process, from 0."""
        return int(self._state.process_index)

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes files and messages."""
        return self.index == 0

    @property
    def device(self) -> torch.device:
        """The device of this process: its own GPU, if there are GPUs."""
        device: torch.device = self._state.device
        return device

    def main_first(self) -> AbstractContextManager[None]:
        """Run a block in the main process first, so that the others find what it caches."""
        first: AbstractContextManager[None] = self._state.main_process_first()
        return nullcontext() if self.n == 1 else first

    def wait(self) -> None:
        """Wait until all processes get here."""
        self._state.wait_for_everyone()

    def from_main(self, find: Callable[[], Value]) -> Value:
        """Call a function in the main process and give its result to all processes."""
        found = [find() if self.is_main else None]
        if self.n > 1:
            broadcast_object_list(found)
        value: Value = found[0]  # type: ignore[assignment]
        return value

    def agree(self, value: object, problem: str) -> None:
        """Raise an error if this process has a different value than the main process."""
        if self.from_main(lambda: value) != value:
            raise KoalaError(problem)

    def sum(self, values: Tensor) -> Tensor:
        """Sum the values of all processes."""
        if self.n == 1:
            return values
        total: Tensor = reduce(values, "sum")
        return total

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sum the gradients of all processes; a parameter without any gradient stays without."""
        if self.n == 1:
            return
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        has_gradient = torch.tensor([p.grad is not None for p in trained], device=self.device)
        counts = self.sum(has_gradient.long()).tolist()
        summed = [parameter for parameter, count in zip(trained, counts, strict=True) if count]
        for bucket in _split_buckets(summed):
            for parameter in bucket:
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)
            gradients = [p.grad for p in bucket if p.grad is not None]
            total = self.sum(torch.cat([gradient.flatten() for gradient in gradients]))
            sizes = [gradient.numel() for gradient in gradients]
            parts = total.split(sizes)  # type: ignore[no-untyped-call]
            for gradient, part in zip(gradients, parts, strict=True):
                gradient.copy_(part.view_as(gradient))


def give_memory_back() -> bool:
    """Make glibc return large tensors to the system when they are freed; tell if this is glibc.

    By default glibc holds on to freed memory, which fragments because batches differ in length: a
    pretraining stage of 80 minutes grew to more than twice the memory of its first batches.
    """
    return _call_glibc("mallopt", _MMAP_THRESHOLD, _LARGE)


def trim_memory() -> bool:
    """Make glibc return the memory that is free now; tell whether it returned any.

    For the training loop, which has so many tensors that `give_memory_back` would make it a quarter
    slower.
    """
    return _call_glibc("malloc_trim", 0)


def _call_glibc(name: str, *numbers: int) -> bool:
    """Call a function of the C library; give False if this library does not have it."""
    try:
        return bool(getattr(ctypes.CDLL(None), name)(*numbers))
    except (AttributeError, OSError, TypeError):
        return False


def _split_buckets(parameters: Iterable[nn.Parameter]) -> Iterator[list[nn.Parameter]]:
    bucket: list[nn.Parameter] = []
    for parameter in parameters:
        bucket.append(parameter)
        if sum(each.numel() for each in bucket) >= _BUCKET:
            yield bucket
            bucket = []
    if bucket:
        yield bucket


def _is_for_cpu() -> bool:
    """Tell whether to train on the CPU.

    Accelerate must be told so when several processes run without GPUs, else it sees only one
    process. A Mac's GPU is not used: processes cannot share it, it has no float64, and it is
    untested.
    """
    if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes", "on"):
        return True
    gpu = torch.accelerator.current_accelerator(check_available=True)
    if gpu is None:
        return int(os.environ.get("WORLD_SIZE", "1")) > 1
    return gpu.type == "mps"
