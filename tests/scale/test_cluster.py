"""Items through Ray: in order, once each; what kills its workers ends, and errors are sentences."""

import os
import signal
import sys

import pytest

from koala.errors import KoalaError
from koala.scale.cluster import TRIES, WorkersDiedError, _knock, open_cluster

# Ray leaves sockets and files to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def open_work(folder):
    """Make work that a worker can open; what is defined in here travels by value."""

    def open_one():
        def work(number):
            with (folder / str(number)).open("a") as file:
                file.write("x")
            if number == 13:
                os.kill(os.getpid(), signal.SIGKILL)
            if number == 7:
                raise KoalaError("Seven came; any other number was expected.")
            return number * number

        return work

    return open_one


def count_tries(folder, number):
    return len((folder / str(number)).read_text())


def test_results_come_in_order_over_several_windows(ray_here, tmp_path, monkeypatch):
    monkeypatch.setattr("koala.scale.cluster._WINDOW_ITEMS", 2)
    numbers = list(range(14, 20))
    results = list(ray_here.map(open_work(tmp_path), iter(numbers)))
    assert results == [number * number for number in numbers]
    assert all(count_tries(tmp_path, number) == 1 for number in numbers)
    assert list(ray_here.map(open_work(tmp_path), [])) == []


def test_an_error_of_the_work_is_the_same_error_here(ray_here, tmp_path):
    with pytest.raises(KoalaError, match=r"^Seven came; any other number was expected\.$"):
        list(ray_here.map(open_work(tmp_path), [5, 6, 7, 8]))


def test_an_item_that_kills_its_workers_is_tried_so_often_and_no_more(ray_here, tmp_path):
    results = ray_here.map(open_work(tmp_path), [13])
    with pytest.raises(WorkersDiedError):
        list(results)
    assert count_tries(tmp_path, 13) == TRIES


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("127.0.0.1:1", "No Ray cluster answers at 127.0.0.1:1"),
        ("no.such.host.invalid:6379", "No Ray cluster answers"),
        ("127.0.0.1:99999", "No Ray cluster answers"),
        ("ray://somewhere:10001", "host:port was expected"),
        ("somewhere", "host:port was expected"),
    ],
)
def test_an_address_where_nobody_is(address, problem):
    with pytest.raises(KoalaError, match=problem):
        _knock(address)


def test_ray_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(KoalaError, match=r"pip install 'koala\[ray\]'"), open_cluster():
        pass
