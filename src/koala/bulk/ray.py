"""Ray: items in order through workers, on this machine or on a cluster that is there already.

Items go as blocks of a Ray dataset, one block an item, through a pool of actors that grows with the
work. The items themselves travel, not the names of files: a worker needs to see no file of ours.
"""

import logging
import os
import pickle
import socket
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from koala.errors import KoalaError

TRIES = 3
"""How often an item is tried when its worker dies."""

_WINDOW_ITEMS = 256
"""Items a worker in one dataset: Ray keeps a few kilobytes for each, and starts anew after them."""
_WINDOW_BYTES = 1 << 28
"""And of all of them."""

_SECONDS = 5.0
"""That a cluster has to take a connection."""

# What opens HTTP/2, which Ray speaks; the fourth byte of the answer says that these are settings.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"

# Ray calls home, and writes to stderr and, when a worker dies, to stdout, where only data belongs,
# unless it is told not to before it is imported.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DEDUP_LOGS_SKIP_REGEX": "^",
}


Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkersDiedError(KoalaError):
    """The workers of an item died again and again."""


class Cluster:
    """Workers of Ray, at most so many, a core each."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers

    def map(
        self, open_work: Callable[[], Callable[[Item], Result]], items: Iterable[Item]
    ) -> Iterator[Result]:
        """Give what comes of the items, in order; a worker opens its work once.

        What is a KoalaError there is one here. Memory does not grow with the items.
        """
        packed = (pickle.dumps(item) for item in items)
        while window := self._fill_window(packed):
            yield from self._run(open_work, window)

    def _fill_window(self, packed: Iterator[bytes]) -> list[dict[str, bytes]]:
        window: list[dict[str, bytes]] = []
        n_bytes = 0
        for item in packed:
            window.append({"item": item})
            n_bytes += len(item)
            if len(window) == _WINDOW_ITEMS * self._n_workers or n_bytes >= _WINDOW_BYTES:
                break
        return window

    def _run(self, open_work: Callable[[], Any], window: list[dict[str, bytes]]) -> Iterator[Any]:
        from ray import data
        from ray.exceptions import RayError, RayTaskError

        items = data.from_items(window, override_num_blocks=len(window))
        items.context.execution_options.preserve_order = True
        items.context.enable_progress_bars = False
        items.context.print_on_execution_start = False
        pool = data.ActorPoolStrategy(min_size=1, max_size=min(self._n_workers, len(window)))
        with warnings.catch_warnings():
            # Ray 2.64 will take no retries here; the extra stops before it.
            warnings.simplefilter("ignore", DeprecationWarning)
            done = items.map(
                _Actor,
                fn_constructor_args=(open_work,),
                compute=pool,
                num_cpus=1,
                # Actors may die as often as machines do, but no item may kill them for ever.
                max_restarts=-1,
                max_task_retries=TRIES - 1,
            )
        window.clear()
        try:
            for row in done.iter_rows():
                if row["problem"]:
                    raise KoalaError(row["problem"])
                yield pickle.loads(row["result"])
        except RayTaskError:
            raise  # a mistake of ours, with the worker's traceback
        except RayError as error:
            raise WorkersDiedError(f"Workers died {TRIES} times: {_first_line(error)}") from None


class _Actor:
    """A worker. Its work is opened with the first item: what goes wrong then can still be told."""

    def __init__(self, open_work: Callable[[], Callable[[Any], Any]]) -> None:
        self._open_work = open_work
        self._work: Callable[[Any], Any] | None = None

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        try:
            if self._work is None:
                self._work = self._open_work()
            result = self._work(pickle.loads(row["item"]))
        except KoalaError as error:
            return {"result": b"", "problem": str(error)}
        return {"result": pickle.dumps(result), "problem": ""}


@contextmanager
def open_cluster(address: str | None = None, *, n_workers: int = 1) -> Iterator[Cluster]:
    """Start Ray on this machine, or join the cluster at an address, and leave it at the end.

    Where Ray runs in this process already, that is used and left running.
    """
    os.environ.update({key: os.environ.get(key, value) for key, value in _QUIET.items()})
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise KoalaError(
            f"The Ray engine needs {error.name}, which is not installed. "
            "Install it with: pip install 'koala[ray]'"
        ) from None
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.CRITICAL + 1)
    if ray.is_initialized():
        yield Cluster(n_workers)
        return
    _start(address, n_workers)
    try:
        yield Cluster(n_workers)
    finally:
        ray.shutdown()


def _start(address: str | None, n_workers: int) -> None:
    import ray

    quiet: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if address is None:
        quiet |= {"num_cpus": n_workers, "include_dashboard": False}
    else:
        _knock(address)
    try:
        with _hush():
            ray.init(address or "local", **quiet)
    except Exception as error:
        where, hint = "on this machine", ""
        if address is not None:
            where = f"at {address}"
            hint = " Is it the same version of Ray? Does it want a token (RAY_AUTH_MODE=token)?"
        reason = _first_line(error).rstrip(".")
        raise KoalaError(f"Ray cannot be used {where}: {reason}.{hint}") from None


@contextmanager
def _hush() -> Iterator[None]:
    """Keep Ray's own processes off stderr while they start: no level of logging does."""
    kept = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _knock(address: str) -> None:
    """Refuse an address where nobody is, or not Ray: Ray itself would try for minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise KoalaError(
            f"The address of the Ray cluster is {address!r}; host:port was expected, or auto for "
            "the one that this machine belongs to."
        )
    try:
        location = (host.strip("[]"), int(port))
        with socket.create_connection(location, timeout=_SECONDS) as connection:
            connection.sendall(_GREETING)
            answer = connection.recv(4)
    except (OSError, OverflowError, UnicodeError) as error:
        raise KoalaError(
            f"No Ray cluster answers at {address} ({error}). Start one there with "
            "`ray start --head`, or leave the address away to run on this machine."
        ) from None
    # Where Ray speaks TLS, it says nothing to this.
    if answer[3:] != b"\x04" and os.environ.get("RAY_USE_TLS", "0") == "0":
        raise KoalaError(
            f"Something answers at {address}, but not as Ray does. Ray's port is the one that "
            "`ray start --head` has shown, 6379 if no other was asked for."
        )


def _first_line(error: Exception) -> str:
    lines = chain(str(error).strip().splitlines(), [type(error).__name__])
    return next(line.strip() for line in lines if line.strip())
