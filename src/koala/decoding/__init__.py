"""Scores → consistent rows of a grid. No torch here."""

from typing import Literal, get_args

from koala.errors import KoalaError

Decoding = Literal["viterbi", "mbr", "repair", "presence"]
"""How scores become grids.

viterbi: the most probable legal trajectories, of a recipe all ingredients jointly. mbr: the grid
with the best expected score. repair: Viterbi over all tag sequences, then rules drop impossible
changes. presence: tags tell only whether an entity exists, and every step takes the best location.
"""
DECODINGS: tuple[Decoding, ...] = get_args(Decoding)

Names = tuple[str, ...]
"""Location candidates of a procedure by name, `?` first."""

_OLD_NAMES: dict[str, Decoding] = {
    "legal": "viterbi",
    "own": "viterbi",
    "together": "viterbi",
    "expected": "mbr",
    "places": "presence",
}


def parse_decoding(name: str) -> Decoding:
    """Read the name of a decoding; names of earlier versions are still read.

    >>> parse_decoding("expected")
    'mbr'
    """
    if name in DECODINGS:
        return name
    if name in _OLD_NAMES:
        return _OLD_NAMES[name]
    raise KoalaError(f"Decoding {name!r} is unknown. Known: {', '.join(DECODINGS)}.")
