"""Option --decoding, which several commands share."""

from typing import Annotated

import typer

from koala.decoding import DECODINGS, parse_decoding
from koala.errors import KoalaError

_HELP = (
    "viterbi: the most probable consistent grid. mbr: minimum Bayes risk, the grid with the best "
    "expected score; somewhat slower. repair: unconstrained Viterbi, then rules that remove "
    "impossible changes. presence: tags only decide whether an entity exists, and every step takes "
    "the most probable location."
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
