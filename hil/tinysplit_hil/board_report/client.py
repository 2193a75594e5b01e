"""Boards that run the image of a report: each request is a network's input, each answer its output."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tinysplit.common.errors import ToolError
from tinysplit.project.manifest import Project
from tinysplit_hil.bench.clocks import ClockError, clock_errors
from tinysplit_hil.measure.boards import Boards
from tinysplit_hil.measure.wiring_client import Stamp
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.wire.tasks import Task, pause

MOST_WORDS = 16
TIMEOUT_S = 10.0  # of a request
_REQUEST = struct.Struct(f"<IIII{MOST_WORDS}I")
_ANSWER = struct.Struct(f"<{MOST_WORDS}I")


class What(IntEnum):
    """What is asked, see firmware/report/report.c."""

    READ_WORDS = 0
    RUN_PIECE = 1
    WAKE_UP = 2
    SEND_BYTES = 3
    READ_TIME = 4
    RUN_BEFORE_DMA = 5
    RUN_BESIDE_DMA = 6
    COUNT_EVENTS = 7


@dataclass(frozen=True)
class Request:
    """A request; `words` are addresses, or memory settings of FLASH_ACR, and the answer has as many."""

    what: What
    words: tuple[int, ...]
    piece: int = 0
    loops: int = 0

    def packed(self) -> bytes:
        """Return it as the board reads it."""
        padded = (*self.words, *[0] * (MOST_WORDS - len(self.words)))
        return _REQUEST.pack(self.what, self.piece, self.loops, len(self.words), *padded)


class ReportClient:
    """The boards of an open rig; requests of different boards run at the same time."""

    def __init__(self, project: Project, rig: Rig) -> None:
        self._boards = Boards(project, rig)

    def begin(self) -> None:
        """Check that the boards run this image, and begin a run. Raises ToolError where they do not."""
        self._boards.check()
        self._boards.start_run()
        self._inferences = dict.fromkeys(self._boards.clients, 0)

    def ask(self, requests: Mapping[int, Sequence[Request]]) -> Mapping[int, list[tuple[int, ...]]]:
        """Send each board, by number, its requests one after the other, and return the answers.

        Raises ToolError when a board fails.
        """
        answers: dict[int, list[tuple[int, ...]]] = {number: [] for number in requests}
        tasks = []
        for number, own in requests.items():
            tasks += [self._send(number, own), self._collect(number, own, answers[number])]
        try:
            self._boards.run(tasks)
        except ToolError as error:
            raise self._boards.explain(error) from None
        for number, own in requests.items():
            self._inferences[number] += len(own)
        return answers

    def _send(self, number: int, requests: Sequence[Request]) -> Task[None]:
        for inference, request in enumerate(requests, self._inferences[number]):
            yield from self._boards.clients[number].send_input(inference, request.packed(), TIMEOUT_S)

    def _collect(self, number: int, requests: Sequence[Request], answers: list[tuple[int, ...]]) -> Task[None]:
        client = self._boards.clients[number]
        for inference, request in enumerate(requests, self._inferences[number]):
            crc = yield from client.wait_done(inference, TIMEOUT_S)
            output = yield from client.read_output(inference, _ANSWER.size, crc)
            answers.append(_ANSWER.unpack(output)[: len(request.words)])

    def clock_errors(self) -> Mapping[int, ClockError]:
        """Return by how much each board's clock differs from the host's, by number. Raises ToolError."""
        return clock_errors(self._read_clocks, self._pause)

    def _pause(self, seconds: float) -> None:
        self._boards.run([pause(self._boards.clock, seconds)])

    def _read_clocks(self) -> Mapping[int, Stamp]:
        inferences = dict(self._inferences)
        answers = self.ask({number: [Request(What.READ_TIME, (0, 0))] for number in inferences})
        stamps = {}
        for number, [(time_ms, cycles)] in answers.items():
            client, inference = self._boards.clients[number], inferences[number]
            if inference in client.done_s:
                board_s = time_ms / 1000 + cycles / self._boards.identities[number].core_hz
                stamps[number] = Stamp(board_s, client.started_s[inference], client.done_s[inference])
        return stamps
