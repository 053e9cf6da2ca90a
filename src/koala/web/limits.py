"""How much one request may ask for, and how many requests may be here at a time."""

from dataclasses import dataclass, fields

from koala.errors import KoalaError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is past a limit gets an answer that names it."""

    body: int = 1024 * 1024
    """Bytes of a request."""
    documents: int = 16
    """Procedures of a request."""
    steps: int = 100
    """Steps of a procedure."""
    entities: int = 32
    """Entities that a procedure names."""
    characters: int = 20_000
    """Characters of a procedure's text."""
    step_characters: int = 1_000
    """Characters of one step."""
    name_characters: int = 200
    """Characters of an entity's name, its aliases among them."""
    seconds: float = 60
    """Seconds until the body is here, and again from then until the answer is."""
    waiting: int = 16
    """Requests that wait for the tracker beside the one it works on."""
    requests: int = 64
    """Requests at a time, whatever they ask for; a body is kept for each."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            # Not `value <= 0`, which NaN passes.
            if not value > 0:
                raise KoalaError(f"The limit on {field.name} is {value}; it must be above 0.")
