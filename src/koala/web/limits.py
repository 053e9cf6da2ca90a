"""Limits of the server: size and time of a request, and number of requests."""

from dataclasses import dataclass, fields

from koala.errors import KoalaError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Maximum values; a request beyond one gets an error that names it."""

    body: int = 1024 * 1024
    """Bytes per request."""
    documents: int = 16
    """Procedures per request."""
    steps: int = 100
    """Steps per procedure."""
    entities: int = 32
    """Named entities per procedure."""
    fixes: int = 200
    """Fixed cells per procedure; each may add a location."""
    characters: int = 20_000
    """Characters per procedure."""
    step_characters: int = 1_000
    """Characters per step."""
    name_characters: int = 200
    """Characters of an entity's name, including aliases, and of a fixed location."""
    seconds: float = 60
    """Seconds for receiving the body, and again for the response."""
    waiting: int = 16
    """Requests in the queue of the tracker, besides the one in work."""
    requests: int = 64
    """Concurrent requests of any kind; the body of each is held in memory."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            # `value <= 0` would let NaN pass.
            if not value > 0:
                raise KoalaError(f"The limit on {field.name} is {value}; it must be above 0.")
