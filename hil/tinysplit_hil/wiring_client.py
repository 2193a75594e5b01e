"""The boards of a wiring test: baud rates and frames are asked for as a network's input, counts read as its output."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinysplit.boards.board import Board
from tinysplit.common.errors import ToolError
from tinysplit.common.protocol_limits import BITS_PER_BYTE, LINK_OVERHEAD_BYTES, LINK_PAYLOAD_BYTES
from tinysplit.plan.wiring import Link
from tinysplit.project.manifest import Project
from tinysplit_hil.boards import Boards
from tinysplit_hil.rig import Rig
from tinysplit_hil.tasks import Task

MOST_LINKS = 4  # of a board
MARGIN_S = 0.3  # by which boards may begin a round one after the other
TIMEOUT_S = 3.0  # beyond the time that a board may take

_REQUEST = struct.Struct(f"<III{MOST_LINKS}I")
_COUNT = struct.Struct("<IIIBBxx")


@dataclass(frozen=True)
class End:
    """A link UART of a board, by the indices of both."""

    board: int
    uart: int


@dataclass(frozen=True)
class Count:
    """What has arrived at an end since the baud rates were set; `sender` is that of the last good frame."""

    good: int
    damaged: int
    line_errors: int
    sender: End | None

    @property
    def is_anything(self) -> bool:
        """Whether anything has arrived, be it noise."""
        return bool(self.good or self.damaged or self.line_errors)


def ends_of(boards: Sequence[Board], links: Sequence[Link]) -> tuple[tuple[End, End], ...]:
    """Return both ends of each link."""
    ends = []
    for link in links:
        first, second = (
            End(index, boards[index].link_uarts.index(uart))
            for index, uart in zip(link.boards, link.uarts, strict=True)
        )
        ends.append((first, second))
    return tuple(ends)


class WiringClient:
    """Boards that run the wiring test."""

    def __init__(self, project: Project, rig: Rig) -> None:
        """`project` is open on `rig`."""
        self._boards = Boards(project, rig)
        self._inference = 0

    def begin(self) -> None:
        """Check the boards and let them join a run. Raises ToolError where that fails."""
        self._boards.check()
        self._boards.start_run()

    def exchange(
        self, bauds: Mapping[End, int], frames: int, frame_bytes: int = LINK_PAYLOAD_BYTES
    ) -> Mapping[End, Count]:
        """Let the UARTs in `bauds` all send `frames` frames at once, each at its rate, and return what has arrived.

        Raises ToolError when a board fails.
        """
        line_s = BITS_PER_BYTE * (frame_bytes + LINK_OVERHEAD_BYTES) * frames / min(bauds.values())
        self._ask(bauds, 0, frame_bytes, 0.0)
        return self._ask(bauds, frames, frame_bytes, 1.1 * line_s + MARGIN_S)

    def _ask(self, bauds: Mapping[End, int], frames: int, frame_bytes: int, wait_s: float) -> Mapping[End, Count]:
        counts: dict[End, Count] = {}
        tasks = []
        for number in self._boards.clients:
            own = (bauds.get(End(number - 1, uart), 0) for uart in range(MOST_LINKS))
            request = _REQUEST.pack(frames, frame_bytes, round(1000 * wait_s), *own)
            tasks += [self._send(number, request, wait_s), self._collect(number, counts, wait_s)]
        try:
            self._boards.run(tasks)
        except ToolError as error:
            raise self._boards.explain(error) from None
        self._inference += 1
        return counts

    def _send(self, number: int, request: bytes, wait_s: float) -> Task[None]:
        return self._boards.clients[number].send_input(self._inference, request, wait_s + TIMEOUT_S)

    def _collect(self, number: int, counts: dict[End, Count], wait_s: float) -> Task[None]:
        client = self._boards.clients[number]
        crc = yield from client.wait_done(self._inference, wait_s + TIMEOUT_S)
        output = yield from client.read_output(self._inference, MOST_LINKS * _COUNT.size, crc)
        for uart, (good, damaged, line_errors, board, its_uart) in enumerate(_COUNT.iter_unpack(output)):
            sender = End(board, its_uart) if good else None
            counts[End(number - 1, uart)] = Count(good, damaged, line_errors, sender)
