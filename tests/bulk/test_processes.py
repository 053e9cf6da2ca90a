"""Workers end with their parent and ignore Ctrl-C."""

import os
import signal
import subprocess
import sys

import pytest

# The worker prints its process id, then works for longer than the tests wait.
SCRIPT = """
import multiprocessing, os, time
from concurrent.futures import ProcessPoolExecutor
from koala.bulk.processes import end_with_parent, without_interrupts

def work():
    print(os.getpid(), flush=True)
    time.sleep(100)
    os._exit(1)

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=end_with_parent)
    with without_interrupts():
        future = pool.submit(work)
    future.result()
"""


@pytest.fixture
def parent(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(SCRIPT)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE) as process:
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_worker_ends_when_its_parent_is_killed(parent, number):
    assert int(parent.stdout.readline()) != parent.pid
    parent.send_signal(number)
    # The worker shares stdout, which closes when both have ended.
    assert parent.communicate(timeout=30) == (b"", None)
    assert parent.returncode == -number


def test_a_worker_ignores_ctrl_c(parent):
    worker = int(parent.stdout.readline())
    os.kill(worker, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        parent.wait(timeout=0.5)
