"""Decoding: a network's scores → consistent rows of a grid. Needs no torch."""

from typing import Literal, get_args

from koala.errors import KoalaError

Decoding = Literal["viterbi", "mbr", "repair", "presence"]
"""How scores become grids.

viterbi: the most probable consistent trajectories; all ingredients of a recipe jointly. mbr: the
grid with the best expected score (minimum Bayes risk). repair: Viterbi over all tag sequences, then
rules drop impossible changes. presence: tags say only whether an entity exists, and each step takes
its best location.
"""
DECODINGS: tuple[Decoding, ...] = get_args(Decoding)

Names = tuple[str, ...]
"""Names of a procedure's location candidates, `?` first."""

_OLD_NAMES: dict[str, Decoding] = {
    "legal": "viterbi",
    "own": "viterbi",
    "together": "viterbi",
    "expected": "mbr",
    "places": "presence",
}


def parse_decoding(name: str) -> Decoding:
    """Read the name of a decoding, or its name in an earlier version.

    >>> parse_decoding("expected")
    'mbr'
    """
    if name in DECODINGS:
        return name
    if name in _OLD_NAMES:
        return _OLD_NAMES[name]
    raise KoalaError(f"Unknown decoding {name!r}; choose one of {', '.join(DECODINGS)}.")
