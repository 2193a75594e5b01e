"""The design space: every network in every bit width on every set of boards at every baud rate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

from tinysplit.boards.board import Board
from tinysplit.boards.less_sure import less_sure
from tinysplit.boards.link_rates import SHORT_WIRES_RATES
from tinysplit.common.errors import InputError, UsageError
from tinysplit.costs.transfers import check_link_baud
from tinysplit.settings.boards_and_links import BOARD, MAX_BOARDS
from tinysplit.split.validate import MAX_DEVICES


class SetCandidate(NamedTuple):
    """A network on a set of boards, each of which runs a layer; `baud` is 0 for a single board."""

    model: str  # SHA-256 of the ONNX file
    bits: int
    baud: int
    boards: tuple[str, ...]


@dataclass(frozen=True)
class Space:
    """The values to combine; a set has up to `max_boards` boards, and may have several of one type.

    Without `bauds`, all links of a set have the highest rate that each pair of its boards makes, up to
    that of short wires.
    """

    models: tuple[str, ...]  # SHA-256 of the ONNX files
    boards: tuple[Board, ...]
    max_boards: int
    bauds: tuple[int, ...]
    bits: tuple[int, ...]

    def __post_init__(self) -> None:
        """Check the space.

        Raises UsageError for boards out of range or named twice, InputError for a network that is named twice.
        """
        if self.max_boards > MAX_DEVICES:
            raise UsageError(f"{MAX_BOARDS} {self.max_boards}: a split has at most {MAX_DEVICES} boards")
        if len({board.name for board in self.boards}) < len(self.boards):
            raise UsageError(f"{BOARD} names a board twice: {MAX_BOARDS} limits how often it is used")
        if len(set(self.models)) < len(self.models):
            raise InputError("two of the models are the same file: name each network once")

    def notes(self) -> Iterator[str]:
        """Yield which times are less sure, and which sets are skipped, as boards cannot have links at a baud rate."""
        yield from less_sure(self.boards)
        for baud in self.bauds if self.max_boards > 1 else ():
            able = boards_with_baud(self.boards, baud)
            unable = [board.name for board in self.boards if board.name not in able]
            if not able:
                yield f"note: no board can have links at {baud} baud: sets of several boards are skipped at this rate"
                continue
            if unable:
                names = ", ".join(unable)
                yield f"note: {names} cannot have links at {baud} baud: sets with it are skipped at this rate"
            linked = linked_pairs(self.boards, baud)
            for first, second in combinations(able, 2):
                if frozenset((first, second)) not in linked:
                    yield (
                        f"note: the rates of {first} and {second} differ too much at {baud} baud: sets with both are "
                        "skipped at this rate"
                    )

    def candidates(self) -> Iterator[SetCandidate]:
        """Yield every candidate once; a larger `max_boards` only appends candidates."""
        linked = {baud: linked_pairs(self.boards, baud) for baud in self.bauds or SHORT_WIRES_RATES}
        for n_boards in range(1, self.max_boards + 1):
            for model in self.models:
                for bits in self.bits:
                    for baud, boards in self._sets(n_boards, linked):
                        yield SetCandidate(model, bits, baud, boards)

    def _sets(
        self, n_boards: int, linked: Mapping[int, frozenset[frozenset[str]]]
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yield all sets of so many boards, each with a rate of its links; `linked` has the pairs that can have one."""
        names = [board.name for board in self.boards]
        if n_boards == 1:
            yield from ((0, (name,)) for name in names)
            return
        known: set[tuple[str, ...]] = set()
        for baud, pairs in linked.items():
            able = [name for name in names if frozenset((name,)) in pairs]
            for boards in combinations_with_replacement(able, n_boards):
                is_linked = all(frozenset(pair) in pairs for pair in combinations(dict.fromkeys(boards), 2))
                if is_linked and boards not in known:
                    yield baud, boards
                    known.update([] if self.bauds else [boards])


def linked_pairs(boards: Sequence[Board], baud: int) -> frozenset[frozenset[str]]:
    """Return the names of all pairs of boards that can have a link at `baud`; one name for two boards of one type."""
    pairs = combinations_with_replacement(boards, 2)
    return frozenset(frozenset((a.name, b.name)) for a, b in pairs if can_link(a, b, baud))


def boards_with_baud(boards: Sequence[Board], baud: int) -> list[str]:
    """Return the names of the boards that can have a link to a board of their own type at `baud`."""
    return [board.name for board in boards if can_link(board, board, baud)]


def can_link(first: Board, second: Board, baud: int) -> bool:
    """Return whether two boards can have a link at `baud`: their UARTs generate nearly the same rate, and lose nothing.

    It takes the first link UART of both, as estimates do.
    """
    pair = (first, second)
    try:
        check_link_baud(pair, (0, 1), [board.link_uarts[0] for board in pair], baud, None)
    except UsageError:
        return False
    return True
