"""The boards of a wiring test: baud rates and frames are asked for as a network's input, counts read as its output."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    """A board's end of a link, by the indices of the board and of its link."""

    board: int
    link: int


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


def ends_of(links: Sequence[Link]) -> tuple[tuple[End, End], ...]:
    """Return both ends of each link; links of a board count in the order of `links`."""
    counts: dict[int, int] = {}
    ends = []
    for link in links:
        first, second = (End(board, counts.get(board, 0)) for board in link.boards)
        for end in (first, second):
            counts[end.board] = end.link + 1
        ends.append((first, second))
    return tuple(ends)


class WiringClient:
    """Boards that run the wiring test of `links`."""

    def __init__(self, project: Project, links: Sequence[Link], rig: Rig) -> None:
        """`project` is that of `links`, and open on `rig`."""
        self._boards = Boards(project, rig)
        self._ends = ends_of(links)
        self._inference = 0

    def begin(self) -> None:
        """Check the boards and let them join a run. Raises ToolError where that fails."""
        self._boards.check()
        self._boards.start_run()

    def exchange(self, bauds: Sequence[int], frames: int, frame_bytes: int = LINK_PAYLOAD_BYTES) -> Mapping[End, Count]:
        """Send `frames` frames in both directions of all links at once, and return what has arrived.

        `bauds` are the rates of the links. Raises ToolError when a board fails.
        """
        line_s = BITS_PER_BYTE * (frame_bytes + LINK_OVERHEAD_BYTES) * frames / min(bauds)
        self._ask(bauds, 0, frame_bytes, 0.0)
        return self._ask(bauds, frames, frame_bytes, 1.1 * line_s + MARGIN_S)

    def _ask(self, bauds: Sequence[int], frames: int, frame_bytes: int, wait_s: float) -> Mapping[End, Count]:
        counts: dict[End, Count] = {}
        tasks = []
        for number in self._boards.clients:
            own = [
                baud for ends, baud in zip(self._ends, bauds, strict=True) for end in ends if end.board == number - 1
            ]
            rates = (*own, *(0,) * (MOST_LINKS - len(own)))
            request = _REQUEST.pack(frames, frame_bytes, round(1000 * wait_s), *rates)
            tasks += [self._send(number, request, wait_s), self._collect(number, len(own), counts, wait_s)]
        try:
            self._boards.run(tasks)
        except ToolError as error:
            raise self._boards.explain(error) from None
        self._inference += 1
        return counts

    def _send(self, number: int, request: bytes, wait_s: float) -> Task[None]:
        return self._boards.clients[number].send_input(self._inference, request, wait_s + TIMEOUT_S)

    def _collect(self, number: int, n_links: int, counts: dict[End, Count], wait_s: float) -> Task[None]:
        client = self._boards.clients[number]
        crc = yield from client.wait_done(self._inference, wait_s + TIMEOUT_S)
        output = yield from client.read_output(self._inference, MOST_LINKS * _COUNT.size, crc)
        for link, values in enumerate(list(_COUNT.iter_unpack(output))[:n_links]):
            good, damaged, line_errors, board, of_link = values
            sender = End(board, of_link) if good else None
            counts[End(number - 1, link)] = Count(good, damaged, line_errors, sender)
