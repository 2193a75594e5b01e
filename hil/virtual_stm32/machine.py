"""One virtual board: core, peripherals and clock."""

from collections.abc import Iterable
from functools import partial

from tinysplit.boards.board import Board
from virtual_stm32.clock import FOREVER, BoardClock
from virtual_stm32.core.cores import Core
from virtual_stm32.core.data_cache import DataCache
from virtual_stm32.core.emulator import Emulator
from virtual_stm32.core.faults import explain, no_stack
from virtual_stm32.core.loaded_code import LoadedCode, Protection
from virtual_stm32.core.memory_timing import Stalls, memory_timing
from virtual_stm32.core.native import REASONS, Reason
from virtual_stm32.core.nvic import FIRST_INTERRUPT, NMI, Nvic
from virtual_stm32.core.run_control import RunControl
from virtual_stm32.core.system_control import Dwt, SystemControl
from virtual_stm32.errors import BoardStoppedError, NotModelledError
from virtual_stm32.firmware import LoadedFirmware, Start
from virtual_stm32.peripherals.bus import Bus
from virtual_stm32.peripherals.chips import Chip
from virtual_stm32.peripherals.dbgmcu import Dbgmcu
from virtual_stm32.peripherals.dma.builder import DmaPorts
from virtual_stm32.peripherals.dma.memories import dma_memories
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.reset import BoardResetError, ResetCause
from virtual_stm32.timing_rules import SHIPPED, TimingFile

_SYSTEM_CONTROL, _DWT = 0xE000E000, 0xE0001000
_PAGE = 0x1000
_LOST_BYTE = b"\xa5"  # in RAM that stop mode has not retained: anything
_PERIPHERALS, _PERIPHERAL_BYTES = 0x40000000, 0x400
_BOOT_LOADER = 0x1FFF0000  # in the system memory of G0 and L4, which has no code here
_TO_THREAD, _TO_HANDLER = 0xFFFFFFF9, 0xFFFFFFF1


