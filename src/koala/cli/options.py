"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from koala.decoding import DECODINGS, parse_decoding
from koala.errors import KoalaError

_DECODING = (
    "viterbi: the most probable consistent grid. mbr: minimum Bayes risk, the grid with the best "
    "expected score; somewhat slower. repair: unconstrained Viterbi, then rules that remove "
    "impossible changes. presence: tags only decide whether an entity exists, and every step takes "
    "the most probable location."
)


def _parse_decoding(value: str) -> str:
    try:
        return parse_decoding(value)
    except KoalaError as error:
        raise typer.BadParameter(str(error)) from None


DecodingOption = Annotated[
    str | None,
    typer.Option(parser=_parse_decoding, metavar=f"[{'|'.join(DECODINGS)}]", help=_DECODING),
]
EntityOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Entity to track, aliases separated by `;` (repeatable). Default: find the entities "
        "in the text.",
    ),
]
FindOption = Annotated[
    bool, typer.Option("--find", help="Find further entities besides each --entity.")
]
KnowledgeOption = Annotated[
    bool, typer.Option("--knowledge/--no-knowledge", help="Retrieve triples for the entities.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write; default: stdout.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
