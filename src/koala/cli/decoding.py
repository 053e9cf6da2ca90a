"""The --decoding option of several commands."""

from typing import Annotated

import typer

from koala.decoding import DECODINGS, parse_decoding
from koala.errors import KoalaError

_HELP = (
    "viterbi: the most probable consistent grid; mbr: the grid with the best expected score, a bit "
    "slower; repair: unconstrained Viterbi, then repair rules; presence: tags tell only whether an "
    "entity exists."
)


def _parse(value: str) -> str:
    try:
        return parse_decoding(value)
    except KoalaError as error:
        raise typer.BadParameter(str(error)) from None


DecodingOption = Annotated[
    str | None,
    typer.Option(parser=_parse, metavar=f"[{'|'.join(DECODINGS)}]", help=_HELP),
]
