"""The numbers in a manifest by which its parts name boards, layers and cuts: all have to be those of what is there."""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

Name = TypeVar("Name", int, str, tuple[int, int])  # a number, a UART, the boards of a link


def check_boards(numbers: Sequence[int], named: Iterable[tuple[str, Sequence[int]]]) -> None:
    """Raise ValueError unless the numbers of boards rise, and for the first part that names one which is not there.

    They have gaps where boards of a set have no layers. `numbers` are those of the boards, `named` the title of each
    part and the boards that it names, one or more.
    """
    if not numbers or list(numbers) != sorted({number for number in numbers if number > 0}):
        raise ValueError(f"boards have the numbers {_text(numbers)}: they have to rise from 1 on")
    for title, boards in named:
        if not boards:
            raise ValueError(f"{title} names no board")
        check_known("board", numbers, [(title, boards)])


def check_known(kind: str, known: Collection[Name], named: Iterable[tuple[str, Collection[Name]]]) -> None:
    """Raise ValueError for the first part of `named`, title and names, that names a `kind` which is not `known`."""
    for title, names in named:
        if wrong := sorted(set(names) - set(known)):
            raise ValueError(f"{title} names {kind} {_text(wrong)}, which is not there")


def check_once(kind: str, names: Sequence[Name]) -> None:
    """Raise ValueError where two have the same name."""
    if len(set(names)) != len(names):
        raise ValueError(f"two {kind} have the same numbers: {_text(names)}")


def _text(names: Iterable[object]) -> str:
    return ", ".join("-".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in names) or "none"
