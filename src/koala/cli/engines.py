"""Options --engine and --address of commands that run locally or on Ray."""

from enum import StrEnum
from typing import Annotated

import typer

from koala.errors import KoalaError


class Engine(StrEnum):
    """Where the work runs."""

    LOCAL = "local"
    RAY = "ray"


EngineOption = Annotated[
    Engine,
    typer.Option(help="local: processes on this machine. ray: a Ray cluster (the extra ray)."),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="With --engine ray: address of a running cluster, or auto for the one this machine "
        "belongs to. Default: start Ray on this machine.",
    ),
]


def check_address(engine: Engine, address: str | None) -> None:
    """Refuse an address that the local engine would ignore."""
    if address is not None and engine is not Engine.RAY:
        raise KoalaError(f"--address {address} needs --engine ray. Add that, or omit --address.")
