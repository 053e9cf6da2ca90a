"""Ray returns results in order, gives up items that kill their workers, and passes errors on."""

import os
import signal
import socket
import sys
from threading import Thread

import pytest

from koala.bulk.ray import TRIES, WorkersDiedError, _check_address, open_cluster
from koala.errors import KoalaError

# Ray leaves sockets and files to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def open_work(folder):
    """Build work for workers; functions defined here are sent to them by value."""

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


def test_results_are_in_order_until_an_error_is_raised(ray_here, tmp_path, monkeypatch):
    # Two workers with two items each make a window of four; the error is in the second window.
    monkeypatch.setattr("koala.bulk.ray._WINDOW_ITEMS", 2)
    results = ray_here.map(open_work(tmp_path), iter([6, 5, 4, 3, 2, 7, 1]))
    assert [next(results) for _ in range(5)] == [36, 25, 16, 9, 4]
    with pytest.raises(KoalaError, match=r"^Seven came; any other number was expected\.$"):
        next(results)
    assert all(count_tries(tmp_path, number) == 1 for number in range(2, 8))
    assert list(ray_here.map(open_work(tmp_path), [])) == []


def test_an_item_that_kills_its_workers_is_given_up(ray_here, tmp_path):
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
def test_an_address_without_a_server_is_refused(address, problem):
    with pytest.raises(KoalaError, match=problem):
        _check_address(address)


def test_an_address_of_another_server_is_refused():
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

        thread = Thread(target=answer)
        thread.start()
        with pytest.raises(KoalaError, match="Another program than Ray"):
            _check_address(f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(KoalaError, match=r"pip install .*\[ray\]"), open_cluster():
        pass
