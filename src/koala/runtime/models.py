"""The networks that are here: bundled ones by name, others by their folder."""

from pathlib import Path

from koala.errors import KoalaError
from koala.recipe import is_recipe
from koala.runtime.files import CARD

DEFAULT, RECIPES = "small", "recipes"
"""The bundled networks that are chosen where none is named: for any text, and for recipes."""

AUTO = "auto"
"""In place of a name: the one of them that fits the text."""

_BUNDLED = Path(__file__).parent.parent / "models"


def list_models() -> dict[str, Path]:
    """Give the folders of all bundled networks by name."""
    return {path.parent.name: path.parent for path in sorted(_BUNDLED.glob(f"*/{CARD}"))}


def choose_model(text: str) -> str:
    """Name the bundled network that fits a text."""
    return RECIPES if is_recipe(text) else DEFAULT


def find_model(name: str | Path = DEFAULT) -> Path:
    """Give the folder of a bundled network, or the one that is named."""
    bundled = list_models()
    # A network is called what its card says, too: koala-small.
    short = str(name).removeprefix("koala-")
    if short in bundled:
        return bundled[short]
    if Path(name).is_dir():
        return Path(name)
    known = ", ".join(bundled) or "none"
    raise KoalaError(f"Model {str(name)!r} is neither bundled nor a folder. Bundled: {known}.")
