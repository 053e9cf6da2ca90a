"""Serve the application on a port, which is opened first: a port in use fails before loading."""

import socket
from ipaddress import ip_address

import uvicorn
from fastapi import FastAPI

from koala.errors import KoalaError
from koala.web.app import stop

_GRACE = 5
"""Seconds that running requests have to finish when the server stops."""


def open_socket(host: str, port: int) -> socket.socket:
    """Open a port to listen on; 0 chooses a free one."""
    # Some systems would take the number modulo 65536.
    if not 0 <= port <= 65535:
        raise KoalaError(f"Port {port} does not exist; a number from 0 to 65535 was expected.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
        try:
            # Allow a restart directly after a kill.
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            opened.bind(address)
            # From now on, connections wait until the application is ready.
            opened.listen()
        except BaseException:
            opened.close()
            raise
    except OSError as error:
        raise KoalaError(
            f"Cannot listen on {host} port {port} ({error.strerror}). "
            "Choose another address with --host or --port."
        ) from None
    return opened


def is_local(opened: socket.socket) -> bool:
    """Tell whether only this machine can reach an open port."""
    return ip_address(opened.getsockname()[0]).is_loopback


def url_of(opened: socket.socket) -> str:
    """Give the address to open in a browser."""
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class Server(uvicorn.Server):
    """A server that, on shutdown, answers queued requests before it waits for connections."""

    def __init__(self, app: FastAPI) -> None:
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=_GRACE,
        )
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting work, then shut down as uvicorn does."""
        stop(self._app)
        await super().shutdown(sockets)


def serve(app: FastAPI, opened: socket.socket) -> None:
    """Serve until a signal arrives; Ctrl-C is a normal end."""
    try:
        Server(app).run([opened])
    except KeyboardInterrupt:
        return
