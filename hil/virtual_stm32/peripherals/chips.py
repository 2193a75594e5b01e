"""The peripherals of one board: those that its device family declares, its UARTs, timers and DMA."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from tinysplit.boards.board import Board, Uart
from tinysplit.boards.external_memory import ExternalMemory
from tinysplit.boards.parts import Pin
from virtual_stm32.clock import FOREVER, PS_PER_S, BoardClock
from virtual_stm32.core.native import CExternalFlash
from virtual_stm32.peripherals.adc import Adc, AdcPorts
from virtual_stm32.peripherals.base import Peripheral, Registers
from virtual_stm32.peripherals.basic_timer import BasicTimer
from virtual_stm32.peripherals.dma.builder import DmaBuilder, DmaPorts
from virtual_stm32.peripherals.dma.controller import DmaController
from virtual_stm32.peripherals.exti import WatchedPin
from virtual_stm32.peripherals.families.family import Family
from virtual_stm32.peripherals.families.stm32c0 import stm32c0
from virtual_stm32.peripherals.families.stm32f0 import stm32f0
from virtual_stm32.peripherals.families.stm32f1 import stm32f1
from virtual_stm32.peripherals.families.stm32f3 import stm32f3
from virtual_stm32.peripherals.families.stm32f4 import stm32f4
from virtual_stm32.peripherals.families.stm32f7 import stm32f7
from virtual_stm32.peripherals.families.stm32g0 import stm32g0
from virtual_stm32.peripherals.families.stm32g4 import stm32g4
from virtual_stm32.peripherals.families.stm32h5 import stm32h5
from virtual_stm32.peripherals.families.stm32h7 import stm32h7
from virtual_stm32.peripherals.families.stm32l0 import stm32l0
from virtual_stm32.peripherals.families.stm32l4 import stm32l4
from virtual_stm32.peripherals.families.stm32l5 import stm32l5
from virtual_stm32.peripherals.families.stm32u5 import stm32u5
from virtual_stm32.peripherals.families.stm32wb import stm32wb
from virtual_stm32.peripherals.families.stm32wl import stm32wl
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.gpio import Gpio, Watcher
from virtual_stm32.peripherals.quadspi import Quadspi
from virtual_stm32.peripherals.rtc import Rtc
from virtual_stm32.peripherals.timer import cycle_timers
from virtual_stm32.peripherals.usart import UartPorts, Usart
from virtual_stm32.peripherals.watchdog import Watchdog

_GPIO_STRIDE = 0x400
_LATENCY_BITS = 0xF
_TIM6_BASE = 0x40001000


FAMILIES: Mapping[str, Callable[[Board, FlashCells, BoardClock], Family]] = {
    "stm32c0": stm32c0,
    "stm32f0": stm32f0,
    "stm32f1": stm32f1,
    "stm32f3": stm32f3,
    "stm32f4": stm32f4,
    "stm32f7": stm32f7,
    "stm32g0": stm32g0,
    "stm32g4": stm32g4,
    "stm32h5": stm32h5,
    "stm32h7": stm32h7,
    "stm32l0": stm32l0,
    "stm32l4": stm32l4,
    "stm32l5": stm32l5,
    "stm32u5": stm32u5,
    "stm32wb": stm32wb,
    "stm32wl": stm32wl,
}


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
        family = FAMILIES[board.device.family](board, cells, clock)
        self._family = family
        self.rcc = family.rcc
        self.rcc.crystal_us = board.hse_crystal_us
        self.flash = family.flash
        self.watchdog = Watchdog(clock, family.lsi_hz)
        self.rcc.changed = self._clocks_changed
        family.flash.changed = self._set_memory
        self._gpio = {port: family.gpio(f"GPIO{port}") for port in family.ports}
        uarts = (board.host_uart, *board.link_uarts)
        self.uarts = {uart.name: self._uart(uart, dma_ports.changed) for uart in uarts}
        lines = [line for usart in self.uarts.values() for line in (usart.receive_line, usart.send_line)]
        self._trigger = BasicTimer("TIM6", lambda: self._timer_divider("apb1"))
        self.adc = self._adc(board, dma_ports.changed)
        lines += [self.adc.line] if self.adc else []
        dma = family.dma(DmaBuilder(board.device, lines, dma_ports))
        self.interrupts: list[tuple[int, Callable[[], bool]]] = [
            *((uart.irq_position, self.uarts[uart.name].has_interrupt) for uart in uarts),
            *((position, channel.has_interrupt) for position, channel in dma.channels),
            *([(self.adc.irq_position, self.adc.has_interrupt)] if self.adc else []),
        ]
        self.peripherals: list[tuple[int, Peripheral]] = [
            *family.plain,
            family.stop.rtc,
            family.stop.exti,
            *((family.gpio_base + _GPIO_STRIDE * (ord(port) - ord("A")), gpio) for port, gpio in self._gpio.items()),
            *((uart.base_address, self.uarts[uart.name]) for uart in uarts),
            *dma.peripherals,
            (family.watchdog_base, self.watchdog),
        ]
        self._add_optional(board.external, mapping)
        self._connect_exti(board, dma_ports.changed)
        self._frequencies = self.rcc.frequencies()
        clock.change(self._frequencies.core_hz, 0)
        self._set_memory()

    def _adc(self, board: Board, changed: Callable[[int], None]) -> Adc | None:
        base = self._family.adc_base
        if base is None:
            return None
        position = next(each.position for each in board.device.interrupts if each.name.startswith("ADC1"))
        ports = AdcPorts(
            clock=self._clock,
            hclk_hz=lambda: self._frequencies.ahb_hz,
            cycles_per_clock=lambda: self._frequencies.core_hz // self._frequencies.ahb_hz,
            is_analog=lambda pin: self._gpio[pin[1]].is_analog(int(pin[2:])),
            irq_position=position,
            changed=lambda: changed(position),
        )
        return Adc(base, self._trigger, ports)

    def _add_optional(self, external: ExternalMemory | None, mapping: CExternalFlash) -> None:
        """Add the peripherals that not every board has."""
        self.peripherals += cycle_timers(self._family.cycle_timers, lambda: self._timer_divider("apb1"))
        if self.adc and self._family.adc_base is not None:
            self.peripherals += [(self._family.adc_base, self.adc), (_TIM6_BASE, self._trigger)]
        if external:
            quadspi = Quadspi(external, mapping, lambda: all(map(self._is_connected, external.pins)))
            self.peripherals.append((external.controller.base_address, quadspi))

    def _connect_exti(self, board: Board, changed: Callable[[int], None]) -> None:
        exti = self._family.stop.exti[1]
        served = [(each.position, lines) for each in board.device.interrupts if (lines := exti.lines_of(each))]
        exti.pins = [
            WatchedPin(uart.rx, self.uarts[uart.name].next_start) for uart in (board.host_uart, *board.link_uarts)
        ]
        self.interrupts += [(position, partial(exti.has_interrupt, lines)) for position, lines in served]

        def look() -> None:
            for position, _ in served:
                changed(position)

        exti.changed = look

    def check_stop(self) -> None:
        """Raise NotModelledError where another low-power mode than the stop mode of the firmware is selected."""
        self._family.stop.check()

    def lost_in_stop(self) -> range:
        """Return the addresses of RAM that loses its contents in stop mode."""
        return self._family.stop.lost()

    def wake_ps(self) -> int:
        """Return when stop mode ends unless something else ends it, FOREVER for never."""
        (_, rtc), (_, exti) = self._family.stop.rtc, self._family.stop.exti
        times = (rtc.next_ps(), exti.next_ps(), self.watchdog.expires_ps)
        return min(FOREVER if ps is None else ps for ps in times)

    def leave_stop(self, ps: int, now: int) -> None:
        """Let the clock go on: the event that ends stop mode is at `ps`, the core goes on with cycle `now`."""
        running_ps = ps + self._family.stop.wake_us * PS_PER_S // 10**6
        self._clock.stand_still(now, running_ps)
        self._family.stop.left()
        self.rcc.leave_stop(now)
        for uart in self.uarts.values():
            uart.was_stopped(running_ps)

    def eventful(self) -> Iterable[Peripheral]:
        """Return the peripherals with events of their own."""
        return [
            each
            for _, each in self.peripherals
            if isinstance(each, Usart | Registers | DmaController | Watchdog | Rtc) and not isinstance(each, Gpio)
        ]

    def _uart(self, uart: Uart, changed: Callable[[int], None]) -> Usart:
        ports = UartPorts(
            clock=self._clock,
            cycles_per_clock=lambda: self._frequencies.core_hz // self._frequencies.uart_hz(uart.name),
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

    def _clocks_changed(self, now: int) -> None:
        frequencies = self.rcc.frequencies()
        before = self._frequencies
        self._frequencies = frequencies
        if frequencies.core_hz != before.core_hz:
            self._clock.change(frequencies.core_hz, now, is_hse=self.rcc.runs_from_hse)
        for uart in self.uarts.values():
            uart.clock_changed()
        self._set_memory()
        self.check_clock()

    def _set_memory(self) -> None:
        frequencies = self._frequencies
        self._memory_changed(self._family.flash.access_control, frequencies.core_hz // frequencies.ahb_hz)

    def check_clock(self) -> None:
        """Raise NotModelledError when wait states or supply voltage do not allow the clock."""
        self._family.limits.check(self._frequencies.ahb_hz, self._family.flash.access_control & _LATENCY_BITS)
        self._family.check()