class Machine:
    """A board that executes its firmware. `number` (from 1) is its number in error messages."""

    def __init__(
        self,
        number: int,
        board: Board,
        firmware: LoadedFirmware,
        start: Start,
        run_control: RunControl,
        *,
        clock_error_ppm: int = 0,
        finds_loops: bool = True,
        has_ideal_memory: bool = False,
        timing: TimingFile = SHIPPED,
    ) -> None:
        self._name = f"board {number} ({board.name})"
        self.core = Core.of(board, timing)
        self._program = firmware.program
        self.flash_start = board.device.flash.start
        self._blocks = firmware.blocks
        self._run_control = run_control
        images = (bytes(firmware.image), start.ram, firmware.ram_code, firmware.external)
        self.emulator = Emulator(board, self.core.facts.unicorn_model, *images)
        self.state = self.emulator.state
        self.clock = BoardClock(1, start.ps, clock_error_ppm)
        self.nvic = Nvic(self.core.facts.priority_bits)
        self._memory = memory_timing(board, timing, is_ideal=has_ideal_memory)
        self.chip = self._plug_in(board, firmware)
        self.control = SystemControl(self.core, self.nvic, self._cache, self._memory, self._system_reset)
        self._board = board
        self._uarts = tuple(self.chip.uarts.values())
        self.chip.rcc.was_reset(start.cause, start.flags)
        self.chip.flash.was_reset(is_empty=start.is_empty)
        self.reset_by: ResetCause | None = None  # the board has reset itself
        self._eventful = (self.control, *self.chip.eventful())
        self._events: list[int] = []  # by peripheral, FOREVER for none
        self._known_event: int | None = None  # the first of them, or None if they may have changed
        self._shortest_byte: tuple[int, int] | None = None  # (clock in Hz, ps), None if it may have changed
        self._error: Exception | None = None
        self._horizon_ps = 0  # of the run
        self._loop_period: int | None = None
        self.is_asleep = not start.does_start or self.chip.flash.is_empty  # in WFI, or waiting in the boot loader
        self.slept_cycles = 0  # in WFI
        self._stopped_ps: int | None = None  # since when it is in stop mode
        self._earlier_stops_ps = 0
        self._connect_bus()
        self._power_up(firmware, finds_loops)

    def _plug_in(self, board: Board, firmware: LoadedFirmware) -> Chip:
        self.emulator.use_memory(self._memory)
        self.code = LoadedCode(self._blocks, self.emulator, board.code_ram)
        forget = partial(self.code.forget_in, board.device.flash.start)
        cells = FlashCells(self.emulator.flash, firmware.options, firmware.torn, forget, firmware.erased[0])
        dma = self._dma_ports(board)
        changed = (self._forget_event, self.memory_changed)
        chip = Chip(board, self.clock, dma, cells, *changed, self.emulator.external)
        chip.flash.launch = self._load_options
        chip.flash.nmi_changed = lambda: self.nvic.look(NMI)
        self.nvic.connect(NMI, lambda: chip.flash.has_nmi)
        self.emulator.watch_torn(board.device, firmware.torn, self._failed)
        for position, line in chip.interrupts:
            self.nvic.connect(FIRST_INTERRUPT + position, line)
        return chip

    def memory_changed(self, access_control: int, ahb_divider: int) -> None:
        """Let memory follow FLASH_ACR and the divider from the core to AHB."""
        self._memory.clock_changed(access_control, ahb_divider)

    def _dma_ports(self, board: Board) -> DmaPorts:
        self._cache = DataCache.of(board, self.emulator.ram)
        contents = {**self.emulator.ram, board.device.flash.name: self.emulator.flash}
        memories = list(dma_memories(board, contents, self._cache))
        return DmaPorts(memories, lambda position: self.nvic.look(FIRST_INTERRUPT + position), self._wait_for_dma)

    def _wait_for_dma(self) -> None:
        if not self.is_asleep:
            self.state.cycles += self.core.dma_wait_cycles

    def connected(self) -> Bus:
        """Return the peripherals by their addresses; a subclass may have others."""
        bus = Bus(self.chip.rcc.is_clocked)
        for base, peripheral in self.chip.peripherals:
            bus.add(base, _PERIPHERAL_BYTES, peripheral)
        dbgmcu = Dbgmcu(self._board)
        bus.add(dbgmcu.base, _PERIPHERAL_BYTES, dbgmcu)
        return bus

    def _connect_bus(self) -> None:
        self.bus = self.connected()
        self.bus.add(_SYSTEM_CONTROL, _PAGE, self.control)
        if self.core.facts.has_mainline:
            self.bus.add(_DWT, _PAGE, Dwt(self.control, lambda: self.slept_cycles))
        self._protection = Protection(self.control.mpu, self.emulator, self.code)
        self.emulator.connect(self.bus.pages(), self._describe, self._read, self._write)

    def _power_up(self, firmware: LoadedFirmware, finds_loops: bool) -> None:
        self.state.code = self._blocks.windows
        self.state.is_debuggable = firmware.is_debuggable
        self.state.finds_loops = finds_loops
        self.emulator.time_divisions(firmware.divisions())
        if firmware.is_debuggable and self.core.facts.has_mainline:
            self.emulator.time_ram_divisions()
        stack, reset = (self.emulator.read_word(self.flash_start + offset) for offset in (0, 4))
        self.emulator.start_at(_BOOT_LOADER if self.chip.flash.is_empty else reset, stack)

    # Callbacks from C: no exception may leave them

    def _describe(self, address: int, size: int) -> int:
        try:
            self._protection.check_code(address, size)
            memory = self.emulator.read(address, size)
            return self._blocks.describe(address, memory, fpu_is_on=self.control.fpu_is_on)
        except Exception as error:  # noqa: BLE001
            self.state.access_pc = address
            self._error = error
            return 0

    def _read(self, address: int, size: int, now: int) -> int:
        try:
            self._advance(now)
            value, is_steady = self.bus.read(address, size, now)
            if not is_steady:
                self.state.touched = True
                self._look_ahead()
        except Exception as error:  # noqa: BLE001
            self._fail(error)
            return 0
        return value

    def _write(self, address: int, size: int, value: int, now: int) -> None:
        try:
            self._advance(now)
            self._store(address, size, value, now)
            self._known_event = self._shortest_byte = None
            self._look_ahead()
        except Exception as error:  # noqa: BLE001
            self._fail(error)

    def _failed(self, address: int) -> bool:
        try:
            goes_on = self.chip.flash.failed(self._offset_in_flash(address))
            self._look_ahead()
        except Exception as error:  # noqa: BLE001
            self._fail(error)
            return True
        return goes_on or (self.emulator.has_fault_priority and self.control.ignores_bus_faults)

    def _store(self, address: int, size: int, value: int, now: int) -> None:
        if address >= _PERIPHERALS:
            self.bus.write(address, size, value, now)
            return
        if not (self.chip.flash.takes_words or self.state.is_debuggable):
            raise NotModelledError(f"write of {size} bytes at 0x{address:08x}, which is flash")
        self.chip.flash.program(self._offset_in_flash(address), value.to_bytes(8, "little")[:size], now)

    def _offset_in_flash(self, address: int) -> int:
        """Return an offset from an address of the flash, which may be mapped at 0, too."""
        start = self._board.device.flash.start
        return address - start if address >= start else address

    def _fail(self, error: Exception) -> None:
        self._error = self._error or error
        self.state.reason = Reason.FAILED
        self.emulator.stop()

    def ram(self) -> dict[str, bytes]:
        """Return the contents of RAM."""
        return {name: bytes(content) for name, content in self.emulator.ram.items()}

    def read_word(self, address: int) -> int:
        """Return a word of memory."""
        return self.emulator.read_word(address)

    def write_word(self, address: int, value: int) -> None:
        """Change a word of RAM behind the program's back."""
        self.emulator.write_word(address, value)
        self._loop_period = None

    def jump(self, address: int) -> None:
        """Let the program go on at `address`."""
        self.emulator.jump(address, self.emulator.pc)
        self._loop_period = None
        self.is_asleep = False

    def interrupt(self, position: int) -> None:
        """Let an interrupt wait to be served, from now on."""
        self.nvic.pending.add(FIRST_INTERRUPT + position)
        self.disturb()

    def disturb(self) -> None:
        """Note that a debugger has changed something: what was waited for may be there."""
        self._loop_period = self._known_event = self._shortest_byte = None
        self.is_asleep = self.is_asleep and self.nvic.next() is None

    def wait_until(self, ps: int) -> None:
        """Let the time of a board that waits go on until `ps`; it has no event before."""
        cycle = self.clock.cycle(ps)
        if not self.is_waiting or cycle <= self.cycles or self._stopped_ps is not None:
            return
        if self._loop_period is not None:
            self.state.cycles += (cycle - self.cycles) // self._loop_period * self._loop_period
            return
        self.slept_cycles += cycle - self.cycles
        self.state.cycles = cycle
        self._advance(cycle)

    # Time

    @property
    def cycles(self) -> int:
        """Core cycles since the last reset."""
        return int(self.state.cycles)

    def mark(self, addresses: Iterable[int]) -> None:
        """Record cycles and stalls whenever the code at one of `addresses` begins, from the start of the board."""
        self._blocks.marked = frozenset(addresses)
        self.emulator.record_marks()

    @property
    def stalls(self) -> Stalls:
        """Core cycles that memory has cost since the last reset."""
        return self._memory.stalls()

    def stopped_ps(self, now_ps: int) -> int:
        """Return the picoseconds in stop mode from the last reset until `now_ps`."""
        return self._earlier_stops_ps + (0 if self._stopped_ps is None else max(0, now_ps - self._stopped_ps))

    def next_ps(self) -> int:
        """Return the time in picoseconds of this board's next action or event, FOREVER if it waits for other boards."""
        if self._stopped_ps is not None:
            return max(self._stopped_ps, self.chip.wake_ps())
        event = self._next_event()
        if not self.is_waiting:  # a long block may have left events behind
            return self.clock.ps(min(event, self.state.cycles))
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
            if uart.idle_at_ps is not None and (idle_ps := uart.idle_ps) is not None and idle_ps > self.clock.known_ps:
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
        """Update deadline and horizon after an access: it may change interrupts, events, the clock or the MPU."""
        has_to_settle = self.nvic.next() is not None or self._protection.has_changed
        self.state.deadline = 0 if has_to_settle else self._next_event()
        self.state.horizon = self._horizon()

    # Running

    def run(self, horizon_ps: int, known_ps: int) -> None:
        """Run until `horizon_ps`, or until the board waits for other boards.

        No byte from other boards or from the host begins before `known_ps`, unless it has been announced already.
        At least one block runs, which may take longer than a byte at a high baud rate; then only events are processed
        until the others have caught up. Raises BoardStoppedError for a fault and for anything that is not modelled.
        """
        self._horizon_ps = horizon_ps
        self.clock.known_ps = known_ps
        self.state.may_overrun = True
        try:
            while not self.is_waiting or self._wake():
                self._settle()
                self.state.deadline = self._next_event()
                self.state.horizon = self._horizon()
                if self.clock.ps(self.state.cycles) > horizon_ps:
                    return
                self.state.steps = int(self._run_control.is_stepping)
                self.emulator.run()
                if self._run_ended(REASONS[self.state.reason]):
                    return
        except BoardResetError as error:
            self.reset_by = error.cause
        except NotModelledError as error:
            raise self._stopped(str(error)) from None

    def _wake(self) -> bool:
        """Advance to the event that ends waiting; return False if it is beyond the horizon."""
        while self.is_waiting:
            if self._stopped_ps is not None:
                if not self._leave_stop(self._stopped_ps):
                    return False
                continue
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
            self.is_asleep = self.is_asleep and self.nvic.next() is None
        return True

    def _leave_stop(self, since_ps: int) -> bool:
        """Advance to the event that ends stop mode; return False if it is beyond the horizon."""
        wake_ps = max(since_ps, self.chip.wake_ps())
        if wake_ps > min(self._horizon_ps, self.clock.known_ps) or wake_ps >= FOREVER:
            return False
        self._stopped_ps = None
        self.chip.leave_stop(wake_ps, self.cycles)
        self._earlier_stops_ps += self.clock.ps(self.cycles) - since_ps
        self._known_event = self._shortest_byte = None
        self._advance(self.cycles)
        self._fall_asleep()
        return True

    def _fall_asleep(self) -> None:
        """Wait for an interrupt, in stop mode if that is selected."""
        self.is_asleep = self.nvic.next() is None
        if self.is_asleep and self.control.sleeps_deeply:
            self.chip.check_stop()
            if lost := self.chip.lost_in_stop():
                self.emulator.write(lost.start, len(lost) * _LOST_BYTE)
            self._stopped_ps = self.clock.ps(self.cycles)

    @property
    def is_waiting(self) -> bool:
        """Whether the board does nothing before its next event."""
        return self._loop_period is not None or self.is_asleep or self._run_control.is_halted

    @property
    def is_idle(self) -> bool:
        """Whether the board waits, and its flash does nothing."""
        return self.is_waiting and not self.chip.flash.is_busy

    def _run_ended(self, reason: Reason) -> bool:
        """Handle the end of a run; return whether the horizon has ended it."""
        if reason == Reason.STOPPED or (reason == Reason.AT_BKPT and self._run_control.is_enabled):
            self._run_control.stopped(reason)
            return False
        if reason == Reason.IN_TIME:  # beyond the horizon bytes may begin that are not announced yet: no IDLE
            return not self.state.horizon >= self.cycles >= self.state.deadline
        if reason == Reason.LOOPING:
            self._loop_period = int(self.state.period)
        elif reason == Reason.SLEEPING:
            self._fall_asleep()
        elif reason == Reason.RETURNING:
            self._return()
        elif reason != Reason.UNMASKED:
            self._raise(reason)
        return False

    def _settle(self) -> None:
        """Process the events that are due, and enter a pending exception."""
        self._advance(self.state.cycles)
        self._protection.settle()
        number = None if self._run_control.masks_interrupts else self.nvic.next()
        self.state.is_pending = number is not None
        if number is None or not self._may_enter(number):
            return
        link = _TO_HANDLER if self.nvic.active else _TO_THREAD
        if not self.emulator.enter_exception(self._handler(number), link, has_fpu=self.core.facts.has_fpu):
            raise self._stopped(no_stack("written by an exception", self.state, self._protection))
        self.nvic.enter(number)
        self.state.cycles += self.core.entry_cycles

    def _return(self) -> None:
        link = int(self.state.fault_address)
        if not self.nvic.active:
            raise self._stopped("an exception return outside a handler")
        self._advance(self.cycles)
        self.nvic.leave()
        number = self.nvic.next()
        if number is not None and self._may_enter(number):
            self.emulator.jump(self._handler(number), link)
            self.nvic.enter(number)
            self.state.cycles += self.core.tail_chain_cycles
        elif self.emulator.leave_exception(link):
            self.state.cycles += self.core.exit_cycles
        else:
            raise self._stopped(no_stack("read by an exception return", self.state, self._protection))

    def _may_enter(self, number: int) -> bool:
        return number == NMI or not self.emulator.is_masked

    def _handler(self, number: int) -> int:
        return self.emulator.read_word((self.control.vector_table or self.flash_start) + 4 * number)

    def _system_reset(self) -> None:
        raise BoardResetError(ResetCause.SOFTWARE)

    def _load_options(self) -> None:
        raise BoardResetError(ResetCause.OPTION_BYTES)

    # Errors

    def _raise(self, reason: Reason) -> None:
        if reason == Reason.FAILED and not isinstance(self._error, NotModelledError):
            raise self._error or AssertionError(reason)
        if reason == Reason.FAILED:
            raise self._stopped(str(self._error), self.state.access_pc)
        raise self._stopped(*explain(reason, self.state, self._protection))

    def _stopped(self, what: str, pc: int | None = None) -> BoardStoppedError:
        pc = self.emulator.pc if pc is None else pc
        return BoardStoppedError(f"{self._name} stopped: {what}, pc 0x{pc:08x} in {self._program.symbol(pc)}")
