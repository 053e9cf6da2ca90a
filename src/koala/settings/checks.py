"""Range checks of numbers in settings."""

import math

from koala.errors import KoalaError


def check_minimum(settings: object, where: str, **least: float) -> None:
    """Raise an error if a field is below its bound, infinite or NaN; None is allowed.

    `where` is the name of the table with a dot, for the message.
    """
    for name, bound in least.items():
        value = getattr(settings, name)
        if value is not None and not bound <= value < math.inf:
            raise KoalaError(f"{where}{name} is {value}; expected {bound} or more.")


def check_shares(settings: object, where: str, *names: str, below: bool = False) -> None:
    """Raise an error if a field is not from 0 to 1; with `below`, 1 is an error, too.

    None is allowed.
    """
    for name in names:
        value = getattr(settings, name)
        if value is not None and not (0 <= value < 1 or (value == 1 and not below)):
            expected = "at least 0 and below 1" if below else "0 to 1"
            raise KoalaError(f"{where}{name} is {value}; expected {expected}.")
