"""Static files of the web page, read once, so that no request reaches the file system."""

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@lru_cache(maxsize=1)
def read_files() -> Mapping[str, tuple[bytes, str]]:
    """Give the content and content type of all files, by name.

    `grid.css` is the style sheet of exported pages, so that both look the same.
    """
    folder = files(__package__).joinpath("static")
    read = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    read["grid.css"] = files("koala.display").joinpath("page.css").read_bytes()
    return MappingProxyType(
        {name: (content, _TYPES[name.rpartition(".")[2]]) for name, content in read.items()}
    )
