"""koala reads a text that describes a procedure and tracks every entity through every step."""

from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from koala.display import render
    from koala.document import Procedure
    from koala.evaluation import score
    from koala.grid import Grid
    from koala.registry import load
    from koala.tracker import Tracker

__all__ = ["Grid", "Procedure", "Tracker", "load", "render", "score"]

_MODULES = {
    "Grid": "grid",
    "Procedure": "document",
    "Tracker": "tracker",
    "load": "registry",
    "render": "display",
    "score": "evaluation",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name when it is first used, so that a command imports only what it needs."""
    if name not in _MODULES:
        raise AttributeError(f"koala has no {name!r}. It has: {', '.join(__all__)}.")
    import importlib

    return getattr(importlib.import_module(f"koala.{_MODULES[name]}"), name)
