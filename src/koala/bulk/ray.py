"""Ray: map items to results in order, on this machine or on a running cluster.

Each item is one block of a Ray dataset, which a pool of actors processes. Items are sent by value,
not as file names, so workers need no access to the input files.
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

from koala.errors import KoalaError, needs_extra

TRIES = 3
"""How often an item is tried if its worker dies."""

_WINDOW_ITEMS = 256
"""Items per worker in one dataset. Ray keeps a few kilobytes per item until its dataset ends."""
_WINDOW_BYTES = 1 << 28
"""Bytes of all items in one dataset."""

_SECONDS = 5.0
"""Time limit for connecting to a cluster."""

# The start of an HTTP/2 connection, the protocol of Ray's gRPC; the fourth byte of the answer is 4,
# the type of a settings frame.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"

# By default Ray reports usage statistics, logs to stderr and, when a worker dies, to stdout, where
# only data belongs. These variables turn that off; they must be set before Ray is imported.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DEDUP_LOGS_SKIP_REGEX": "^",
}


Item = TypeVar("Item")
Result = TypeVar("Result")


class WorkersDiedError(KoalaError):
    """The worker of an item died `TRIES` times."""


class Cluster:
    """At most `n_workers` Ray workers with one core each."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers

    def map(
        self, open_work: Callable[[], Callable[[Item], Result]], items: Iterable[Item]
    ) -> Iterator[Result]:
        """Yield the results of the items in order; each worker calls `open_work` once.

        A KoalaError in a worker is raised here. Memory use does not grow with the items.
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
            # Deprecated: Ray 2.64 removes these options, and the extra ray needs an older one.
            warnings.simplefilter("ignore", DeprecationWarning)
            done = items.map(
                _Actor,
                fn_constructor_args=(open_work,),
                compute=pool,
                num_cpus=1,
                # Actors restart without limit, but an item that kills them is given up.
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
            raise  # a bug in koala; keeps the traceback of the worker
        except RayError as error:
            raise WorkersDiedError(f"Workers died {TRIES} times: {_first_line(error)}") from None


class _Actor:
    """A worker. It calls `open_work` with the first item, so that errors in it can be returned."""

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
    """Start Ray on this machine, or connect to the cluster at an address; disconnect at the end.

    If Ray is already initialized in this process, it is used and left running.
    """
    os.environ.update({key: os.environ.get(key, value) for key, value in _QUIET.items()})
    with needs_extra("ray", "--engine ray"):
        import ray
        import ray.data
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
        _check_address(address)
    try:
        with _silence_stderr():
            ray.init(address or "local", **quiet)
    except Exception as error:
        where, hint = "on this machine", ""
        if address is not None:
            where = f"at {address}"
            hint = (
                " Check that it runs the same version of Ray, and whether it needs a token "
                "(RAY_AUTH_MODE=token)."
            )
        reason = _first_line(error).rstrip(".")
        raise KoalaError(f"Ray cannot be used {where}: {reason}.{hint}") from None


@contextmanager
def _silence_stderr() -> Iterator[None]:
    """Redirect stderr to nothing: no log level keeps Ray's processes from writing at start."""
    stderr = os.dup(2)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)


def _check_address(address: str) -> None:
    """Refuse an address where no Ray cluster listens; Ray itself would try for minutes."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in host:
        raise KoalaError(
            f"The address of the Ray cluster is {address!r}; host:port was expected, or auto for "
            "the cluster that this machine belongs to."
        )
    try:
        location = (host.strip("[]"), int(port))
        with socket.create_connection(location, timeout=_SECONDS) as connection:
            connection.sendall(_GREETING)
            answer = connection.recv(4)
    except (OSError, OverflowError, UnicodeError) as error:
        raise KoalaError(
            f"No Ray cluster answers at {address} ({error}). Start one there with "
            "`ray start --head`, or omit the address to run on this machine."
        ) from None
    # With TLS, Ray does not answer an unencrypted greeting.
    if answer[3:] != b"\x04" and os.environ.get("RAY_USE_TLS", "0") == "0":
        raise KoalaError(
            f"Another program than Ray answers at {address}. Use the port that `ray start --head` "
            "printed; its default is 6379."
        )


def _first_line(error: Exception) -> str:
    lines = chain(str(error).strip().splitlines(), [type(error).__name__])
    return next(line.strip() for line in lines if line.strip())
