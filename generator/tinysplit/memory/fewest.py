"""Options of a schedule, as few of them as a small arena takes."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from tinysplit.memory.layout import Schedule

Option = TypeVar("Option")


def fewest(options: list[Option], build: Callable[[Sequence[Option]], Schedule], wanted_bytes: int) -> list[Option]:
    """Return options, as few as it takes for the least arena or one of `wanted_bytes`; the first are left out first."""
    if not options:
        return []
    least_bytes = build(options).size_bytes
    if least_bytes >= build([]).size_bytes:
        return []
    enough_bytes = max(least_bytes, wanted_bytes)
    for option in list(options):
        rest = [other for other in options if other != option]
        if build(rest).fits(enough_bytes):
            options = rest
    return options
