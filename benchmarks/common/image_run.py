"""Runs firmware images of MLPerf Tiny submissions, as others measured them on hardware, on virtual boards.

The images are raw contents of flash. They answer the commands of the benchmark's runner (mlcommons/tiny):
`infer N W` runs N inferences after W more, and prints `m-lap-us-` with the time before and after them.
"""

import random
from dataclasses import dataclass

from typing_extensions import override

from common.stand_ins import Console, Registers, StandIns
from tinysplit.boards.board import Board
from tinysplit.common.errors import CheckFailedError
from virtual_stm32 import Stalls
from virtual_stm32.core.nvic import FIRST_INTERRUPT
from virtual_stm32.core.run_control import RunControl
from virtual_stm32.firmware import LoadedFirmware, Start
from virtual_stm32.machine import Machine
from virtual_stm32.peripherals.bus import Bus
from virtual_stm32.peripherals.reset import ResetCause

_SLICE_PS = 10**9  # in which a byte may be given to the program
_LIMIT_PS = 20 * 10**12  # for an answer
_READY, _LAP = "m-ready", "m-lap-us"
_COMMAND = "infer 1 1%"


@dataclass(frozen=True)
class Part:
    """A part on which images run: the board with its core and memories, its clock, and its registers."""

    board: Board
    core_hz: int
    registers: Registers


@dataclass(frozen=True)
class Moment:
    """A cycle, and the cycles for which memory has made the core wait until then."""

    cycle: int
    stalls: Stalls

    def __sub__(self, before: "Moment") -> "Moment":
        return Moment(self.cycle - before.cycle, self.stalls - before.stalls)


@dataclass(frozen=True)
class Line:
    """A line that an image has printed: the moments of its last byte, and of the last read of a timer before it."""

    text: str
    end: Moment
    timer: Moment


class ImageMachine(Machine):
    """A virtual board with stand-ins for its peripherals, which runs an image and talks to it."""

    def __init__(self, part: Part, image: bytes) -> None:
        self._part = part
        self.lines: list[Line] = []
        self._line = ""
        self._timer = Moment(0, Stalls(0, 0, 0))
        firmware = LoadedFirmware(part.board, None, is_debuggable=True)
        firmware.image[: len(image)] = image
        firmware.begin()
        numbers = random.Random(0)  # noqa: S311 (no secret)
        ram = {memory.name: numbers.randbytes(memory.size_bytes) for memory in part.board.device.ram}
        super().__init__(1, part.board, firmware, Start(0, ResetCause.POWER_UP, ram), RunControl(), finds_loops=False)
        self.clock.change(part.core_hz, 0)
        self._stand_ins.set_memory()

    @override
    def connected(self) -> Bus:
        self._stand_ins = StandIns(
            self._part.registers,
            memory_changed=self.memory_changed,
            timer_read=self._note_timer,
            send=self._take,
            look=self._look,
        )
        for position, console in self._stand_ins.consoles.items():
            self.nvic.connect(FIRST_INTERRUPT + position, console.has_interrupt)
        return self._stand_ins

    def _look(self, position: int) -> None:
        self.nvic.look(FIRST_INTERRUPT + position)

    def _note_timer(self, now: int) -> None:
        self._timer = Moment(now, self.stalls)

    def _take(self, byte: int, now: int) -> None:
        character = chr(byte & 0x7F)
        if character not in "\r\n":
            self._line += character
        elif self._line:
            self.lines.append(Line(self._line, Moment(now, self.stalls), self._timer))
            self._line = ""

    def say(self, text: str) -> None:
        """Send a command, and run until the image is ready again."""
        queue = list(text.encode())
        before, begin = self._ready_count, self.clock.ps(self.cycles)
        while self._ready_count == before:
            ps = self.clock.ps(self.cycles) + _SLICE_PS
            if ps > begin + _LIMIT_PS:
                raise CheckFailedError(f"the image did not answer {text!r} in {_LIMIT_PS / 10**12:g} s of the board")
            if queue and (console := self._listening()):
                console.receive(queue.pop(0))
                self.disturb()
            self.run(ps, ps)
            self.wait_until(ps)

    def _listening(self) -> Console | None:
        """Return the UART that waits for a byte."""
        listening = [each for each in self._stand_ins.consoles.values() if each.listens]
        return next((each for each in listening if each.has_receive_interrupt), listening[0] if listening else None)

    @property
    def _ready_count(self) -> int:
        return sum(_READY in line.text for line in self.lines)


def infer(part: Part, image: bytes) -> Moment:
    """Return cycles and stalls of an inference of an image. Raises CheckFailedError if it does not answer."""
    machine = ImageMachine(part, image)
    machine.say("")
    machine.say(_COMMAND)
    laps = [line for line in machine.lines if line.text.startswith(_LAP)]
    try:
        begin, end = laps[-2:]
    except ValueError:
        raise CheckFailedError(f"the image does not print `{_LAP}` before and after an inference") from None
    return end.timer - begin.end
