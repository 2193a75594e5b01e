"""What a device family declares: its peripherals, their addresses, and how its DMA requests are selected."""

from collections.abc import Callable
from dataclasses import dataclass

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral
from virtual_stm32.peripherals.dma.builder import DmaBuilder, DmaSystem
from virtual_stm32.peripherals.exti import Exti
from virtual_stm32.peripherals.flash.controller import FlashController
from virtual_stm32.peripherals.gpio import Gpio
from virtual_stm32.peripherals.rcc import ClockLimits, Rcc
from virtual_stm32.peripherals.rtc import Rtc
from virtual_stm32.peripherals.usart import Usart


@dataclass(frozen=True)
class StopMode:
    """What stop mode needs, by base address; `wake_us` pass until the core runs again.

    `check` raises NotModelledError where another mode is selected. Sources of times: boards/families.
    """

    rtc: tuple[int, Rtc]
    exti: tuple[int, Exti]
    wake_us: int
    check: Callable[[], None]
    left: Callable[[], None] = lambda: None  # what else it has changed, when it is over
    lost: Callable[[], range] = lambda: range(0)  # addresses of RAM that loses its contents


@dataclass(frozen=True)
class Family:
    """The family-specific peripherals of a chip."""

    rcc: Rcc
    plain: tuple[tuple[int, Peripheral], ...]  # by base address
    flash: FlashController
    limits: ClockLimits
    gpio_base: int
    ports: str
    usart: type[Usart]
    dma: Callable[[DmaBuilder], DmaSystem]
    check: Callable[[], None]  # raises NotModelledError when the supply voltage does not allow the clock
    stop: StopMode
    gpio: Callable[[str], Gpio] = Gpio  # by its name
    port_is_powered: Callable[[str], bool] = lambda _port: True
    cycle_timers: tuple[tuple[str, int], ...] = ()  # by name and address, where the core counts no cycles
    adc_base: int | None = None
    watchdog_base: int = 0x40003000
    lsi_hz: int | None = None  # where it is not that of most families
    fifo_bytes: int = 0  # of the UARTs with FIFOs
    without_fifo: tuple[str, ...] = ()


def check_hz(name: str, hz: int, limit: int) -> None:
    """Raise NotModelledError where a frequency is above what the supply voltage allows."""
    if hz > limit:
        raise NotModelledError(f"{name} of {hz} Hz is more than the {limit} Hz that the supply allows (PWR)")
