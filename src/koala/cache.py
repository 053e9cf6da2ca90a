"""Bounded cache: a dict that is cleared when full."""

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(dict[Key, Value]):
    """A dictionary with a limited number of entries: one more clears all others.

    >>> cache = BoundedCache(2)
    >>> for number in range(3):
    ...     cache[number] = -number
    >>> cache
    {2: -2}
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        """Add an entry."""
        if key not in self and len(self) >= self._most:
            self.clear()
        super().__setitem__(key, value)
