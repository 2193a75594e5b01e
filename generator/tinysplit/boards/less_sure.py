"""Boards whose times are less sure than those of others, which all that prints such times says."""

from collections.abc import Iterable, Iterator

from tinysplit.boards.board import Board

_CORES = {"cortex-m33": "Cortex-M33"}


def less_sure(boards: Iterable[Board]) -> Iterator[str]:
    """Yield a note where some of the boards have such a core."""
    for core, title in _CORES.items():
        names = dict.fromkeys(board.name for board in boards if board.device.core == core)
        if names:
            yield (
                f"note: times and energies of {', '.join(names)} are less sure: {title} is modelled by what others"
                " measured of another part, and by assumptions"
            )
