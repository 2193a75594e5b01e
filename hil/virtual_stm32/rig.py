"""Several virtual boards, synchronised with each other and with the host."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event, RLock
from typing import Self

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import ToolError, UsageError
from tinysplit.common.interrupts.aside import run_aside
from virtual_stm32.clock import FOREVER, PS_PER_S
from virtual_stm32.core.cores import Core
from virtual_stm32.core.memory_timing import Stalls
from virtual_stm32.core.run_control import RunControl
from virtual_stm32.debug.part import DebuggedPart
from virtual_stm32.errors import BoardStoppedError
from virtual_stm32.firmware import LoadedFirmware, Start
from virtual_stm32.host_port import HostPort
from virtual_stm32.line_faults import FaultyLine, LineByte, LineFaults
from virtual_stm32.machine import Machine
from virtual_stm32.peripherals.adc import PINS, AnalogSource
from virtual_stm32.peripherals.reset import ResetCause
from virtual_stm32.peripherals.usart import Sink, Usart
from virtual_stm32.pin_trace import PinTrace
from virtual_stm32.timing_rules import SHIPPED, TimingFile

DEFAULT_BAUD = 115200
_SHORTEST_BYTE_PS = 6 * 10**5  # 10 bits at 16.7 Mbaud: UARTs make 15
_LONGEST_RUN_PS = 10**10  # of a board alone, so that an interrupt does not have to wait
HOST = "host"  # in place of a UART's name: the host's side of a board's serial line
WireEnd = tuple[int, str]  # index of a board, and the name of one of its UARTs or HOST
_RESET_PS = 20 * 10**6  # the pulse that every reset makes on NRST (RM0444, RM0394, RM0368, RM0433: system reset)


@dataclass(frozen=True)
class VirtualBoard:
    """A board and the ELF file of its firmware, None for erased flash.

    `clock_error_ppm` is by how much its oscillator is too fast. A board that does not start (`starts`) does nothing.
    """

    board: Board
    elf: Path | None
    clock_error_ppm: int = 0
    starts: bool = True
    timing: TimingFile = SHIPPED

    @classmethod
    def of(cls, name: str, elf: Path | None) -> Self:
        """Return the board of a name, or of the path of a board file. Raises UsageError where there is none."""
        return cls(load_board(name), elf)


@dataclass(frozen=True)
class Wire:
    """A connection of TX to RX in both directions between two UARTs.

    A straight one is wrong: it connects TX to TX and RX to RX.
    """

    first: WireEnd
    second: WireEnd
    is_straight: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, order=True)
class _Reset:
    """A reset of a board that is to come."""

    ps: int
    index: int
    cause: ResetCause = field(compare=False)
    held_ps: int


def _note(trace: PinTrace, signal: int, machine: Machine, level: bool, cycle: int) -> None:
    trace.change(signal, machine.clock.ps(cycle), level=level)


def _hear(heard: list[tuple[int, int]], arrival_ps: int, _byte_ps: int, value: int, _errors: int) -> None:
    heard.append((arrival_ps, value))


class VirtualRig:
    """Boards by index, connected by wires; the host has a port to the host UART of every board.

    A conservative discrete-event simulation: boards run in turn, and the duration of the shortest byte is the lookahead
    by which a board may run ahead of the others. Boards that wait (in WFI, or in a loop that repeats exactly) do not
    limit the others. All times are integers, so that results are reproducible to the cycle.
    """

    def __init__(
        self,
        boards: Sequence[VirtualBoard],
        wires: Sequence[Wire] = (),
        *,
        finds_loops: bool = True,
        ram_seed: int = 0,
        has_ideal_memory: bool = False,
        is_debuggable: bool = False,
    ) -> None:
        """With `is_debuggable` every board has a debug port: see `part`."""
        self._boards = tuple(boards)
        self._wires = tuple(wires)
        self._finds_loops = finds_loops
        self._has_ideal_memory = has_ideal_memory
        self._ram_seed = ram_seed  # of the contents of RAM after power-up
        self._is_debuggable = is_debuggable
        self.stopped: Callable[[str], None] = lambda _why: None  # a board with a debug port is in lockup
        self._firmware = tuple(
            LoadedFirmware(each.board, each.elf, is_debuggable=is_debuggable, timing=each.timing)
            for each in self._boards
        )
        self._parts = tuple(
            DebuggedPart(each.board, partial(self.reset_board, index), lambda: self.time_ps, index + 1)
            for index, each in enumerate(self._boards)
            if is_debuggable
        )
        self._running = RLock()  # a call that is interrupted twice may last into the next one
        self._bauds = [DEFAULT_BAUD] * len(self._boards)
        self._machines: list[Machine] = []
        self._faults: dict[WireEnd, LineFaults] = {}
        self._watched: list[tuple[int, int, str, PinTrace]] = []  # signal, board, pin
        self._sources: dict[tuple[int, str], AnalogSource] = {}  # by board and pin
        self._heard: dict[WireEnd, list[tuple[int, int]]] = {}
        self.reset()

    def reset(self) -> None:
        """Power up all boards, at time 0. What was flashed stays."""
        for index in range(len(self._machines)):
            self._keep_flash(index)
        self.time_ps = 0
        self._starts = [0] * len(self._boards)
        self._resets: list[_Reset] = []
        self._lines = {target: FaultyLine(faults, f"{target}") for target, faults in self._faults.items()}
        self._ports = tuple(HostPort(baud) for baud in self._bauds)
        self._shortest_host_byte_ps = min(port.byte_ps for port in self._ports)
        for source in self._sources.values():
            source.rewind()
        for heard in self._heard.values():
            heard.clear()
        self._machines = [self._started(index, 0, ResetCause.POWER_UP, None) for index in range(len(self._boards))]
        self._connect_all()

    def _started(self, index: int, ps: int, cause: ResetCause, before: Machine | None) -> Machine:
        each, firmware = self._boards[index], self._firmware[index]
        self._starts[index] += 1
        is_kept = before is not None and cause.keeps_ram
        ram = before.ram() if before is not None and is_kept else self._power_up_ram(index)
        flags = before.chip.rcc.shown_reset_flags if before is not None else 0
        is_empty = firmware.is_empty if before is None or cause.loads_options else before.chip.flash.is_empty
        start = Start(ps, cause, ram, flags, does_start=each.starts, is_empty=is_empty)
        firmware.begin()
        machine = Machine(
            index + 1,
            each.board,
            firmware,
            start,
            self._parts[index].run_control if self._is_debuggable else RunControl(),
            clock_error_ppm=each.clock_error_ppm,
            finds_loops=self._finds_loops,
            has_ideal_memory=self._has_ideal_memory,
            timing=each.timing,
        )
        self._watch(index, machine)
        self._connect_sources(index, machine)
        if self._is_debuggable:
            self._parts[index].attach(machine, cause)
        return machine

    def part(self, index: int) -> DebuggedPart:
        """Return a board with a debug port as its probe sees it."""
        return self._parts[index]

    def trace_pins(self, pins: Sequence[tuple[str, int, str]]) -> PinTrace:
        """Trace pins from now on: each by the name of its signal, the index of its board, and its own name."""
        trace = PinTrace([name for name, _, _ in pins])
        self._watched += [(signal, *pin[1:], trace) for signal, pin in enumerate(pins)]
        for index, machine in enumerate(self._machines):
            self._watch(index, machine)
        return trace

    def _watch(self, index: int, machine: Machine) -> None:
        for signal, board, pin, trace in self._watched:
            if board == index:
                machine.chip.watch_pin(pin, partial(_note, trace, signal, machine))

    def play(self, index: int, pin: str, samples: Sequence[int], rate_hz: int) -> None:
        """Connect an analog source to a pin of a board: 12-bit samples that begin with the first conversion.

        The source goes on over resets of the board; reset() begins it anew. Raises UsageError for a pin without a
        modelled ADC.
        """
        machine = self._machines[index]
        if machine.chip.adc is None or pin not in PINS:
            board = self._boards[index].board
            raise UsageError(f"board {index + 1} ({board.name}) has no analog input at {pin} that is modelled")
        self._sources[index, pin] = AnalogSource(samples, rate_hz)
        self._connect_sources(index, machine)

    def _connect_sources(self, index: int, machine: Machine) -> None:
        for (board, pin), source in self._sources.items():
            if board == index and machine.chip.adc:
                machine.chip.adc.sources[pin] = source

    def listen(self, index: int, uart: str) -> list[tuple[int, int]]:
        """Return a list that gets what a UART of a board sends from now on: times in ps, and bytes.

        Nothing else receives it, and nothing is sent to the UART. Raises UsageError where there is no such UART.
        """
        self._uart(index, uart)
        heard = self._heard.setdefault((index, uart), [])
        self._connect_all()
        return heard

    def _keep_flash(self, index: int) -> None:
        """Keep the contents of a board's flash over a reset, which interrupts what changes it."""
        machine = self._machines[index]
        machine.chip.flash.interrupt(random.Random(f"{self._ram_seed}/{index}/{self._starts[index]}/flash"))  # noqa: S311
        self._firmware[index].image[:] = machine.emulator.flash

    def _power_up_ram(self, index: int) -> dict[str, bytes]:
        """Return random contents of RAM, deterministic, and others at every power-up."""
        numbers = random.Random(f"{self._ram_seed}/{index}/{self._starts[index]}")  # noqa: S311 (no secret)
        return {memory.name: numbers.randbytes(memory.size_bytes) for memory in self._boards[index].board.device.ram}

    def _connect_all(self) -> None:
        for index, port in enumerate(self._ports):
            uart = self._uart(index, self._boards[index].board.host_uart.name)
            port.connect(self._line((index, uart.name), uart.receive))
            uart.sink = self._sender(index, self._line((index, HOST), port.take))
        for wire in self._wires:
            self._connect(wire.first, wire.second, is_straight=wire.is_straight)
            self._connect(wire.second, wire.first, is_straight=wire.is_straight)
        for (index, name), heard in self._heard.items():
            self._uart(index, name).sink = partial(_hear, heard)

    @property
    def model_note(self) -> str:
        """Description of the cycle models in use, for the captions of tables."""
        notes = dict.fromkeys(Core.of(each.board).facts.model_note for each in self._boards)
        memory = "no flash wait states" if self._has_ideal_memory else "flash, caches and buses of the boards"
        files = "".join(f"; timing file {file.name} of {file.rules}" for file in self._timing_files)
        return f"virtual boards: {'; '.join(notes)}; {memory}{files}"

    @property
    def timing_rules(self) -> str:
        """The rules of time that timing files have changed, with their parts; "" where all boards have the shipped."""
        return "; ".join(file.rules for file in self._timing_files)

    @property
    def _timing_files(self) -> list[TimingFile]:
        return list({each.timing.name: each.timing for each in self._boards if each.timing.name}.values())

    def _uart(self, index: int, name: str) -> Usart:
        uarts = self._machines[index].chip.uarts
        board = self._boards[index].board
        if name not in uarts:
            raise UsageError(f"board {index + 1} ({board.name}) has no {name}: it has {', '.join(uarts)}")
        return uarts[name]

    def _connect(self, source: WireEnd, target: WireEnd, *, is_straight: bool) -> None:
        uart = self._uart(*target)
        receive = uart.receive_at_tx if is_straight else uart.receive
        self._uart(*source).sink = self._sender(source[0], self._line(target, receive))

    def _sender(self, index: int, pass_on: Sink) -> Sink:
        """Return a sink that limits the sending board after a byte: the receiver may reply one byte later."""
        machine = self._machines[index]

        def sink(arrival_ps: int, byte_ps: int, value: int, errors: int) -> None:
            pass_on(arrival_ps, byte_ps, value, errors)
            machine.limit(arrival_ps + self._lookahead_ps())

        return sink

    def _line(self, target: WireEnd, receive: Sink) -> Sink:
        """Return a sink that passes bytes on to `receive` with the faults of the line to `target`."""

        def sink(arrival_ps: int, byte_ps: int, value: int, errors: int) -> None:
            line = self._lines.get(target)
            if line is None:
                receive(arrival_ps, byte_ps, value, errors)
                return
            for byte in line.arriving(LineByte(arrival_ps, byte_ps, value, errors)):
                receive(byte.arrival_ps, byte.byte_ps, byte.value, byte.errors)

        return sink

    def _lookahead_ps(self) -> int:
        """Return the duration of the shortest byte in this rig, in picoseconds."""
        shortest = min([machine.shortest_byte_ps for machine in self._machines])
        return max(_SHORTEST_BYTE_PS, min(shortest, self._shortest_host_byte_ps))

    # Faults

    def set_faults(self, target: WireEnd, faults: LineFaults | None) -> None:
        """Set the faults on the line to `target`, which is (board index, HOST) for bytes to the host.

        Bytes that begin from now on are affected; positions count from here. None is a line without faults. The faults
        stay over reset(), which begins their random numbers anew.
        """
        self._faults.pop(target, None)
        self._lines.pop(target, None)
        if faults is not None:
            self._faults[target] = faults
            self._lines[target] = FaultyLine(faults, f"{target}")

    def reset_board(self, index: int, cause: ResetCause, at_ps: int | None = None, held_ps: int = _RESET_PS) -> None:
        """Reset a board at `at_ps` (default: now), and hold it in reset for `held_ps` picoseconds.

        POWER_UP and BROWN_OUT lose the contents of RAM. A byte that the board is sending arrives whole.
        """
        self._resets.append(_Reset(self.time_ps if at_ps is None else at_ps, index, cause, held_ps))

    def _reset_now(self, index: int, ps: int, cause: ResetCause, held_ps: int) -> None:
        before = self._machines[index]
        self._keep_flash(index)
        self._machines[index] = self._started(index, ps + held_ps, cause, before)
        for name, uart in before.chip.uarts.items():
            self._uart(index, name).arrivals.extend(uart.arrivals)
        self._connect_all()

    def start_count(self, index: int) -> int:
        """Return how often a board has started since reset()."""
        return self._starts[index]

    def flip_flash_bit(self, index: int, address: int, bit: int) -> None:
        """Flip a bit of a byte of a board's flash, for good; code that has run already is not affected."""
        offset = address - self._boards[index].board.device.flash.start
        self._firmware[index].image[offset] ^= 1 << bit
        self._machines[index].emulator.flash[offset] ^= 1 << bit

    def write_word(self, index: int, address: int, value: int) -> None:
        """Change a word of a board's RAM behind its program's back."""
        self._machines[index].write_word(address, value)

    def jump(self, index: int, address: int) -> None:
        """Let a board's program go on at `address`, as after a disturbed program counter."""
        self._machines[index].jump(address)

    def interrupt(self, index: int, position: int) -> None:
        """Raise an interrupt of a board by its position in the vector table, as a peripheral that nobody models."""
        self._machines[index].interrupt(position)

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
        self._shortest_host_byte_ps = min(port.byte_ps for port in self._ports)

    def write(self, index: int, data: bytes) -> None:
        """Start sending bytes to a board."""
        self._ports[index].write(data, self.time_ps)

    @property
    def time_s(self) -> float:
        """Seconds since power-up."""
        return self.time_ps / PS_PER_S

    @property
    def is_idle(self) -> bool:
        """Whether all boards wait, no byte is under way, and no flash is erased or programmed."""
        uarts = (uart for machine in self._machines for uart in machine.chip.uarts.values())
        under_way = any(uart.arrivals for uart in uarts) or any(port.next_ps() < FOREVER for port in self._ports)
        return not under_way and all(machine.is_idle for machine in self._machines)

    def cycles(self, index: int) -> int:
        """Core cycles of a board since its last reset."""
        return self._machines[index].cycles

    def mark(self, index: int, addresses: Iterable[int]) -> None:
        """Record cycles and stalls of a board whenever the code at one of `addresses` begins; call it before a run."""
        self._machines[index].mark(addresses)

    def marks(self, index: int) -> list[tuple[int, int, Stalls]]:
        """Return what was recorded: address, cycles and stalls since the start."""
        return list(self._machines[index].emulator.marks())

    def stalls(self, index: int) -> Stalls:
        """Core cycles that the memory of a board has cost since its last reset."""
        return self._machines[index].stalls

    def slept_cycles(self, index: int) -> int:
        """Core cycles of a board in WFI since its last reset."""
        return self._machines[index].slept_cycles

    def stopped_s(self, index: int) -> float:
        """Seconds of a board in stop mode since its last reset."""
        return self._machines[index].stopped_ps(self.time_ps) / PS_PER_S

    def external_cycles(self, index: int) -> int:
        """Return the core cycles since the last reset of a board in which its external memory was read."""
        return int(self._machines[index].emulator.external.read_cycles)

    def read_word(self, index: int, address: int) -> int:
        """Return a word of a board's memory, without side effects."""
        return self._machines[index].read_word(address)

    def run_until(self, limit_ps: int, condition: Callable[[], bool] = lambda: False) -> bool:
        """Run until `condition` is true, tested whenever a byte arrives at the host, or until `limit_ps`.

        Returns whether it is true. Raises BoardStoppedError when a board stops, ToolError for a deadlock. An exception
        that a signal raises meanwhile leaves the boards between two events, from where they can go on.
        """
        stop = Event()
        return run_aside(partial(self._run_until, limit_ps, condition, stop.is_set), stop.set)

    def _run_until(self, limit_ps: int, condition: Callable[[], bool], is_stopped: Callable[[], bool]) -> bool:
        with self._running:
            while not condition():
                wake_ps = self._run_boards(limit_ps, is_stopped)
                if is_stopped():
                    return False
                self.time_ps = max(self.time_ps, wake_ps)
                for port in self._ports:
                    port.take_until(self.time_ps)
                if wake_ps == limit_ps:
                    return condition()
            return True

    def _run_boards(self, limit_ps: int, is_stopped: Callable[[], bool]) -> int:
        """Run until the next byte arrives at the host, at the latest until `limit_ps`; return that time."""
        while True:
            wake_ps = min([limit_ps, *[port.next_ps() for port in self._ports]])
            if is_stopped():
                return wake_ps
            first, first_ps, others_ps = 0, FOREVER, FOREVER
            for index, ps in enumerate(self._next_times()):
                if ps < first_ps:
                    first, first_ps, others_ps = index, ps, first_ps
                elif ps < others_ps:
                    others_ps = ps
            if first_ps < wake_ps:
                self._run(first, min(others_ps, wake_ps, first_ps + _LONGEST_RUN_PS))
            elif wake_ps < FOREVER:
                return wake_ps
            else:
                raise ToolError("deadlock: all virtual boards wait and no event is pending")

    def _next_times(self) -> list[int]:
        nexts = [machine.next_ps() for machine in self._machines]
        for reset in self._resets:
            nexts[reset.index] = min(nexts[reset.index], reset.ps)
        return nexts

    def _run(self, index: int, known_ps: int) -> None:
        """Run a board, or reset it; the others and the host do nothing before `known_ps`."""
        machine = self._machines[index]
        reset = min((each for each in self._resets if each.index == index), default=None) if self._resets else None
        if reset and machine.next_ps() >= reset.ps:
            self._resets.remove(reset)
            self._reset_now(index, reset.ps, reset.cause, reset.held_ps)
            return
        horizon_ps = known_ps + self._lookahead_ps()
        try:
            machine.run(min(horizon_ps, reset.ps) if reset else horizon_ps, known_ps)
        except BoardStoppedError as error:
            if not self._is_debuggable:
                raise
            self._parts[index].core.lock_up(str(error))
            first = machine.read_word(self._boards[index].board.device.flash.start)
            if first.to_bytes(4, "little") != 4 * self._firmware[index].erased:
                self.stopped(str(error))
        if machine.reset_by:
            self._reset_now(index, machine.clock.ps(machine.cycles), machine.reset_by, _RESET_PS)
