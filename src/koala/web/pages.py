"""Static files of the web pages, read once, so that no request reaches the file system."""

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


_SWAGGER = ("swagger-ui-bundle.js", "swagger-ui.css")


@lru_cache(maxsize=1)
def read_files() -> Mapping[str, tuple[bytes, str]]:
    """Give the content and content type of all files, by name.

    `grid.css` is the style sheet of exported pages, so that both look the same.
    """
    folder = files(__package__).joinpath("static")
    read = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    read["grid.css"] = files("koala.display").joinpath("page.css").read_bytes()
    return _add_types(read)


@lru_cache(maxsize=1)
def read_swagger_files() -> Mapping[str, tuple[bytes, str]]:
    """Give the files of Swagger UI, which draws the reference of the API, as `read_files` does.

    FastAPI's own page loads them from a CDN and starts them with an inline script, which the
    content security policy forbids.
    """
    folder = files("fastapi_offline").joinpath("static")
    return _add_types({name: folder.joinpath(name).read_bytes() for name in _SWAGGER})


def _add_types(read: Mapping[str, bytes]) -> Mapping[str, tuple[bytes, str]]:
    return MappingProxyType(
        {name: (content, _TYPES[name.rpartition(".")[2]]) for name, content in read.items()}
    )
