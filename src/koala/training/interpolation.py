"""Interpolation of two runs: a network between one stage of training and the next.

Weights of a network and of the network that it was fine-tuned from are averaged (WiSE-FT, Wortsman
et al. 2022). The average follows the conventions of the second stage and forgets less of the first.
"""

import shutil
from pathlib import Path

from koala.errors import FileError, KoalaError
from koala.training.checkpoint import (
    BEST,
    open_checkpoint,
    read_checkpoint_settings,
    save_checkpoint,
)
from koala.training.run import SETTINGS


def interpolate_runs(first: Path, second: Path, output: Path, *, share: float = 0.5) -> Path:
    """Write a run whose weights are (1 − share) · first + share · second; give its checkpoint.

    Settings and CRF are those of the second run: the CRF depends on the corpus.
    """
    if not 0 <= share <= 1:
        raise KoalaError(f"The share of the second run is {share}; expected 0 to 1.")
    if (output / BEST).exists():
        raise FileError(output, "already holds a run. Choose another folder.")
    (one, _), (two, settings) = open_checkpoint(first), open_checkpoint(second)
    theirs, ours = one.state_dict(), two.state_dict()
    for name, value in ours.items():
        if name not in theirs or theirs[name].shape != value.shape:
            raise KoalaError(f"The runs have different networks: {name} differs in shape.")
        if not name.startswith("crf.") and value.is_floating_point():
            value.lerp_(theirs[name], 1 - share)
    output.mkdir(parents=True, exist_ok=True)
    _, progress = read_checkpoint_settings(second / BEST)
    save_checkpoint(output / BEST, two, settings, progress)
    shutil.copyfile(second / SETTINGS, output / SETTINGS)
    return output / BEST
