"""Boards: a device with its wiring. Every fact that the generator, the firmware and the virtual boards need is here."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Memory:
    """A contiguous memory of a device."""

    name: str  # "flash", "sram1", "dtcm", ...
    start: int
    size_bytes: int


@dataclass(frozen=True)
class Interrupt:
    """An entry of the vector table: the handler of `position` is called `<name>_IRQHandler`."""

    position: int
    name: str  # "USART2", "USART3_4_LPUART1", ...


@dataclass(frozen=True)
class Device:
    """An MCU."""

    name: str  # "stm32g071rbt6"
    family: str  # "stm32g0", "stm32f4", "stm32l4", "stm32h7": the folder in firmware/
    core: str  # "cortex-m0plus", "cortex-m4", "cortex-m7": GCC's -mcpu
    max_hz: int
    flash: Memory
    ram: tuple[Memory, ...]  # physically contiguous memories are merged into one
    interrupts: tuple[Interrupt, ...]  # by position, without the 16 of the core
    vendor_header: str  # "stm32g0xx.h"
    vendor_define: str  # "STM32G071xx"

    @property
    def arena_memory(self) -> Memory:
        """The memory that holds arena, data and stack: the largest one."""
        return max(self.ram, key=lambda memory: memory.size_bytes)


@dataclass(frozen=True)
class ClockTree:
    """How the firmware reaches the maximum frequency from the internal oscillator; all frequencies in Hz."""

    oscillator_hz: int  # HSI that feeds the PLL
    pll_m: int  # divider before the PLL
    pll_n: int  # multiplier
    pll_r: int  # divider to SYSCLK (the P output on F4 and H7)
    core_hz: int
    ahb_divider: int  # core to AHB (only H7 needs another than 1)
    apb1_divider: int
    apb2_divider: int
    flash_wait_states: int
    settings: tuple[tuple[str, int], ...]  # what one family alone needs: ("vos", 0), ("overdrive", 1), ...

    @property
    def apb1_hz(self) -> int:
        """Clock of the UARTs on APB1."""
        return self.core_hz // self.ahb_divider // self.apb1_divider

    @property
    def apb2_hz(self) -> int:
        """Clock of the UARTs on APB2."""
        return self.core_hz // self.ahb_divider // self.apb2_divider


@dataclass(frozen=True)
class Pin:
    """A GPIO pin in an alternate function."""

    name: str  # "PA2"
    alternate_function: int

    @property
    def port(self) -> str:
        """Letter of the port."""
        return self.name[1]

    @property
    def number(self) -> int:
        """Number within the port."""
        return int(self.name[2:])


@dataclass(frozen=True)
class Uart:
    """A UART with the pins that this board brings out."""

    name: str  # "USART2", "LPUART1"
    base_address: int
    clock_hz: int  # kernel clock after the firmware has raised the clocks
    is_low_power: bool  # LPUART: BRR counts 1/256 of a clock
    irq_position: int
    irq_name: str
    enable_register: str  # "APBENR1": RCC-><register> |= RCC_<register>_<bit>
    enable_bit: str  # "RCC_APBENR1_USART2EN"
    tx: Pin
    rx: Pin
    connector: str  # where a wire goes: "CN10-21 (D8) TX, CN10-33 (D2) RX"; "ST-LINK" for the host's

    def divider(self, baud: int) -> int:
        """Return the value of BRR that comes nearest to `baud` (oversampling by 16)."""
        clock = self.clock_hz * (256 if self.is_low_power else 1)
        return (clock + baud // 2) // baud

    def actual_baud(self, baud: int) -> float:
        """Return the baud rate that the hardware makes when asked for `baud`."""
        clock = self.clock_hz * (256 if self.is_low_power else 1)
        return clock / self.divider(baud)


@dataclass(frozen=True)
class Board:
    """A device with its clock source, host UART and link UARTs."""

    name: str  # "nucleo_g071rb", the name of boards/<name>.toml
    title: str  # "NUCLEO-G071RB (STM32G071RB)"
    device: Device
    clock: ClockTree
    host_uart: Uart  # behind the ST-LINK's virtual COM port where there is one
    link_uarts: tuple[Uart, ...]
    platformio_board: str  # name in PlatformIO's ststm32 platform
    published_cpm: float  # cycles per MACC of seed 000, Table 3
    published_flash_bytes: int  # Table 3, KB of 1024 bytes
    published_ram_bytes: int
    published_hz: int

    @property
    def sha256(self) -> str:
        """Hash of every fact of this board, to tell a split made for other boards."""
        raise NotImplementedError
