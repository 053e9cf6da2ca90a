"""Bounded cache: a dict that is cleared when full."""

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(dict[Key, Value]):
    """A dict with at most `limit` entries: adding one more clears all others first.

    >>> cache = BoundedCache(2)
    >>> for number in range(3):
    ...     cache[number] = -number
    >>> cache
    {2: -2}
    """

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    def __setitem__(self, key: Key, value: Value) -> None:
        """Add or replace an entry."""
        if key not in self and len(self) >= self._limit:
            self.clear()
        super().__setitem__(key, value)
