"""A typed client of `koala serve` with plain httpx; /openapi.json describes the same interface.

    $ koala serve &
    $ python examples/client.py "Pour water into the pot. Boil the water in the pot."

It prints every change with the words of the text that name the new location.
"""

import sys
from dataclasses import dataclass
from typing import NotRequired, Self, TypedDict, cast

import httpx


class Span(TypedDict):
    """Characters of the text, from `start` up to, but not including, `end`."""

    start: int
    end: int


class Cell(TypedDict):
    """What one step does to one entity."""

    step: int
    action: str
    before: str
    after: str
    confidence: NotRequired[float]
    location_span: NotRequired[Span | None]


class Entity(TypedDict):
    """One entity in all steps."""

    name: str
    initial: str
    steps: list[Cell]


class Grid(TypedDict):
    """All entities of a text."""

    id: str
    steps: list[str]
    entities: list[Entity]
    signature: NotRequired[str]
    warnings: NotRequired[list[str]]


@dataclass(frozen=True)
class ServerError(Exception):
    """A request that the server refused."""

    code: str
    message: str
    field: str | None = None

    def __str__(self) -> str:
        where = f" (field {self.field})" if self.field else ""
        return f"{self.message}{where}"


class Client:
    """Sends texts to a server of koala; a context manager."""

    def __init__(self, url: str = "http://127.0.0.1:8000", *, seconds: float = 60) -> None:
        self._http = httpx.Client(base_url=url, timeout=seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def track(self, text: str, entities: list[str] | None = None, *, model: str = "auto") -> Grid:
        """Track one text; without entities, the server finds them."""
        body = {"text": text, "entities": entities, "model": model}
        return cast(Grid, self._post("/api/track", body))

    def track_all(self, texts: list[str]) -> list[Grid]:
        """Track several texts in one request."""
        return cast(list[Grid], self._post("/api/track", [{"text": text} for text in texts]))

    def export(self, grid: Grid, format: str) -> str:
        """Turn a grid into another format: html, csv, tsv, mermaid, dot or svg."""
        return self._send("/api/export", grid, {"format": format}).text

    def _post(self, path: str, body: object) -> object:
        return self._send(path, body, {}).json()

    def _send(self, path: str, body: object, query: dict[str, str]) -> httpx.Response:
        answer = self._http.post(path, json=body, params=query)
        if answer.is_error:
            raise ServerError(**answer.json()["error"])
        return answer


def describe(grid: Grid, text: str) -> list[str]:
    """Give a line for every change."""
    lines = []
    for entity in grid["entities"]:
        for cell in entity["steps"]:
            if cell["action"] == "NONE":
                continue
            span = cell.get("location_span")
            words = f"“{text[span['start'] : span['end']]}”" if span else "not named in the text"
            lines.append(
                f"step {cell['step']}: {entity['name']} {cell['action']} "
                f"{cell['before']} → {cell['after']} ({words})"
            )
    return lines


def main(text: str, url: str = "http://127.0.0.1:8000") -> None:
    """Track a text and print its changes."""
    with Client(url) as client:
        print("\n".join(describe(client.track(text), text)))


if __name__ == "__main__":
    main(*sys.argv[1:])
