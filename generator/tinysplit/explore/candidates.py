"""What is explored: every network in every width on every set of boards at every baud rate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import NamedTuple

from tinysplit.boards.board import Board, check_baud
from tinysplit.common.errors import InputError, UsageError
from tinysplit.split.validate import MAX_DEVICES


class Candidate(NamedTuple):
    """A network on some boards, each of which gets a layer; `baud` 0 where one board alone has no link."""

    model: str  # SHA-256 of the ONNX file
    bits: int
    baud: int
    boards: tuple[str, ...]


@dataclass(frozen=True)
class Space:
    """All that is combined; every board type may be taken several times, up to `max_boards` boards in all."""

    models: tuple[str, ...]  # SHA-256 of the ONNX files
    boards: tuple[Board, ...]
    max_boards: int
    bauds: tuple[int, ...]
    bits: tuple[int, ...]

    def __post_init__(self) -> None:
        """Raise UsageError for what can be no exploration, InputError for a network that is named twice."""
        if self.max_boards < 1:
            raise UsageError(f"--max-boards {self.max_boards}: a set has at least one board")
        if self.max_boards > MAX_DEVICES:
            raise UsageError(f"--max-boards {self.max_boards}: a split has at most {MAX_DEVICES} boards")
        if len({board.name for board in self.boards}) < len(self.boards):
            raise UsageError("--board names a board twice: --max-boards says how often it may be taken")
        if len(set(self.models)) < len(self.models):
            raise InputError("two of the models are the same file: name each network once")

    def notes(self) -> Iterator[str]:
        """Yield what is not looked at, as some boards' link UARTs do not make a baud rate."""
        for baud in self.bauds if self.max_boards > 1 else ():
            talking = able_to_talk(self.boards, baud)
            silent = [board.name for board in self.boards if board.name not in talking]
            if not talking:
                yield f"note: none of the boards makes {baud} baud, so no set of several boards is looked at with it"
            elif silent:
                yield f"note: with {baud} baud no set of boards has {', '.join(silent)}, which cannot make it"

    def candidates(self) -> Iterator[Candidate]:
        """Yield every candidate once, in an order that does not change when more boards a set are allowed."""
        names = [board.name for board in self.boards]
        for n_boards in range(1, self.max_boards + 1):
            for model in self.models:
                for bits in self.bits:
                    for baud in self.bauds if n_boards > 1 else (0,):
                        talking = names if n_boards == 1 else able_to_talk(self.boards, baud)
                        for boards in combinations_with_replacement(talking, n_boards):
                            yield Candidate(model, bits, baud, boards)


def able_to_talk(boards: Sequence[Board], baud: int) -> list[str]:
    """Return the names of the boards whose link UARTs make `baud`."""
    able = []
    for board in boards:
        try:
            check_baud(board, board.link_uarts[0], baud)
        except UsageError:
            continue
        able.append(board.name)
    return able
