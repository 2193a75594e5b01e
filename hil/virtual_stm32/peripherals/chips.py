"""The peripherals of each device family and their addresses (memory maps of RM0444, RM0368, RM0390, RM0394, RM0433)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tinysplit.boards.board import Board, Uart
from tinysplit.boards.external_memory import ExternalMemory
from tinysplit.boards.parts import Pin
from virtual_stm32.clock import BoardClock
from virtual_stm32.core.native import CExternalFlash
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals import stm32f4, stm32g0, stm32h7, stm32l4
from virtual_stm32.peripherals.base import Peripheral, Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma.controller import DmaController
from virtual_stm32.peripherals.dma.families import DmaPorts, dma_of
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.controller import ACR, FlashController
from virtual_stm32.peripherals.flash.stm32f4 import FlashF4
from virtual_stm32.peripherals.flash.stm32h7 import FlashH7, FlashH743
from virtual_stm32.peripherals.flash.stm32l4 import FlashG0, FlashL4, FlashL4Plus, FlashL4TwoBanks
from virtual_stm32.peripherals.gpio import Gpio, Watcher
from virtual_stm32.peripherals.quadspi import Quadspi
from virtual_stm32.peripherals.rcc import ClockLimits, Rcc
from virtual_stm32.peripherals.timer import Timer
from virtual_stm32.peripherals.usart import UartPorts, Usart
from virtual_stm32.peripherals.usart_v1 import UsartV1
from virtual_stm32.peripherals.usart_v2 import UsartV2
from virtual_stm32.peripherals.watchdog import Watchdog

_GPIO_STRIDE = 0x400
_LATENCY_BITS = 0xF
_BANKED_BYTES = 1 << 20  # of a flash of an L4 that has two banks (RM0351)
_ON_APB2 = ("USART1", "USART6")
_CycleAfter = Callable[[int, int], int]  # of a cycle and picoseconds


@dataclass(frozen=True)
class _Family:
    """The family-specific peripherals of a chip."""

    rcc: Rcc
    plain: tuple[tuple[int, Peripheral], ...]  # by base address
    flash: FlashController
    limits: ClockLimits
    gpio_base: int
    ports: str
    usart: type[Usart]
    check: Callable[[], None]  # raises NotModelledError when the supply voltage does not allow the clock
    port_is_powered: Callable[[str], bool] = lambda _port: True
    timer_base: int | None = None
    has_dmamux: bool = True
    watchdog_base: int = 0x40003000
    fifo_bytes: int = 0  # of the UARTs with FIFOs
    without_fifo: tuple[str, ...] = ()


class Chip:
    """The peripherals of one board.

    `expecting` is called when a UART will receive a byte, `memory_changed` with FLASH_ACR and the divider from the core
    to AHB when one of them may have changed. `mapping` is how the external memory is mapped, if there is one.
    """

    def __init__(
        self,
        board: Board,
        clock: BoardClock,
        dma_ports: DmaPorts,
        cells: FlashCells,
        expecting: Callable[[], None],
        memory_changed: Callable[[int, int], None],
        mapping: CExternalFlash,
    ) -> None:
        self._clock = clock
        self._memory_changed = memory_changed
        self._expecting = expecting
        family = _FAMILIES[board.device.family](board, cells, self._cycle_after)
        self._family = family
        self.rcc = family.rcc
        self.flash = family.flash
        self.watchdog = Watchdog(clock)
        self.rcc.changed = self._clocks_changed
        family.flash.changed = self._set_memory
        self._gpio = {port: Gpio(f"GPIO{port}") for port in family.ports}
        uarts = (board.host_uart, *board.link_uarts)
        self.uarts = {uart.name: self._uart(uart, dma_ports.changed) for uart in uarts}
        lines = [line for usart in self.uarts.values() for line in (usart.receive_line, usart.send_line)]
        dma = dma_of(board.device, lines, dma_ports, has_dmamux=family.has_dmamux)
        self.interrupts: list[tuple[int, Callable[[], bool]]] = [
            *((uart.irq_position, self.uarts[uart.name].has_interrupt) for uart in uarts),
            *((position, channel.has_interrupt) for position, channel in dma.channels),
        ]
        self.peripherals: list[tuple[int, Peripheral]] = [
            *family.plain,
            *((family.gpio_base + _GPIO_STRIDE * (ord(port) - ord("A")), gpio) for port, gpio in self._gpio.items()),
            *((uart.base_address, self.uarts[uart.name]) for uart in uarts),
            *dma.peripherals,
            (family.watchdog_base, self.watchdog),
        ]
        self._add_optional(board.external, mapping)
        self._frequencies = self.rcc.frequencies()
        clock.change(self._frequencies.core_hz, 0)
        self._set_memory()

    def _add_optional(self, external: ExternalMemory | None, mapping: CExternalFlash) -> None:
        """Add the peripherals that not every board has."""
        if self._family.timer_base is not None:
            timer = Timer("TIM2", lambda: self._timer_divider("apb1"))
            self.peripherals.append((self._family.timer_base, timer))
        if external:
            quadspi = Quadspi(external, mapping, lambda: all(map(self._is_connected, external.pins)))
            self.peripherals.append((external.controller.base_address, quadspi))

    def eventful(self) -> Iterable[Peripheral]:
        """Return the peripherals with events of their own."""
        return [
            each
            for _, each in self.peripherals
            if isinstance(each, Usart | Registers | DmaController | Watchdog) and not isinstance(each, Gpio)
        ]

    def _uart(self, uart: Uart, changed: Callable[[int], None]) -> Usart:
        bus = "apb2" if uart.name in _ON_APB2 else "apb1"
        ports = UartPorts(
            clock=self._clock,
            cycles_per_clock=lambda: self._frequencies.core_hz // self._frequencies.bus_hz[bus],
            sends=lambda: self._is_connected(uart.tx),
            receives=lambda: self._is_connected(uart.rx),
            listens_at_tx=lambda: (
                self._is_connected(uart.tx) and self._gpio[uart.tx.port].is_open_drain(uart.tx.number)
            ),
            changed=lambda: changed(uart.irq_position),
            expecting=self._expecting,
        )
        fifo_bytes = 0 if uart.name in self._family.without_fifo else self._family.fifo_bytes
        return self._family.usart(
            uart.name, ports, base=uart.base_address, is_low_power=uart.is_low_power, fifo_bytes=fifo_bytes
        )

    def _is_connected(self, pin: Pin) -> bool:
        gpio = self._gpio[pin.port]
        return self._family.port_is_powered(pin.port) and gpio.carries(pin.number, pin.alternate_function)

    def watch_pin(self, name: str, watcher: Watcher) -> None:
        """Call `watcher` at each change of the level that the pin, such as "PB5", drives."""
        self._gpio[name[1]].watch(int(name[2:]), watcher)

    def _timer_divider(self, bus: str) -> int:
        divider = self._frequencies.core_hz // self._frequencies.bus_hz[bus]
        return divider if divider == 1 else divider // 2  # timers have twice the clock of a divided bus

    def _cycle_after(self, now: int, ps: int) -> int:
        return self._clock.cycle(self._clock.ps(now) + ps)

    def _clocks_changed(self, now: int) -> None:
        frequencies, before = self.rcc.frequencies(), self._frequencies
        self._frequencies = frequencies
        if frequencies.core_hz != before.core_hz:
            self._clock.change(frequencies.core_hz, now, is_hse=self.rcc.runs_from_hse)
        for uart in self.uarts.values():
            uart.clock_changed()
        self._set_memory()
        self.check_clock()

    def _set_memory(self) -> None:
        frequencies = self._frequencies
        self._memory_changed(self._family.flash.words[ACR], frequencies.core_hz // frequencies.ahb_hz)

    def check_clock(self) -> None:
        """Raise NotModelledError when wait states or supply voltage do not allow the clock."""
        self._family.limits.check(self._frequencies.ahb_hz, self._family.flash.words[ACR] & _LATENCY_BITS)
        self._family.check()


def _check_hz(name: str, hz: int, limit: int) -> None:
    if hz > limit:
        raise NotModelledError(f"{name} of {hz} Hz is more than the {limit} Hz that the supply allows (PWR)")


def _g0(board: Board, cells: FlashCells, cycle_after: _CycleAfter) -> _Family:
    rcc, flash = stm32g0.RccG0(cycle_after, board.hse_hz), FlashG0(cells, cycle_after)
    pwr = Registers("PWR", {0x00: 0x200})
    syscfg = Registers("SYSCFG", {0x00: 0})
    return _Family(
        rcc=rcc,
        plain=(
            (0x40021000, rcc),
            (0x40022000, flash),
            (0x40007000, pwr),
            (0x40010000, syscfg),
            (0x40023000, CrcUnit()),
        ),
        flash=flash,
        limits=stm32g0.FLASH_LIMITS,
        gpio_base=0x50000000,
        ports="ABCDF",
        usart=UsartV2,
        check=lambda: None,
        timer_base=0x40000000,
        fifo_bytes=8,
        without_fifo=("USART3", "USART4"),  # RM0444, USART implementation: of the STM32G071, USART1 and USART2 have one
    )


def _f4(board: Board, cells: FlashCells, cycle_after: _CycleAfter) -> _Family:
    rcc, flash = stm32f4.RccF4(cycle_after, board.hse_hz), FlashF4(cells, cycle_after)
    pwr = stm32f4.PwrF4(board.device.max_hz)
    return _Family(
        rcc=rcc,
        plain=((0x40023800, rcc), (0x40023C00, flash), (0x40007000, pwr), (0x40023000, CrcUnit(reverses=False))),
        flash=flash,
        limits=stm32f4.FLASH_LIMITS,
        gpio_base=0x40020000,
        ports="ABCDEH",
        usart=UsartV1,
        check=lambda: _check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
    )


def _l4(board: Board, cells: FlashCells, cycle_after: _CycleAfter) -> _Family:
    is_plus = board.device.max_hz > stm32l4.MAX_HZ
    rcc = stm32l4.RccL4(cycle_after, board.hse_hz, is_plus=is_plus)
    has_banks = cells.size_bytes >= _BANKED_BYTES
    flash = (FlashL4Plus if is_plus else FlashL4TwoBanks if has_banks else FlashL4)(cells, cycle_after)
    pwr = stm32l4.PwrL4(is_plus=is_plus)
    return _Family(
        rcc=rcc,
        plain=((0x40021000, rcc), (0x40022000, flash), (0x40007000, pwr), (0x40023000, CrcUnit())),
        flash=flash,
        limits=stm32l4.FLASH_LIMITS_PLUS if is_plus else stm32l4.FLASH_LIMITS,
        gpio_base=0x48000000,
        ports="ABCDEFGH",
        usart=UsartV2,
        check=lambda: _check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
        port_is_powered=lambda port: port != "G" or pwr.port_g_is_powered,
        has_dmamux=is_plus,
        fifo_bytes=8 if is_plus else 0,  # RM0432 and RM0394, USART implementation
    )


def _h7(board: Board, cells: FlashCells, cycle_after: _CycleAfter) -> _Family:
    settings = dict(board.clock.settings)
    is_h743 = bool(settings["overdrive"])  # or of its line
    rcc = stm32h7.RccH7(cycle_after, board.hse_hz)
    syscfg = stm32h7.SyscfgH7(has_overdrive=is_h743)
    by_scale = stm32h7.CORE_HZ_H743 if is_h743 else stm32h7.CORE_HZ_H723
    pwr = stm32h7.PwrH7(syscfg, by_scale, stm32h7.OVERDRIVE_HZ)
    # CPUFREQ_BOOST: an option bit that must be set on boards with `boost`.
    flash = FlashH743(cells, cycle_after) if is_h743 else FlashH7(cells, cycle_after, {0x70: settings["boost"] << 2})
    return _Family(
        rcc=rcc,
        plain=(
            (0x58024400, rcc),
            (0x52002000, flash),
            (0x58024800, pwr),
            (0x58000400, syscfg),
            (0x58024C00, CrcUnit()),
        ),
        flash=flash,
        limits=stm32h7.FLASH_LIMITS_H743 if is_h743 else stm32h7.FLASH_LIMITS_H723,
        gpio_base=0x58020000,
        ports="ABCDEFGH",
        usart=UsartV2,
        check=lambda: _check_hz("a core clock", rcc.frequencies().core_hz, pwr.max_core_hz()),
        fifo_bytes=16,
        watchdog_base=0x58004800,
    )


_FAMILIES: dict[str, Callable[[Board, FlashCells, _CycleAfter], _Family]] = {
    "stm32g0": _g0,
    "stm32f4": _f4,
    "stm32l4": _l4,
    "stm32h7": _h7,
}
