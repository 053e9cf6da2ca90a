"""The processes that train one model together, as `accelerate launch` starts them; mostly one."""

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

_PATIENCE = timedelta(hours=4)
"""How long the others wait while the main process prepares data or scores dev."""
_BUCKET = 1 << 24
"""Gradients are summed so many values at a time: 64 MB."""

_MMAP_THRESHOLD = -3
"""Glibc's name of a setting of `mallopt`."""
_LARGE = 1 << 22
"""Bytes from which on memory is given back to the system as soon as it is free."""

Value = TypeVar("Value")


class Processes:
    """All processes of a run, seen from one of them. Where there is one, nothing is exchanged."""

    @cached_property
    def _state(self) -> PartialState:
        # Where it is opened first, it stays as it is: accelerate has one state a process.
        return PartialState(cpu=_is_for_cpu(), timeout=_PATIENCE)

    @property
    def n(self) -> int:
        """How many there are."""
        return int(self._state.num_processes)

    @property
    def index(self) -> int:
        """The number of this one, from 0."""
        return int(self._state.process_index)

    @property
    def is_main(self) -> bool:
        """Whether this is the one that writes and talks."""
        return self.index == 0

    @property
    def device(self) -> torch.device:
        """Where this one computes: a GPU of its own, where there are any."""
        device: torch.device = self._state.device
        return device

    def main_first(self) -> AbstractContextManager[None]:
        """Let the main process go first: what it leaves in a cache the others find there."""
        first: AbstractContextManager[None] = self._state.main_process_first()
        return nullcontext() if self.n == 1 else first

    def wait(self) -> None:
        """Wait until all are here."""
        self._state.wait_for_everyone()

    def from_main(self, find: Callable[[], Value]) -> Value:
        """Let the main process find something, and give it to all."""
        found = [find() if self.is_main else None]
        if self.n > 1:
            broadcast_object_list(found)
        value: Value = found[0]  # type: ignore[assignment]
        return value

    def agree(self, value: object, problem: str) -> None:
        """Raise an error where this process does not have what the main one has."""
        if self.from_main(lambda: value) != value:
            raise KoalaError(problem)

    def sum(self, values: Tensor) -> Tensor:
        """Add up what all processes have."""
        if self.n == 1:
            return values
        total: Tensor = reduce(values, "sum")
        return total

    def sum_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Add up the gradients of all processes; what none has a gradient for stays without."""
        if self.n == 1:
            return
        learned = [parameter for parameter in parameters if parameter.requires_grad]
        has_gradient = torch.tensor([p.grad is not None for p in learned], device=self.device)
        known = self.sum(has_gradient.long()).tolist()
        wanted = [parameter for parameter, count in zip(learned, known, strict=True) if count]
        for bucket in _split_buckets(wanted):
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
    """Have glibc give large tensors back at once; tell whether this is glibc.

    Else it keeps what was freed, and batches of ever other lengths leave holes in it: a stage of 80
    minutes grew to more than twice the memory of its first batches.
    """
    return _ask_glibc("mallopt", _MMAP_THRESHOLD, _LARGE)


def trim_memory() -> bool:
    """Have glibc give back what is free now; tell whether anything was.

    For training, whose tensors are too many for `give_memory_back`: it would be a quarter slower.
    """
    return _ask_glibc("malloc_trim", 0)


def _ask_glibc(name: str, *numbers: int) -> bool:
    """Call a function of the C library that other libraries do not have."""
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
    """Several processes without GPUs must say that they mean it, or accelerate sees but one.

    A Mac's GPU cannot be shared, knows no float64, and nobody has tried it here.
    """
    if os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes", "on"):
        return True
    gpu = torch.accelerator.current_accelerator(check_available=True)
    if gpu is None:
        return int(os.environ.get("WORLD_SIZE", "1")) > 1
    return gpu.type == "mps"
