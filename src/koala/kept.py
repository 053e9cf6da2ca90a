"""Kept: what was found out before, up to a limit: memory does not grow with what is read."""

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Kept(dict[Key, Value]):
    """A dictionary that holds so many entries at most; when one more comes, all others go.

    >>> kept = Kept(2)
    >>> for number in range(3):
    ...     kept[number] = -number
    >>> kept
    {2: -2}
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        """Keep an entry."""
        if key not in self and len(self) >= self._most:
            self.clear()
        super().__setitem__(key, value)
