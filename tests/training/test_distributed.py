"""Communication of processes; `test_sharing.py` compares a run of two processes with one of one."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from koala.errors import KoalaError  # noqa: E402
from koala.training import distributed  # noqa: E402
from koala.training.distributed import Processes  # noqa: E402


class Twin(Processes):
    """One of two processes that have the same values."""

    n, index, device = 2, 1, torch.device("cpu")

    def sum(self, values):
        return 2 * values

    def from_main(self, find):
        return find()


def build_parameters():
    """Give a parameter with a gradient, one without, and a frozen one."""
    parameters = [torch.nn.Parameter(torch.ones(size)) for size in (3, 2, 4)]
    parameters[0].grad = torch.tensor([1.0, 2.0, 3.0])
    parameters[2].requires_grad_(False)
    return parameters


@pytest.mark.parametrize("bucket", [1, 4, 100])
def test_gradients_are_summed_and_missing_ones_stay_missing(monkeypatch, bucket):
    monkeypatch.setattr(distributed, "_BUCKET", bucket)
    parameters = build_parameters()
    parameters.append(torch.nn.Parameter(torch.ones(2, 2)))
    parameters[3].grad = torch.arange(4.0).view(2, 2)
    Twin().sum_gradients(parameters)
    assert parameters[0].grad.tolist() == [2.0, 4.0, 6.0]
    assert parameters[3].grad.tolist() == [[0.0, 2.0], [4.0, 6.0]]
    assert parameters[1].grad is None
    assert parameters[2].grad is None


def test_a_process_without_gradients_gets_those_of_the_others():
    class Idle(Twin):
        """The other process has a gradient of ones for every parameter."""

        def sum(self, values):
            return values + torch.ones_like(values)

    parameters = build_parameters()[:2]
    parameters[0].grad = None
    Idle().sum_gradients(parameters)
    assert [parameter.grad.tolist() for parameter in parameters] == [[1.0] * 3, [1.0] * 2]


def test_one_process_exchanges_nothing():
    parameters = build_parameters()
    alone = Processes()
    alone.sum_gradients(parameters)
    assert parameters[0].grad.tolist() == [1.0, 2.0, 3.0]
    assert alone.sum(parameters[0]) is parameters[0]
    assert alone.from_main(lambda: 3) == 3
    with alone.main_first():
        assert (alone.n, alone.index, alone.is_main) == (1, 0, True)


def test_processes_with_different_values_raise_an_error():
    class Other(Twin):
        def from_main(self, find):
            return find() + 1

    Twin().agree(3, "not raised")
    with pytest.raises(KoalaError, match="share the folder"):
        Other().agree(3, "They must share the folder.")


@pytest.mark.parametrize(
    ("gpu", "environment", "expected"),
    [
        (None, {}, False),
        (None, {"WORLD_SIZE": "2"}, True),
        ("cuda", {"WORLD_SIZE": "2"}, False),
        ("cuda", {"ACCELERATE_USE_CPU": "true"}, True),
        ("mps", {}, True),
    ],
)
def test_the_cpu_is_used_without_a_usable_gpu(monkeypatch, gpu, environment, expected):
    device = None if gpu is None else torch.device(gpu)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: device)
    for name in ("WORLD_SIZE", "ACCELERATE_USE_CPU"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert distributed._is_for_cpu() == expected


FRAGMENTATION = """
import sys, torch
from koala.training.distributed import give_memory_back, trim_memory

def resident():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024

if sys.argv[1] == "back" and not give_memory_back():
    sys.exit("no glibc")
large = torch.ones(30 << 18)
del large  # from now on glibc holds on to smaller allocations
before = resident()
tensors = [torch.ones(8 << 18) for _ in range(20)]
del tensors[:-1]
if sys.argv[1] == "trim":
    trim_memory()
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and is about glibc")
def test_freed_memory_returns_to_the_system():
    def run(mode):
        command = [sys.executable, "-c", FRAGMENTATION, mode]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.stderr.strip() == "no glibc":
            pytest.skip("another C library")
        return float(found.stdout)

    # One of twenty tensors of 8 MB is still in use.
    assert max(run("back"), run("trim")) < 20 < 100 < run("default")
