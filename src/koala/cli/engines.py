"""Where large work is done: options that commands share."""

from enum import StrEnum
from typing import Annotated

import typer

from koala.errors import KoalaError


class Engine(StrEnum):
    """What the work runs on."""

    LOCAL = "local"
    RAY = "ray"


EngineOption = Annotated[
    Engine, typer.Option(help="Processes of this machine, or Ray (pip install 'koala\\[ray]').")
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="A Ray cluster that runs already, or auto; default: Ray on this machine.",
    ),
]


def check_address(engine: Engine, address: str | None) -> None:
    """Refuse an address that nobody would look at."""
    if address is not None and engine is not Engine.RAY:
        raise KoalaError(f"--address {address} is for Ray. Add --engine ray, or leave it away.")
