"""Checks of numbers in settings."""

import math

from koala.errors import KoalaError


def check_least(settings: object, where: str, **least: float) -> None:
    """Refuse numbers that are too small, or none; None may stand for a default."""
    for name, bound in least.items():
        value = getattr(settings, name)
        if value is not None and not bound <= value < math.inf:
            raise KoalaError(f"{where}{name} is {value}; {bound} or more was expected.")


def check_shares(settings: object, where: str, *names: str, below: bool = False) -> None:
    """Refuse what is no share, from 0 to 1; or to below 1."""
    for name in names:
        value = getattr(settings, name)
        if value is not None and not (0 <= value < 1 or (value == 1 and not below)):
            expected = "a share below 1" if below else "0 to 1"
            raise KoalaError(f"{where}{name} is {value}; {expected} was expected.")
