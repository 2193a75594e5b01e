"""Several virtual boards, synchronised with each other and with the host."""

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
_SHORTEST_BYTE_PS = 10**6  # a byte at 10 Mbaud, the shortest possible


@dataclass(frozen=True)
class VirtualBoard:
    """A board and the ELF file of its firmware."""

    board: Board
    elf: Path


@dataclass(frozen=True)
class Wire:
    """A connection of TX to RX in both directions between two UARTs, each as (board index, UART name)."""

    first: tuple[int, str]
    second: tuple[int, str]


class VirtualRig:
    """Boards by index, connected by wires; the host has a port to the host UART of every board.

    A conservative discrete-event simulation: boards run in turn, and the duration of the shortest byte is the lookahead
    by which a board may run ahead of the others. Boards that wait (in WFI, or in a loop that repeats exactly) do not
    limit the others. All times are integers, so that results are reproducible to the cycle.
    """

    def __init__(self, boards: Sequence[VirtualBoard], wires: Sequence[Wire] = (), *, finds_loops: bool = True) -> None:
        self._boards = tuple(boards)
        self._wires = tuple(wires)
        self._finds_loops = finds_loops
        self._bauds = [DEFAULT_BAUD] * len(self._boards)
        self.reset()

    def reset(self) -> None:
        """Power up all boards, at time 0."""
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
        """Description of the cycle models in use, for the captions of tables."""
        notes = dict.fromkeys(CORES[each.board.device.core].model_note for each in self._boards)
        return f"virtual boards: {'; '.join(notes)}"

    def _uart(self, index: int, name: str) -> Usart:
        return self._machines[index].chip.uarts[name]

    def _connect(self, source: tuple[int, str], target: tuple[int, str]) -> None:
        self._uart(*source).sink = self._wire(self._sent_by(self._machines[source[0]]), self._uart(*target))

    @staticmethod
    def _wire(sent: Callable[[int], None], target: Usart) -> Sink:
        def sink(arrival_ps: int, byte_ps: int, value: int, errors: int) -> None:
            target.receive(arrival_ps, byte_ps, value, errors)
            sent(arrival_ps)

        return sink

    def _sent_by(self, machine: Machine) -> Callable[[int], None]:
        """Return a function that limits `machine` after a byte: the receiver may reply one byte later."""
        return lambda arrival_ps: machine.limit(arrival_ps + self._lookahead_ps())

    def _lookahead_ps(self) -> int:
        """Return the duration of the shortest byte in this rig, in picoseconds."""
        uarts = (uart.byte_ps() for machine in self._machines for uart in machine.chip.uarts.values())
        shortest = min((ps for ps in uarts if ps is not None), default=FOREVER)
        return max(_SHORTEST_BYTE_PS, min(shortest, *(port.byte_ps for port in self._ports)))

    # The host

    @property
    def board_count(self) -> int:
        """Number of boards."""
        return len(self._boards)

    def host_port(self, index: int) -> HostPort:
        """Return the host side of a board's serial line."""
        return self._ports[index]

    def set_baud(self, index: int, baud: int) -> None:
        """Set the baud rate of the host side."""
        self._bauds[index] = baud
        self._ports[index].baud = baud

    def write(self, index: int, data: bytes) -> None:
        """Start sending bytes to a board."""
        self._ports[index].write(data, self.time_ps)

    @property
    def time_s(self) -> float:
        """Seconds since power-up."""
        return self.time_ps / PS_PER_S

    def cycles(self, index: int) -> int:
        """Core cycles of a board since power-up."""
        return self._machines[index].cycles

    def slept_cycles(self, index: int) -> int:
        """Core cycles of a board in WFI since power-up."""
        return self._machines[index].slept_cycles

    def read_word(self, index: int, address: int) -> int:
        """Return a word of a board's memory, without side effects."""
        return self._machines[index].read_word(address)

    def run_until(self, limit_ps: int, condition: Callable[[], bool] = lambda: False) -> bool:
        """Run until `condition` is true, tested whenever a byte arrives at the host, or until `limit_ps`.

        Returns whether it is true. Raises BoardStoppedError when a board stops, ToolError for a deadlock.
        """
        while not condition():
            wake_ps = min(limit_ps, *(ps for port in self._ports if (ps := port.next_ps()) is not None), FOREVER)
            nexts = [machine.next_ps() for machine in self._machines]
            first = min(range(len(nexts)), key=nexts.__getitem__)
            if nexts[first] < wake_ps:
                others = min((ps for index, ps in enumerate(nexts) if index != first), default=FOREVER)
                known_ps = min(others, wake_ps)
                self._machines[first].run(known_ps + self._lookahead_ps(), known_ps)
                continue
            if wake_ps >= FOREVER:
                raise ToolError("deadlock: all virtual boards wait and no event is pending")
            self.time_ps = max(self.time_ps, wake_ps)
            for port in self._ports:
                port.take_until(self.time_ps)
            if wake_ps == limit_ps:
                return condition()
        return True
