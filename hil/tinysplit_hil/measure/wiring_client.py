"""The boards of a wiring test: baud rates and frames are asked for as a network's input, counts read as its output."""

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tinysplit.boards.board import Board
from tinysplit.common.errors import ToolError
from tinysplit.common.protocol_limits import BITS_PER_BYTE, LINK_OVERHEAD_BYTES, LINK_PAYLOAD_BYTES
from tinysplit.plan.wiring import Link
from tinysplit.project.manifest import Project
from tinysplit_hil.measure.boards import Boards
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.wire.tasks import Task, pause

MOST_LINKS = 4  # of a board
MARGIN_S = 0.3  # by which boards may begin a round one after the other
TIMEOUT_S = 3.0  # beyond the time that a board may take

_REQUEST = struct.Struct(f"<III{MOST_LINKS}III")
_TIME = struct.Struct("<II")
_COUNT = struct.Struct("<IIIIBBxx")
REQUEST_BYTES = _REQUEST.size
REPORT_BYTES = _TIME.size + MOST_LINKS * _COUNT.size


@dataclass(frozen=True)
class End:
    """A link UART of a board, by the indices of both."""

    board: int
    uart: int


@dataclass(frozen=True)
class Count:
    """What has arrived at an end since the baud rates were set; `sender` is that of the last good frame.

    `bit_errors` are those in the payloads of damaged frames; `line_errors` ends at 255.
    """

    good: int
    damaged: int
    line_errors: int
    bit_errors: int
    sender: End | None

    @property
    def is_anything(self) -> bool:
        """Whether anything has arrived, be it noise."""
        return bool(self.good or self.damaged or self.line_errors)

    @property
    def is_noise(self) -> bool:
        """Whether something has arrived, but no good frame."""
        return self.is_anything and self.sender is None


@dataclass(frozen=True)
class Stamp:
    """A board's clock in seconds, read between two times of the host's."""

    board_s: float
    after_s: float
    before_s: float

    @property
    def width_s(self) -> float:
        """Time within which the clock was read."""
        return self.before_s - self.after_s

    @property
    def host_s(self) -> float:
        """The middle of this time."""
        return (self.after_s + self.before_s) / 2


@dataclass(frozen=True)
class _Round:
    """What is asked of all boards; UARTs `at_tx` listen on their TX pin, and send nothing."""

    bauds: Mapping[End, int]
    frames: int
    frame_bytes: int
    wait_s: float
    at_tx: Collection[End] = ()
    keeps_time: bool = False

    def request(self, board: int) -> bytes:
        """Return the request to a board, by its index."""
        ends = [End(board, uart) for uart in range(MOST_LINKS)]
        at_tx = sum(1 << end.uart for end in ends if end in self.at_tx)
        bauds = (self.bauds.get(end, 0) for end in ends)
        return _REQUEST.pack(
            self.frames, self.frame_bytes, round(1000 * self.wait_s), *bauds, at_tx, int(self.keeps_time)
        )


def ends_of(boards: Sequence[Board], link: Link) -> tuple[End, End]:
    """Return both ends of a link."""
    first, second = (End(end.board, boards[end.board].link_uarts.index(end.uart)) for end in link.ends)
    return first, second


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
        self,
        bauds: Mapping[End, int],
        frames: int,
        frame_bytes: int = LINK_PAYLOAD_BYTES,
        at_tx: Collection[End] = (),
    ) -> Mapping[End, Count]:
        """Let the UARTs in `bauds` all send `frames` frames at once, each at its rate, and return what has arrived.

        Those in `at_tx` send nothing, and listen on their TX pin instead. Raises ToolError when a board fails, or hears
        one that does not send.
        """
        line_s = BITS_PER_BYTE * (frame_bytes + LINK_OVERHEAD_BYTES) * frames / min(bauds.values())
        self._ask(_Round(bauds, 0, frame_bytes, 0.0, at_tx))
        reports = self._ask(_Round(bauds, frames, frame_bytes, 1.1 * line_s + MARGIN_S, at_tx))
        counts = {}
        for number, report in reports.items():
            uarts = _COUNT.iter_unpack(report[_TIME.size :])
            for uart, (good, damaged, line_errors, bit_errors, board, its_uart) in enumerate(uarts):
                sender = End(board, its_uart) if good else None
                if sender and sender not in bauds:
                    raise ToolError(
                        f"{self._boards.clients[number].name} hears UART {its_uart + 1} of board {board + 1}, which "
                        "does not send: build and flash the wiring test again"
                    )
                counts[End(number - 1, uart)] = Count(good, damaged, line_errors, bit_errors, sender)
        return counts

    def read_clocks(self) -> Mapping[int, Stamp]:
        """Return a reading of each board's clock, by number, which begins with the first one and then goes on.

        A board whose event was lost is missing. Raises ToolError when a board fails.
        """
        number_of_request = self._inference
        reports = self._ask(_Round({}, 0, 0, 0.0, keeps_time=True))
        stamps = {}
        for number, report in reports.items():
            client = self._boards.clients[number]
            time_ms, cycles = _TIME.unpack_from(report)
            board_s = time_ms / 1000 + cycles / self._boards.identities[number].core_hz
            if number_of_request in client.done_s:
                stamps[number] = Stamp(board_s, client.started_s[number_of_request], client.done_s[number_of_request])
        return stamps

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        self._boards.run([pause(self._boards.clock, seconds)])

    def _ask(self, asked: _Round) -> Mapping[int, bytes]:
        """Return the reports of all boards by number."""
        reports: dict[int, bytes] = {}
        tasks = []
        for number in self._boards.clients:
            request = asked.request(number - 1)
            tasks += [self._send(number, request, asked.wait_s), self._collect(number, reports, asked.wait_s)]
        try:
            self._boards.run(tasks)
        except ToolError as error:
            raise self._boards.explain(error) from None
        self._inference += 1
        return reports

    def _send(self, number: int, request: bytes, wait_s: float) -> Task[None]:
        return self._boards.clients[number].send_input(self._inference, request, wait_s + TIMEOUT_S)

    def _collect(self, number: int, reports: dict[int, bytes], wait_s: float) -> Task[None]:
        client = self._boards.clients[number]
        crc = yield from client.wait_done(self._inference, wait_s + TIMEOUT_S)
        reports[number] = yield from client.read_output(self._inference, REPORT_BYTES, crc)
