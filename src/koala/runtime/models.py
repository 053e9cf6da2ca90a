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


def find_bundled(name: str | Path) -> Path | None:
    """Give the folder of a bundled network; it is called what its card says, too: koala-small."""
    return list_models().get(str(name).removeprefix("koala-"))


def find_model(name: str | Path = DEFAULT) -> Path:
    """Give the folder of a bundled network, or the one that is named."""
    bundled = find_bundled(name)
    if bundled is not None:
        return bundled
    if Path(name).is_dir():
        return Path(name)
    known = ", ".join(list_models()) or "none"
    raise KoalaError(f"Model {str(name)!r} is neither bundled nor a folder. Bundled: {known}.")
