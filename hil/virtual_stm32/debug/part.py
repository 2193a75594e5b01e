"""A board as its debug access port sees it: the buses, behind them core, memories and peripherals."""

from collections.abc import Callable

from typing_extensions import override

from tinysplit.boards.board import Board
from tinysplit.boards.debug_port import load_debug_port
from virtual_stm32.debug.access_port import MemoryBus
from virtual_stm32.debug.breakpoints import BASE as BREAKPOINTS
from virtual_stm32.debug.breakpoints import SIZE as BREAKPOINTS_BYTES
from virtual_stm32.debug.breakpoints import BreakpointUnit
from virtual_stm32.debug.core_debug import DEMCR, DHCSR, CoreDebug
from virtual_stm32.debug.device import DeviceWords
from virtual_stm32.errors import NotModelledError
from virtual_stm32.machine import Machine
from virtual_stm32.peripherals.reset import BoardResetError, ResetCause

_SYSTEM_CONTROL = range(0xE000E000, 0xE000F000)  # registers that a core lacks read as 0 (Arm DDI 0403, B3.2)


class BusFaultError(Exception):
    """An access that the bus does not answer."""


class DebuggedPart(MemoryBus):
    """The part behind a debug port: what its access port reads and writes.

    `reset` resets the board at once, `now_ps` returns the time of the rig. `powered_up` is called after power-up,
    `programmed` after each word that the flash has programmed. `serial` makes the unique ID of the part.
    """

    def __init__(
        self, board: Board, reset: Callable[[ResetCause], None], now_ps: Callable[[], int], serial: int
    ) -> None:
        self.board = board
        self._reset = reset
        self._now_ps = now_ps
        self.port = load_debug_port(board.name)
        self.powered_up: Callable[[], None] = lambda: None
        self.programmed: Callable[[], None] = lambda: None
        self.core = CoreDebug(self._hold_watchdog)
        self.run_control = self.core.run_control
        self._breakpoints = BreakpointUnit(board.device.core)
        self._words = DeviceWords(board, self.port, serial)

    def attach(self, machine: Machine, cause: ResetCause) -> None:
        """Debug `machine`, which has just been reset."""
        self.machine = machine
        machine.chip.flash.programmed = self._word_programmed
        self.core.attach(machine, keeps_power=cause.keeps_ram)
        self._powers_up_ps = 0
        if not cause.keeps_ram:
            self._powers_up_ps = machine.clock.ps(0)
            self._breakpoints.clear()
            self._words.clear_registers()
            self.powered_up()
        self._set_breakpoints(frozenset())

    def _word_programmed(self) -> None:
        self.programmed()

    def _hold_watchdog(self) -> None:
        watchdog = self.machine.chip.watchdog
        now = self.machine.cycles
        if self.run_control.is_halted and self._words.stops_watchdog:
            watchdog.hold(now)
        else:
            watchdog.go_on(now)

    def _set_breakpoints(self, before: frozenset[int]) -> None:
        wanted = self._breakpoints.addresses()
        if wanted != before:
            self.machine.emulator.set_breakpoints(wanted)

    @property
    def is_open(self) -> bool:
        """Whether the debug port works: with supply, and without read-out protection level 2."""
        return self._now_ps() >= self._powers_up_ps and not self.machine.chip.flash.closes_debug

    def reset_pin(self) -> None:
        """Reset the board by NRST."""
        self._reset(ResetCause.PIN)

    def _catch_up(self) -> None:
        try:
            self.machine.wait_until(self._now_ps())
        except BoardResetError as error:  # by the watchdog
            self._reset(error.cause)

    @override
    def read(self, address: int, size: int) -> int:
        self._catch_up()
        word = address & ~3
        if (value := self._debug_word(word)) is not None:
            return value >> 8 * (address & 3) & ((1 << 8 * size) - 1)
        if self._is_memory(address, size):
            return int.from_bytes(self.machine.emulator.read(address, size), "little")
        try:
            return self.machine.bus.read(address, size, self.machine.cycles)[0]
        except NotModelledError as error:
            if address in _SYSTEM_CONTROL:
                return 0
            raise BusFaultError(str(error)) from None

    def _debug_word(self, address: int) -> int | None:
        if address in CoreDebug.REGISTERS:
            return self.core.read(address)
        if BREAKPOINTS <= address < BREAKPOINTS + BREAKPOINTS_BYTES:
            return self._breakpoints.read(address)
        return self._words.read(address) if address in self._words else None

    def _is_memory(self, address: int, size: int) -> bool:
        """Whether it is in RAM or flash. Raises BusFaultError for flash with read-out protection."""
        if self._flash_offset(address) is not None:
            if self.machine.chip.flash.is_protected:
                raise BusFaultError("read-out protection")
            self.machine.chip.flash.cells.settle()
            return True
        ram = [(memory.start, memory.end) for memory in self.board.device.ram]
        if alias := self.board.code_ram:
            ram.append((alias.code_start, alias.code_start + alias.size_bytes))
        return any(start <= address <= end - size for start, end in ram)

    def _flash_offset(self, address: int) -> int | None:
        flash = self.board.device.flash
        return address - flash.start if flash.start <= address < flash.end else None

    @override
    def write(self, address: int, size: int, value: int) -> None:
        self._catch_up()
        if address in CoreDebug.REGISTERS:
            self.core.write(address, value)
            if address == DEMCR and self.machine.core.facts.has_mainline:
                self._write_bus(address, size, value)
        elif BREAKPOINTS <= address < BREAKPOINTS + BREAKPOINTS_BYTES:
            before = self._breakpoints.addresses()
            self._breakpoints.write(address, value)
            self._set_breakpoints(before)
        elif address in self._words:
            self._words.write(address, value)
        elif self._is_memory(address, size):
            self._write_memory(address, size, value)
        else:
            self._write_bus(address, size, value)
        if address != DHCSR:
            self.machine.disturb()

    def _write_memory(self, address: int, size: int, value: int) -> None:
        data = value.to_bytes(size, "little")
        offset = self._flash_offset(address)
        if offset is None:
            self.machine.emulator.write(address, data)
            self.machine.code.forget(address, size)
        else:
            self.machine.chip.flash.program(offset, data, self.machine.cycles)
            self.machine.chip.flash.cells.settle()

    def _write_bus(self, address: int, size: int, value: int) -> None:
        try:
            self.machine.bus.write(address, size, value, self.machine.cycles)
        except NotModelledError as error:
            raise BusFaultError(str(error)) from None
        except BoardResetError as error:
            self._reset(error.cause)
