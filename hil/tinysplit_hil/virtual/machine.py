"""One virtual board: core, peripherals and clock."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit_hil.virtual.clock import Clock
from tinysplit_hil.virtual.core.blocks import BlockTable
from tinysplit_hil.virtual.core.cores import CORES
from tinysplit_hil.virtual.core.data_cache import DataCache
from tinysplit_hil.virtual.core.divisions import find_all_divisions
from tinysplit_hil.virtual.core.emulator import Emulator
from tinysplit_hil.virtual.core.faults import explain
from tinysplit_hil.virtual.core.memory_timing import Stalls, memory_timing
from tinysplit_hil.virtual.core.native import Mark, Reason
from tinysplit_hil.virtual.core.nvic import FIRST_INTERRUPT, Nvic
from tinysplit_hil.virtual.core.system_control import Dwt, SystemControl
from tinysplit_hil.virtual.errors import BoardStoppedError, NotModelledError
from tinysplit_hil.virtual.peripherals.bus import Bus
from tinysplit_hil.virtual.peripherals.chips import Chip
from tinysplit_hil.virtual.peripherals.dma.controller import DmaMemory
from tinysplit_hil.virtual.peripherals.dma.families import DmaPorts
from tinysplit_hil.virtual.peripherals.reset import BoardResetError, ResetCause
from tinysplit_hil.virtual.symbols import load_program

FOREVER = (1 << 63) - 1
_SYSTEM_CONTROL, _DWT = 0xE000E000, 0xE0001000
_PAGE = 0x1000
_TIGHTLY_COUPLED = ("dtcm", "itcm")  # memories that are not cached
_PERIPHERAL_BYTES = 0x400
_MARKS = 4096  # recorded at most
_TO_THREAD, _TO_HANDLER = 0xFFFFFFF9, 0xFFFFFFF1


class Firmware:
    """The contents of a board's flash, with what is known about its code; kept when the board is reset."""

    def __init__(self, board: Board, elf: Path) -> None:
        self.program = load_program(elf)
        self.image = bytearray(self.program.flash_image(board, elf))
        ram_code = self.program.ram_code(board)
        self.code: dict[int, bytes | bytearray] = {board.device.flash.start: self.image, **ram_code}
        core = CORES[board.device.core]
        self.blocks = BlockTable(core, self.code)
        self.divisions = find_all_divisions({**dict(self.program.segments), **ram_code}) if core.has_mainline else {}
        self.ram_code = tuple(ram_code)  # addresses


@dataclass(frozen=True)
class Start:
    """How a board starts: its time, the cause, contents of RAM, and the flags of earlier resets.

    A board that does not start is held in reset for ever.
    """

    ps: int
    cause: ResetCause
    ram: Mapping[str, bytes]
    flags: int = 0
    does_start: bool = True


