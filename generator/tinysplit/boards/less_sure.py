"""Boards whose times are less sure than those of others, which all that gives such times says."""

from collections.abc import Iterable, Iterator
from typing import Protocol

_CORES = {"cortex-m33": "Cortex-M33"}


class HasCore(Protocol):
    """A board, or a device of a problem; `core` is GCC's -mcpu, "" for times that are given."""

    @property
    def name(self) -> str:
        """Name of the board."""

    @property
    def core(self) -> str:
        """Its core."""


def less_sure(boards: Iterable[HasCore]) -> Iterator[str]:
    """Yield a note where some of the boards have such a core."""
    for note in _reasons(boards):
        yield f"note: {note}"


def less_sure_json(boards: Iterable[HasCore]) -> dict[str, list[str]]:
    """Return the same for JSON, without "note: "; an empty list where all boards are modelled as well as others."""
    return {"less_sure": list(_reasons(boards))}


def _reasons(boards: Iterable[HasCore]) -> Iterator[str]:
    boards = tuple(boards)
    for core, title in _CORES.items():
        names = dict.fromkeys(board.name for board in boards if board.core == core)
        if names:
            yield (
                f"times and energies of {', '.join(names)} are less sure: {title} is modelled by what others measured"
                " of another part, and by assumptions"
            )
