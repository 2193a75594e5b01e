"""The peripherals of each device family and their addresses (memory maps of RM0444, RM0368, RM0390, RM0394, RM0433)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tinysplit.boards.board import Board, Pin, Uart
from tinysplit_hil.virtual.clock import Clock
from tinysplit_hil.virtual.errors import NotModelledError
from tinysplit_hil.virtual.peripherals import stm32f4, stm32g0, stm32h7, stm32l4
from tinysplit_hil.virtual.peripherals.base import Peripheral, Registers
from tinysplit_hil.virtual.peripherals.gpio import Gpio
from tinysplit_hil.virtual.peripherals.rcc import Limits, Rcc
from tinysplit_hil.virtual.peripherals.timer import Timer
from tinysplit_hil.virtual.peripherals.usart import UartPorts, Usart, UsartV1, UsartV2

_GPIO_STRIDE = 0x400
_LATENCY_BITS = 0xF
_ON_APB2 = ("USART1", "USART6")


@dataclass(frozen=True)
class _Family:
    """The family-specific peripherals of a chip."""

    rcc: Rcc
    plain: tuple[tuple[int, Peripheral], ...]  # by base address
    flash: Registers
    limits: Limits
    gpio_base: int
    ports: str
    usart: type[Usart]
    check: Callable[[], None]  # raises NotModelledError when the supply voltage does not allow the clock
    port_is_powered: Callable[[str], bool] = lambda _port: True
    timer_base: int | None = None


class Chip:
    """The peripherals of one board.

    `uart_changed` is called when a UART's interrupt line may have changed, `expecting` when a UART will receive a byte.
    """

    def __init__(
        self, board: Board, clock: Clock, uart_changed: Callable[[Uart], None], expecting: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._expecting = expecting
        family = _FAMILIES[board.device.family](board, self._cycle_after)
        self._family = family
        self.rcc = family.rcc
        self.rcc.changed = self._clocks_changed
        self._gpio = {port: Gpio(f"GPIO{port}") for port in family.ports}
        self.uarts = {uart.name: self._uart(uart, uart_changed) for uart in (board.host_uart, *board.link_uarts)}
        self.peripherals: list[tuple[int, Peripheral]] = [
            *family.plain,
            *((family.gpio_base + _GPIO_STRIDE * (ord(port) - ord("A")), gpio) for port, gpio in self._gpio.items()),
            *((uart.base_address, self.uarts[uart.name]) for uart in (board.host_uart, *board.link_uarts)),
        ]
        if family.timer_base is not None:
            self.peripherals.append((family.timer_base, Timer("TIM2", lambda: self._timer_divider("apb1"))))
        self._frequencies = self.rcc.frequencies()
        clock.change(self._frequencies.core_hz, 0)

    def eventful(self) -> Iterable[Peripheral]:
        """Return the peripherals with events of their own."""
        return [
            each for _, each in self.peripherals if isinstance(each, Usart | Registers) and not isinstance(each, Gpio)
        ]

    def _uart(self, uart: Uart, changed: Callable[[Uart], None]) -> Usart:
        bus = "apb2" if uart.name in _ON_APB2 else "apb1"
        ports = UartPorts(
            clock=self._clock,
            cycles_per_clock=lambda: self._frequencies.core_hz // self._frequencies.bus_hz[bus],
            sends=lambda: self._is_connected(uart.tx),
            receives=lambda: self._is_connected(uart.rx),
            changed=lambda: changed(uart),
            expecting=self._expecting,
        )
        return self._family.usart(uart.name, ports, is_low_power=uart.is_low_power)

    def _is_connected(self, pin: Pin) -> bool:
        gpio = self._gpio[pin.port]
        return self._family.port_is_powered(pin.port) and gpio.carries(pin.number, pin.alternate_function)

    def _timer_divider(self, bus: str) -> int:
        divider = self._frequencies.core_hz // self._frequencies.bus_hz[bus]
        return divider if divider == 1 else divider // 2  # timers have twice the clock of a divided bus

    def _cycle_after(self, now: int, ps: int) -> int:
        return self._clock.cycle(self._clock.ps(now) + ps)

    def _clocks_changed(self, now: int) -> None:
        frequencies = self.rcc.frequencies()
        self._frequencies = frequencies
        if frequencies.core_hz != self._clock.hz:
            self._clock.change(frequencies.core_hz, now)
        self.check_clock()

    def check_clock(self) -> None:
        """Raise NotModelledError when wait states or supply voltage do not allow the clock."""
        self._family.limits.check(self._frequencies.ahb_hz, self._family.flash.words[0] & _LATENCY_BITS)
        self._family.check()


class _Flash(Registers):
    """ACR, and other registers that the firmware of a family reads."""

    def __init__(self, extra: dict[int, int] | None = None) -> None:
        super().__init__("FLASH", {0: 0, **(extra or {})})


def _check_hz(name: str, hz: int, limit: int) -> None:
    if hz > limit:
        raise NotModelledError(f"{name} of {hz} Hz is more than the {limit} Hz that the supply allows (PWR)")


def _g0(board: Board, cycle_after: Callable[[int, int], int]) -> _Family:
    rcc, flash = stm32g0.RccG0(cycle_after, board.hse_hz), _Flash()
    pwr = Registers("PWR", {0x00: 0x200})
    syscfg = Registers("SYSCFG", {0x00: 0})
    return _Family(
        rcc=rcc,
        plain=((0x40021000, rcc), (0x40022000, flash), (0x40007000, pwr), (0x40010000, syscfg)),
        flash=flash,
        limits=stm32g0.FLASH_LIMITS,
        gpio_base=0x50000000,
        ports="ABCDF",
        usart=UsartV2,
        check=lambda: None,
        timer_base=0x40000000,
    )


def _f4(board: Board, cycle_after: Callable[[int, int], int]) -> _Family:
    rcc, flash = stm32f4.RccF4(cycle_after, board.hse_hz), _Flash()
    pwr = stm32f4.PwrF4(has_overdrive=board.device.name.startswith("stm32f446"))
    return _Family(
        rcc=rcc,
        plain=((0x40023800, rcc), (0x40023C00, flash), (0x40007000, pwr)),
        flash=flash,
        limits=stm32f4.FLASH_LIMITS,
        gpio_base=0x40020000,
        ports="ABCDEH",
        usart=UsartV1,
        check=lambda: _check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
    )


def _l4(board: Board, cycle_after: Callable[[int, int], int]) -> _Family:
    is_plus = board.device.name.startswith(("stm32l4r", "stm32l4s", "stm32l4p"))
    rcc, flash = stm32l4.RccL4(cycle_after, board.hse_hz, is_plus=is_plus), _Flash()
    pwr = stm32l4.PwrL4(is_plus=is_plus)
    return _Family(
        rcc=rcc,
        plain=((0x40021000, rcc), (0x40022000, flash), (0x40007000, pwr)),
        flash=flash,
        limits=stm32l4.FLASH_LIMITS_PLUS if is_plus else stm32l4.FLASH_LIMITS,
        gpio_base=0x48000000,
        ports="ABCDEFGH",
        usart=UsartV2,
        check=lambda: _check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
        port_is_powered=lambda port: port != "G" or pwr.port_g_is_powered,
    )


def _h7(board: Board, cycle_after: Callable[[int, int], int]) -> _Family:
    is_h743 = board.device.name.startswith("stm32h743")
    rcc = stm32h7.RccH7(cycle_after, board.hse_hz)
    syscfg = stm32h7.SyscfgH7(has_overdrive=is_h743)
    by_scale = stm32h7.CORE_HZ_H743 if is_h743 else stm32h7.CORE_HZ_H723
    pwr = stm32h7.PwrH7(syscfg, by_scale, stm32h7.OVERDRIVE_HZ)
    # CPUFREQ_BOOST: an option bit that must be set on boards with `boost`.
    flash = _Flash(None if is_h743 else {0x70: dict(board.clock.settings)["boost"] << 2})
    return _Family(
        rcc=rcc,
        plain=((0x58024400, rcc), (0x52002000, flash), (0x58024800, pwr), (0x58000400, syscfg)),
        flash=flash,
        limits=stm32h7.FLASH_LIMITS_H743 if is_h743 else stm32h7.FLASH_LIMITS_H723,
        gpio_base=0x58020000,
        ports="ABCDEFGH",
        usart=UsartV2,
        check=lambda: _check_hz("a core clock", rcc.frequencies().core_hz, pwr.max_core_hz()),
    )


_FAMILIES: dict[str, Callable[[Board, Callable[[int, int], int]], _Family]] = {
    "stm32g0": _g0,
    "stm32f4": _f4,
    "stm32l4": _l4,
    "stm32h7": _h7,
}
