"""Items through Ray: in order, once each; what kills its workers ends, and errors are sentences."""

import os
import signal
import socket
import sys
from threading import Thread

import pytest

from koala.bulk.ray import TRIES, WorkersDiedError, _knock, open_cluster
from koala.errors import KoalaError

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


def test_results_come_in_order_until_an_error_which_is_the_same_here(
    ray_here, tmp_path, monkeypatch
):
    # Four items a window: the error is in the second.
    monkeypatch.setattr("koala.bulk.ray._WINDOW_ITEMS", 2)
    results = ray_here.map(open_work(tmp_path), iter([6, 5, 4, 3, 2, 7, 1]))
    assert [next(results) for _ in range(5)] == [36, 25, 16, 9, 4]
    with pytest.raises(KoalaError, match=r"^Seven came; any other number was expected\.$"):
        next(results)
    assert all(count_tries(tmp_path, number) == 1 for number in range(2, 8))
    assert list(ray_here.map(open_work(tmp_path), [])) == []


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


def test_an_address_where_somebody_else_is():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

        thread = Thread(target=answer)
        thread.start()
        with pytest.raises(KoalaError, match="not as Ray does"):
            _knock(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()


def test_ray_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(KoalaError, match=r"pip install 'koala\[ray\]'"), open_cluster():
        pass