class Machine:
    """A board that executes its firmware. `number` (from 1) is its number in error messages."""

    def __init__(
        self,
        number: int,
        board: Board,
        firmware: Firmware,
        start: Start,
        *,
        clock_error_ppm: int = 0,
        finds_loops: bool = True,
        has_ideal_memory: bool = False,
    ) -> None:
        self._name = f"board {number} ({board.name})"
        self._core = CORES[board.device.core]
        self._program = firmware.program
        self._flash_start = board.device.flash.start
        self._blocks = firmware.blocks
        image, model = bytes(firmware.image), self._core.unicorn_model
        self._emulator = Emulator(board, model, image, start.ram, firmware.ram_code)
        self.state = self._emulator.state
        self.clock = Clock(1, start.ps, clock_error_ppm)
        self._nvic = Nvic(self._core.priority_bits)
        self._memory = memory_timing(board, is_ideal=has_ideal_memory)
        self.chip = self._plug_in(board)
        self._control = SystemControl(self._core, self._nvic, self._cache, self._memory, self._system_reset)
        self._uarts = tuple(self.chip.uarts.values())
        self.chip.rcc.was_reset(start.cause, start.flags)
        self.reset_by: ResetCause | None = None  # the board has reset itself
        self._eventful = (self._control, *self.chip.eventful())
        self._events: list[int] = []  # by peripheral, FOREVER for none
        self._known_event: int | None = None  # the first of them, or None if they may have changed
        self._shortest_byte: tuple[int, int] | None = None  # (clock in Hz, ps), None if it may have changed
        self._error: BaseException | None = None
        self._horizon_ps = 0
        self._known_ps = 0  # no byte from other boards or the host begins before
        self._loop_period: int | None = None
        self._is_asleep = not start.does_start
        self.slept_cycles = 0  # in WFI
        self._connect_bus()
        self._prepare_state(finds_loops)
        self._power_up(firmware)

    def _plug_in(self, board: Board) -> Chip:
        self._emulator.use_memory(self._memory)
        chip = Chip(board, self.clock, self._dma_ports(board), self._forget_event, self._memory.clock_changed)
        for position, line in chip.interrupts:
            self._nvic.connect(FIRST_INTERRUPT + position, line)
        return chip

    def _dma_ports(self, board: Board) -> DmaPorts:
        is_cached = board.device.core == "cortex-m7"
        self._cache = DataCache(
            (each.start, self._emulator.ram[each.name])
            for each in board.device.ram
            if is_cached and each.name not in _TIGHTLY_COUPLED
        )
        return DmaPorts(list(self._dma_memories(board)), self._look_at_interrupt, self._wait_for_dma)

    def _dma_memories(self, board: Board) -> Iterator[DmaMemory]:
        flash = board.device.flash
        controllers = {level.name: level.dma for level in board.memory_levels}
        for memory in (*board.device.ram, flash):
            content = self._emulator.flash if memory == flash else self._emulator.ram[memory.name]
            view = partial(self._cache.seen_by_dma, memory.start, content)
            name = memory.name
            yield DmaMemory(name, memory.start, content, view, controllers[name], is_writable=memory != flash)

    def _look_at_interrupt(self, position: int) -> None:
        self._nvic.look(FIRST_INTERRUPT + position)

    def _wait_for_dma(self) -> None:
        if not self._is_asleep:
            self.state.cycles += self._core.dma_wait_cycles

    def _connect_bus(self) -> None:
        self._bus = Bus(self.chip.rcc.is_clocked)
        for base, peripheral in self.chip.peripherals:
            self._bus.add(base, _PERIPHERAL_BYTES, peripheral)
        self._bus.add(_SYSTEM_CONTROL, _PAGE, self._control)
        if self._core.has_mainline:
            self._bus.add(_DWT, _PAGE, Dwt(self._control, lambda: self.slept_cycles))
        self._emulator.connect(self._bus.pages(), self._describe, self._read, self._write)

    def _prepare_state(self, finds_loops: bool) -> None:
        self.state.code = self._blocks.windows
        self.state.finds_loops = finds_loops

    def _power_up(self, firmware: Firmware) -> None:
        self._emulator.time_divisions(firmware.divisions)
        stack, reset = (self._emulator.read_word(self._flash_start + offset) for offset in (0, 4))
        self._emulator.start_at(reset, stack)

    # Callbacks from C: no exception may leave them, not even KeyboardInterrupt

    def _describe(self, address: int, size: int) -> int:
        try:
            memory = self._emulator.read(address, size)
            return self._blocks.describe(address, memory, fpu_is_on=self._control.fpu_is_on)
        except BaseException as error:  # noqa: BLE001
            self.state.access_pc = address
            self._error = error
            return 0

    def _read(self, address: int, size: int, now: int) -> int:
        try:
            self._advance(now)
            value, is_steady = self._bus.read(address, size, now)
            if not is_steady:
                self.state.touched = True
                self._look_ahead()
        except BaseException as error:  # noqa: BLE001
            self._fail(error)
            return 0
        return value

    def _write(self, address: int, size: int, value: int, now: int) -> None:
        try:
            self._advance(now)
            self._bus.write(address, size, value, now)
            self._known_event = self._shortest_byte = None
            self._look_ahead()
        except BaseException as error:  # noqa: BLE001
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.state.reason = Reason.FAILED
        self._emulator.stop()

    def ram(self) -> dict[str, bytes]:
        """Return the contents of RAM."""
        return {name: bytes(content) for name, content in self._emulator.ram.items()}

    def flip_flash_bit(self, offset: int, bit: int) -> None:
        """Flip a bit of flash; code that has run already is not affected."""
        self._emulator.flash[offset] ^= 1 << bit

    def read_word(self, address: int) -> int:
        """Return a word of memory."""
        return self._emulator.read_word(address)

    def write_word(self, address: int, value: int) -> None:
        """Change a word of RAM behind the program's back."""
        self._emulator.write_word(address, value)
        self._loop_period = None

    def jump(self, address: int) -> None:
        """Let the program go on at `address`."""
        self._emulator.jump(address, self._emulator.pc)
        self._loop_period = None
        self._is_asleep = False

    # Time

    @property
    def cycles(self) -> int:
        """Core cycles since the last reset."""
        return int(self.state.cycles)

    def mark(self, addresses: Iterable[int]) -> None:
        """Record cycles and stalls whenever the code at one of `addresses` begins, from the start of the board."""
        self._blocks.marked = frozenset(addresses)
        self._marks = (Mark * _MARKS)()
        self.state.marks, self.state.mark_limit = self._marks, _MARKS

    def marks(self) -> Iterator[tuple[int, int, Stalls]]:
        """Yield what was recorded: address, cycles and stalls since the start."""
        for each in self._marks[: self.state.mark_count]:
            yield each.address, each.cycles, Stalls(*each.stalls)

    @property
    def stalls(self) -> Stalls:
        """Core cycles that memory has cost since the last reset."""
        return self._memory.stalls()

    def next_ps(self) -> int:
        """Return the earliest time in picoseconds of this board's next action, FOREVER if it waits for other boards."""
        if not self.is_waiting:
            return self.clock.ps(self.state.cycles)
        event = self._next_event()
        return FOREVER if event >= FOREVER else self.clock.ps(event)

    @property
    def shortest_byte_ps(self) -> int:
        """Duration of the shortest byte of a UART in picoseconds, FOREVER while all are disabled."""
        if self._shortest_byte is None or self._shortest_byte[0] != self.clock.hz:
            durations = (uart.byte_ps() for uart in self._uarts)
            self._shortest_byte = self.clock.hz, min((ps for ps in durations if ps is not None), default=FOREVER)
        return self._shortest_byte[1]

    def limit(self, ps: int) -> None:
        """Limit the current run to `ps` picoseconds."""
        self._horizon_ps = min(self._horizon_ps, ps)
        self.state.horizon = self._horizon()

    def _horizon(self) -> int:
        """Return the last cycle of the run: before IDLE, as long as a byte may still begin before it."""
        cycle = FOREVER if self._horizon_ps >= FOREVER else self.clock.cycle(self._horizon_ps)
        for uart in self._uarts:
            if (idle_ps := uart.idle_ps) is not None and idle_ps > self._known_ps:
                cycle = min(cycle, self.clock.cycle(idle_ps) - 1)
        return cycle

    def _next_event(self) -> int:
        if self._known_event is None:
            self._events = [FOREVER if (event := each.next_event()) is None else event for each in self._eventful]
            self._known_event = min(self._events)
        return self._known_event

    def _forget_event(self) -> None:
        self._known_event = None

    def _advance(self, now: int) -> None:
        event = self._known_event
        if (self._next_event() if event is None else event) <= now:
            for each, event in zip(self._eventful, self._events, strict=True):
                if event <= now:
                    each.advance(now)
            self._known_event = None

    def _look_ahead(self) -> None:
        """Update deadline and horizon after an access: it may change interrupts, the next event or the clock."""
        self.state.deadline = 0 if self._nvic.next() is not None else self._next_event()
        self.state.horizon = self._horizon()

    # Running

    def run(self, horizon_ps: int, known_ps: int) -> None:
        """Run until `horizon_ps`, or until the board waits for other boards.

        No byte from other boards or from the host begins before `known_ps`, unless it has been announced already.
        At least one block runs, since a block may take longer than a byte at a high baud rate.

        Raises BoardStoppedError for a fault and for anything that is not modelled.
        """
        self._horizon_ps, self._known_ps = horizon_ps, known_ps
        self.state.may_overrun = True
        try:
            while self._wake():
                self._settle()
                self.state.deadline = self._next_event()
                self.state.horizon = self._horizon()
                self._emulator.run()
                if self._run_ended(Reason(self.state.reason)):
                    return
        except BoardResetError as error:
            self.reset_by = error.cause
        except NotModelledError as error:
            raise self._stopped(str(error)) from None

    def _wake(self) -> bool:
        """Advance to the event that ends waiting; return False if it is beyond the horizon."""
        while self.is_waiting:
            event = max(self._next_event(), self.cycles)
            if event > self._horizon() or event >= FOREVER:
                return False
            if self._loop_period is not None:
                self.state.cycles += (event - self.cycles) // self._loop_period * self._loop_period
                self._loop_period = None
                return True
            self.slept_cycles += event - self.cycles
            self.state.cycles = event
            self._advance(event)
            self._is_asleep = self._nvic.next() is None
        return True

    @property
    def is_waiting(self) -> bool:
        """Whether the board does nothing before its next event."""
        return self._loop_period is not None or self._is_asleep

    def _run_ended(self, reason: Reason) -> bool:
        """Handle the end of a run; return whether the horizon has ended it."""
        if reason == Reason.IN_TIME:  # beyond the horizon bytes may begin that are not announced yet: no IDLE
            return not self.state.horizon >= self.cycles >= self.state.deadline
        if reason == Reason.LOOPING:
            self._loop_period = int(self.state.period)
        elif reason == Reason.SLEEPING:
            self._is_asleep = self._nvic.next() is None
        elif reason == Reason.RETURNING:
            self._return()
        elif reason != Reason.UNMASKED:
            self._raise(reason)
        return False

    def _settle(self) -> None:
        """Process the events that are due, and enter a pending exception."""
        self._advance(self.cycles)
        number = self._nvic.next()
        self.state.is_pending = number is not None
        if number is None or self._emulator.is_masked:
            return
        link = _TO_HANDLER if self._nvic.active else _TO_THREAD
        if not self._emulator.enter_exception(self._handler(number), link, has_fpu=self._core.has_fpu):
            raise self._stopped(f"the stack at 0x{self.state.fault_address:08x} cannot be written by an exception")
        self._nvic.enter(number)
        self.state.cycles += self._core.entry_cycles

    def _return(self) -> None:
        link = int(self.state.fault_address)
        if not self._nvic.active:
            raise self._stopped("an exception return outside a handler")
        self._advance(self.cycles)
        self._nvic.leave()
        number = self._nvic.next()
        if number is not None and not self._emulator.is_masked:
            self._emulator.jump(self._handler(number), link)
            self._nvic.enter(number)
            self.state.cycles += self._core.tail_chain_cycles
        elif self._emulator.leave_exception(link):
            self.state.cycles += self._core.exit_cycles
        else:
            raise self._stopped(f"the stack at 0x{self.state.fault_address:08x} cannot be read by an exception return")

    def _handler(self, number: int) -> int:
        table = self._control.vector_table or self._flash_start
        return self._emulator.read_word(table + 4 * number)

    def _system_reset(self) -> None:
        raise BoardResetError(ResetCause.SOFTWARE)

    # Errors

    def _raise(self, reason: Reason) -> None:
        if reason == Reason.FAILED and not isinstance(self._error, NotModelledError):
            raise self._error or AssertionError(reason)
        what, pc = (str(self._error), None) if reason == Reason.FAILED else explain(reason, self.state)
        raise self._stopped(what, self.state.access_pc if pc is None else pc)

    def _stopped(self, what: str, pc: int | None = None) -> BoardStoppedError:
        pc = self._emulator.pc if pc is None else pc
        return BoardStoppedError(f"{self._name} stopped: {what}, pc 0x{pc:08x} in {self._program.symbol(pc)}")
