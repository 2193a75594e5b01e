"""Parts that are found by name: entry points of installed distributions, imported when they are first used."""

from importlib.metadata import entry_points
from typing import Any

from tinysplit.common.errors import InputError


def load_extension(group: str, name: str) -> Any:  # noqa: ANN401 (of the type that the group has)
    """Return the object of the entry point `name` of `group`. Raises InputError where none is installed."""
    matching = entry_points(group=group, name=name)
    if not matching:
        known = ", ".join(sorted({each.name for each in entry_points(group=group)})) or "none"
        raise InputError(f"{group} has no {name!r}: installed are {known}; install tinysplit again")
    return next(iter(matching)).load()
