"""Count repeated ids in a file of grids; readers of such files expect unique ids."""

import json
from array import array
from pathlib import Path

import numpy as np


def count_repeated(path: Path) -> int:
    """Count the grids whose id occurred before. Needs eight bytes of memory per grid."""
    hashes = array("q")
    with path.open("rb") as file:
        hashes.extend(hash(json.loads(line)["id"]) for line in file)
    return len(hashes) - len(np.unique(hashes))
