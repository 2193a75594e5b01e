"""Several virtual boards in lock step with each other and with the host."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit.common.errors import ToolError
from tinysplit_hil.virtual.clock import PS_PER_S
from tinysplit_hil.virtual.core.cores import CORES
from tinysplit_hil.virtual.host_port import HostPort
from tinysplit_hil.virtual.machine import FOREVER, Machine
from tinysplit_hil.virtual.peripherals.usart import Sink, Usart

DEFAULT_BAUD = 115200
_NARROWEST_PS = 10**6  # a byte at 10 Mbaud: what nothing undercuts


@dataclass(frozen=True)
class VirtualBoard:
    """A board and the ELF file that it runs."""

    board: Board
    elf: Path


@dataclass(frozen=True)
class Wire:
    """TX to RX both ways between two UARTs, each given as (board index, UART name)."""

    first: tuple[int, str]
    second: tuple[int, str]


class VirtualRig:
    """Boards by index, joined by wires; the host has a port to each board's host UART.

    Boards run one after the other, each no further than no byte can reach it from a board that is behind: a byte takes
    its time on the wire. Boards that wait (in WFI, or in a loop that repeats itself exactly) hold nobody back. All
    times are integers, so that two runs give the same figures to the cycle.
    """

    def __init__(self, boards: Sequence[VirtualBoard], wires: Sequence[Wire] = (), *, finds_loops: bool = True) -> None:
        self._boards = tuple(boards)
        self._wires = tuple(wires)
        self._finds_loops = finds_loops
        self._bauds = [DEFAULT_BAUD] * len(self._boards)
        self.reset()

    def reset(self) -> None:
        """Power up anew, at time 0."""
        self.time_ps = 0
        self._machines = tuple(
            Machine(index + 1, each.board, each.elf, finds_loops=self._finds_loops)
            for index, each in enumerate(self._boards)
        )
        self._ports = tuple(
            HostPort(self._uart(index, each.board.host_uart.name), self._bauds[index])
            for index, each in enumerate(self._boards)
        )
        for index, port in enumerate(self._ports):
            machine = self._machines[index]
            port.attach(self._uart(index, self._boards[index].board.host_uart.name), self._sent_by(machine))
        for wire in self._wires:
            self._connect(wire.first, wire.second)
            self._connect(wire.second, wire.first)

    @property
    def model_note(self) -> str:
        """What the figures of this rig rest on, for the heading of every table."""
        notes = dict.fromkeys(CORES[each.board.device.core].model_note for each in self._boards)
        return f"virtual boards: {'; '.join(notes)}"

    def _uart(self, index: int, name: str) -> Usart:
        return self._machines[index].chip.uarts[name]

    def _connect(self, source: tuple[int, str], target: tuple[int, str]) -> None:
        self._uart(*source).sink = self._wire(self._sent_by(self._machines[source[0]]), self._uart(*target))

    @staticmethod
    def _wire(sent: Callable[[int], None], target: Usart) -> Sink:
        def sink(arrival_ps: int, byte_ps: int, value: int) -> None:
            target.receive(arrival_ps, byte_ps, value)
            sent(arrival_ps)

        return sink

    def _sent_by(self, machine: Machine) -> Callable[[int], None]:
        """Whoever receives a byte may answer, which takes a byte's time."""
        return lambda arrival_ps: machine.limit(arrival_ps + self._lookahead_ps())

    def _lookahead_ps(self) -> int:
        """Return the time that the shortest byte takes in this rig."""
        uarts = (uart.byte_ps() for machine in self._machines for uart in machine.chip.uarts.values())
        shortest = min((ps for ps in uarts if ps is not None), default=FOREVER)
        return max(_NARROWEST_PS, min(shortest, *(port.byte_ps for port in self._ports)))

    # The host

    @property
    def board_count(self) -> int:
        """Number of boards."""
        return len(self._boards)

    def host_port(self, index: int) -> HostPort:
        """Return the host's end of a board's line."""
        return self._ports[index]

    def set_baud(self, index: int, baud: int) -> None:
        """Set the baud rate of the host's end."""
        self._bauds[index] = baud
        self._ports[index].baud = baud

    def write(self, index: int, data: bytes) -> None:
        """Send bytes to a board, from now on."""
        self._ports[index].write(data, self.time_ps)

    @property
    def time_s(self) -> float:
        """Seconds since power-up."""
        return self.time_ps / PS_PER_S

    def cycles(self, index: int) -> int:
        """Core cycles of a board since power-up."""
        return self._machines[index].cycles

    def slept_cycles(self, index: int) -> int:
        """Core cycles that a board has slept since power-up."""
        return self._machines[index].slept_cycles

    def read_word(self, index: int, address: int) -> int:
        """Return a word of a board's memory, without any effect on the board."""
        return self._machines[index].read_word(address)

    def run_until(self, limit_ps: int, condition: Callable[[], bool] = lambda: False) -> bool:
        """Run until `condition` holds, looked at whenever a byte has arrived at the host, or until `limit_ps`.

        Returns whether it holds. Raises BoardStoppedError when a board stops.
        """
        while not condition():
            wake_ps = min(limit_ps, *(ps for port in self._ports if (ps := port.next_ps()) is not None), FOREVER)
            nexts = [machine.next_ps() for machine in self._machines]
            first = min(range(len(nexts)), key=nexts.__getitem__)
            if nexts[first] < wake_ps:
                others = min((ps for index, ps in enumerate(nexts) if index != first), default=FOREVER)
                self._machines[first].run(min(others, wake_ps) + self._lookahead_ps())
                continue
            if wake_ps >= FOREVER:
                raise ToolError("all virtual boards wait for each other and nothing will ever happen")
            self.time_ps = max(self.time_ps, wake_ps)
            for port in self._ports:
                port.take_until(self.time_ps)
            if wake_ps == limit_ps:
                return condition()
        return True
