"""The data of boards and devices that the generator, the firmware and the virtual boards use."""

import hashlib
import json
import re
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Self

from tinysplit.boards.external_memory import ExternalMemory
from tinysplit.boards.parts import Memory, Pin
from tinysplit.boards.published import Published
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.units import US
from tinysplit.settings.programs import CLOCK
from tinysplit.settings.setting import Setting

BAUD_TOLERANCE = 0.02
SUPPLY_V = 3.3  # of the MCU on every board
MPU_PARTS = 8  # subregions of a region of the MPU
_ADDRESSES = 1 << 32
_L4_PLUS = ("stm32l4p", "stm32l4q", "stm32l4r", "stm32l4s")
_EXTI = re.compile(r"EXTI(\d+)(?:_(\d+))?")


@dataclass(frozen=True)
class CodeRam:
    """RAM on the code buses, where code is fetched without wait states: part of the data RAM, or one apart (F3, M7)."""

    name: str  # "sram2"
    code_start: int  # address on the code buses
    data_start: int  # address of the same bytes in the data RAM; of one apart it is that on the code buses
    size_bytes: int

    @property
    def is_apart(self) -> bool:
        """Whether it has no data."""
        return self.data_start == self.code_start

    @property
    def end(self) -> int:
        """Address in the data RAM behind the last byte."""
        return self.data_start + self.size_bytes

    @property
    def alignment(self) -> int:
        """Bytes of which the code begins at a multiple: a 64th, which two regions of the MPU tell from data."""
        return self.size_bytes // MPU_PARTS**2

    @property
    def unused_bytes(self) -> int:
        """Bytes at the start without code, if at address 0: the MPU refuses what null pointers point to."""
        return 0 if self.code_start else self.alignment

    def free_bytes(self, data_end: int) -> int:
        """Return the bytes that are free for code behind data that end at `data_end`."""
        if self.is_apart:
            return self.size_bytes - self.unused_bytes
        first = max(self.data_start, -(-data_end // self.alignment) * self.alignment)
        return max(0, self.end - first)

    def data_end(self, code_bytes: int) -> int:
        """Return the address at which data end at the latest if `code_bytes` of code are behind them."""
        if self.is_apart:
            return _ADDRESSES
        return (self.end - code_bytes) // self.alignment * self.alignment


class CodeMemory(StrEnum):
    """The memory from which the code of a board's layers is fetched."""

    FLASH = "flash"
    RAM = "ram"  # on the code buses: `CodeRam`


@dataclass(frozen=True)
class Interrupt:
    """An entry of the vector table: the handler of `position` is called `<name>_IRQHandler`."""

    position: int
    name: str  # "USART2", "USART3_4_LPUART1", ...

    @property
    def exti_lines(self) -> range:
        """The lines of EXTI that it serves, of pins: "EXTI3", "EXTI2_TSC", "EXTI9_5" or "EXTI4_15"."""
        match = _EXTI.match(self.name)
        if match is None:
            return range(0)
        ends = sorted(int(number) for number in match.groups(default=match[1]))
        return range(ends[0], ends[1] + 1)


@dataclass(frozen=True)
class Device:
    """An MCU."""

    name: str  # "stm32g071rbt6"
    family: str  # "stm32g0" and so on: the folder in firmware/
    core: str  # "cortex-m0", "cortex-m0plus", "cortex-m4", "cortex-m7", "cortex-m33": GCC's -mcpu
    max_hz: int
    flash: Memory
    ram: tuple[Memory, ...]  # physically contiguous memories are merged into one
    interrupts: tuple[Interrupt, ...]  # by position, without the 16 of the core
    vendor_header: str  # "stm32g0xx.h"
    vendor_define: str  # "STM32G071xx"

    @property
    def series(self) -> str:
        """ST's name of the series: that of the family, but stm32l4+ for L4P to L4S, which read flash otherwise."""
        return "stm32l4+" if self.name.startswith(_L4_PLUS) else self.family

    @property
    def ram_bytes(self) -> int:
        """Bytes of all RAM."""
        return sum(memory.size_bytes for memory in self.ram)

    @property
    def flash_addresses(self) -> tuple[int, ...]:
        """Where the flash is mapped: also at 0, except on Cortex-M7 and M33."""
        return (self.flash.start,) if self.core in ("cortex-m7", "cortex-m33") else (self.flash.start, 0)

    @property
    def largest_ram(self) -> Memory:
        """The memory for the largest arena."""
        return max(self.ram, key=lambda memory: memory.size_bytes)


class ClockSource(StrEnum):
    """The oscillator that feeds the PLL.

    HSI, the internal oscillator, does not depend on the solder bridges of a board. ST trims it to about 1 % at 25 degC
    (L4 and G0 keep that over 0..85 degC; F4 may be off by up to 8 % over -40..105 degC, DS10086). At room temperature
    the baud rates of two boards therefore differ by up to 2 %, in addition to the rounding of their dividers.

    HSE in bypass mode is as accurate as the clock at OSC_IN, and stops with it: the MCO of an ST-LINK requires USB.
    """

    HSI = "hsi"
    HSE = "hse"


@dataclass(frozen=True)
class ClockTree:
    """PLL and dividers from an oscillator to the maximum core frequency; all frequencies in Hz.

    `settings` are settings of some families, present on every board of these families:

    - ("vos", n), all: voltage scale as ST numbers it (F4 and F7 "scale n", G0 and L4 "range n", H7 "VOSn"), not the
      field's value;
    - ("overdrive", 0 or 1), F4, F7 and H7: F446 and F7: ODEN and ODSWEN of PWR_CR or PWR_CR1; H743: SYSCFG_PWRCR ODEN,
      which turns VOS1 into VOS0;
    - ("boost", 0 or 1), L4 and H7: L4+: range 1 boost, PWR_CR5 R1MODE = 0; H723: the clock is right only if the
      option bit FLASH_OPTSR2 CPUFREQ_BOOST is set;
    - ("vddio2", 0 or 1), L4: PG2..PG15 work only after PWR_CR2 IOSV = 1.
    """

    oscillator_hz: int  # HSI or HSE, which feeds the PLL
    pll_m: int  # divider before the PLL
    pll_n: int  # multiplier
    pll_r: int  # divider to SYSCLK (the P output on F4, F7 and H7)
    core_hz: int
    ahb_divider: int  # core to AHB (1 except on H7)
    apb1_divider: int
    apb2_divider: int
    flash_wait_states: int
    settings: tuple[tuple[str, int], ...]  # of some families: ("vos", 0), ("overdrive", 1), ...

    @property
    def apb1_hz(self) -> int:
        """Clock of the UARTs on APB1."""
        return self.core_hz // self.ahb_divider // self.apb1_divider

    @property
    def apb2_hz(self) -> int:
        """Clock of the UARTs on APB2."""
        return self.core_hz // self.ahb_divider // self.apb2_divider


def no_energy_model(name: str) -> str:
    """Return why nothing is said of the energy of a board."""
    return f"no energy model for {name}, because its file has no [power]: add its currents (docs/do/adding_a_board.md)"


def no_stop_current(name: str) -> str:
    """Return why nothing is said of the energy of a board in stop mode."""
    return f"no current in stop mode for {name}: add stop_ua to [power] of its file (docs/do/adding_a_board.md)"


@dataclass(frozen=True)
class Power:
    """Power in W that the MCU alone draws, without the rest of the board.

    `run_w` applies while the core runs, `transfer_w` at most while a tensor crosses a link, `idle_w` while the core
    sleeps, at its full clock, `stop_w` in stop mode, None if that is not known.
    """

    run_w: float
    transfer_w: float
    idle_w: float
    stop_w: float | None = None

    @classmethod
    def of(cls, run_ma: float, sleep_ma: float, stop_ua: float | None = None) -> Self:
        """Return the power of a device at SUPPLY_V with these currents."""
        run_w, sleep_w = (milliamperes / 1000 * SUPPLY_V for milliamperes in (run_ma, sleep_ma))
        stop_w = None if stop_ua is None else stop_ua / US * SUPPLY_V
        return cls(run_w=run_w, transfer_w=run_w, idle_w=sleep_w, stop_w=stop_w)


@dataclass(frozen=True)
class MemoryLevel:
    """A level of the memory hierarchy of Singh 2024, from 1 (nearest to the core) to 3.

    `wait_cycles` are the additional core cycles of an uncached access, compared with level 1.
    """

    level: int
    name: str  # of a memory of the device
    wait_cycles: int
    bus_cycles: int  # of its bus, for an access without wait states; 0 if the core does not wait for the bus
    access_bytes: int  # read by one access
    is_cached: bool
    dma: tuple[str, ...]  # the controllers that can access it


@dataclass(frozen=True)
class Caches:
    """Sizes in bytes of the caches: ART accelerator of F4 and L4, L1 caches of F7 and H7, ICACHE."""

    line_bytes: int
    code_bytes: int
    data_bytes: int


@dataclass(frozen=True)
class DmaChannel:
    """A channel (F3, G0, L4, U5) or stream (F4, F7, H7) of a DMA controller that can serve one direction of a UART."""

    controller: int  # 1 or 2
    number: int  # as in ST's manuals: channels count from 1, streams and channels of a GPDMA from 0
    name: str  # "DMA1_Channel1", "DMA2_Stream7", "GPDMA1_Channel0"
    request: int | None  # input of the DMAMUX, or the field CSELR (L4), CHSEL (F4, F7) or REQSEL (GPDMA); F3: wired
    mux_channel: int | None  # of DMAMUX1, which L4, F3, F4, F7 and a GPDMA lack
    irq_position: int
    irq_name: str  # channels may share an interrupt

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream of the F4, F7 or H7."""
        return "Stream" in self.name

    @property
    def index(self) -> int:
        """Number from 0."""
        return self.number if self.is_stream or self.is_general_purpose else self.number - 1

    @property
    def is_general_purpose(self) -> bool:
        """Whether it is a channel of a GPDMA (H5, U5)."""
        return self.name.startswith("GPDMA")

    @property
    def controller_name(self) -> str:
        """The name of its controller: "DMA1", "GPDMA1"."""
        return self.name.partition("_")[0]

    @property
    def selects_request(self) -> bool:
        """Whether the request is a field of its own registers (F4, F7, H5, U5)."""
        return self.is_general_purpose or (self.is_stream and self.mux_channel is None)


@dataclass(frozen=True)
class Dma:
    """How the DMA controllers of a device are enabled: RCC-><register> |= RCC_<register>_<bit>."""

    enable_register: str  # "AHBENR"
    mux_enable_bit: str  # of a DMAMUX with a clock of its own (L4+), else ""
    memory: Memory  # for buffers: the RAM of level 1 if the controllers reach it, else the smallest that they reach


@dataclass(frozen=True)
class Uart:
    """A UART with the pins that the board connects."""

    name: str  # "USART2", "LPUART1"
    base_address: int
    clock_hz: int  # kernel clock when the PLL drives the core
    is_low_power: bool  # LPUART: BRR counts 1/256 of a clock
    has_fifo: bool
    receive_dma: tuple[DmaChannel, ...]  # any of them can serve this UART
    send_dma: tuple[DmaChannel, ...]
    irq_position: int
    irq_name: str
    enable_register: str  # "APBENR1": RCC-><register> |= RCC_<register>_<bit>
    enable_bit: str  # "RCC_APBENR1_USART2EN"
    tx: Pin
    rx: Pin
    connector: str  # header pins: "CN10-21 (D8) TX, CN10-33 (D2) RX"; "ST-LINK" for the host UART
    samples_by_8: bool = True  # below 16 clocks a bit (OVER8), which the STM32F1 cannot

    @property
    def divider_range(self) -> tuple[int, int]:
        """Smallest and largest divider: 0x300..0xFFFFF of an LPUART, 8 or 16..0xFFFF of a USART.

        Below 16, a USART samples a bit 8 times in place of 16 (OVER8); the firmware encodes BRR accordingly.
        """
        return (0x300, 0xFFFFF) if self.is_low_power else (8 if self.samples_by_8 else 16, 0xFFFF)

    @property
    def _scaled_clock_hz(self) -> int:
        return self.clock_hz * (256 if self.is_low_power else 1)

    def divider(self, baud: int) -> int:
        """Return the clocks (LPUART: 1/256 clocks) per bit that are nearest to `baud`, without limits.

        With oversampling by 16 that is BRR. On F4, BRR holds a mantissa and 4 fraction bits of clock / (16 * baud):
        read as one integer, it is clock / baud.
        """
        return (self._scaled_clock_hz + baud // 2) // baud

    def actual_baud(self, baud: int) -> float:
        """Return the baud rate of the UART when it is set to `baud`."""
        return self._scaled_clock_hz / self.divider(baud)

    def nearest_baud(self, baud: int) -> float:
        """Return the baud rate nearest to `baud` with a valid BRR."""
        low, high = self.divider_range
        return self._scaled_clock_hz / min(max(self.divider(baud), low), high)

    def makes(self, baud: int) -> bool:
        """Whether the UART can be set to `baud` within 2 %."""
        return abs(self.nearest_baud(baud) - baud) <= BAUD_TOLERANCE * baud


@dataclass(frozen=True)
class Board:
    """A device with its clock source, host UART and link UARTs.

    Both clock trees have the same dividers and wait states, and mostly the same clocks at their ends.
    """

    name: str  # "nucleo_g071rb", the name of its file
    title: str  # "NUCLEO-G071RB (STM32G071RB)"
    device: Device
    hsi_clock: ClockTree
    hse_clock: ClockTree | None  # None if OSC_IN has no clock on the board as delivered
    hse_crystal_us: int  # until its crystal is ready, 0 for a clock at OSC_IN
    memory_levels: tuple[MemoryLevel, ...]  # RAM and flash, by level
    caches: Caches
    code_ram: CodeRam | None  # None without such a memory
    external: ExternalMemory | None
    dma: Dma
    known_power: Power | None  # None: the file has no currents
    host_uart: Uart  # behind the ST-LINK's virtual COM port where there is one
    link_uarts: tuple[Uart, ...]
    platformio_board: str  # name in PlatformIO's ststm32 platform
    published: Published | None  # None: the file does not have it
    clock_source: ClockSource = ClockSource.HSI
    flash_limit_bytes: int | None = None  # of its program; None: all of the flash

    @property
    def usable_flash_bytes(self) -> int:
        """Bytes of flash that a program may take."""
        flash_bytes = self.device.flash.size_bytes
        return flash_bytes if self.flash_limit_bytes is None else min(flash_bytes, self.flash_limit_bytes)

    @property
    def core(self) -> str:
        """GCC's -mcpu."""
        return self.device.core

    @property
    def power(self) -> Power:
        """The power. Raises InputError where the currents are not known."""
        if self.known_power is None:
            raise InputError(no_energy_model(self.name))
        return self.known_power

    @property
    def clock(self) -> ClockTree:
        """The clock tree of the clock source."""
        return self._clock_from(self.clock_source)

    @property
    def hse_hz(self) -> int | None:
        """Frequency of the clock at OSC_IN as delivered, None if there is none."""
        return self.hse_clock.oscillator_hz if self.hse_clock else None

    def with_clock(self, source: ClockSource) -> Self:
        """Return the board with its PLL fed by `source`. Raises UsageError for HSE where OSC_IN has no clock."""
        clock, before = self._clock_from(source), self.clock
        if clock.core_hz == before.core_hz:
            return replace(self, clock_source=source)
        host, *links = (
            replace(uart, clock_hz=uart.clock_hz * clock.core_hz // before.core_hz)
            for uart in (self.host_uart, *self.link_uarts)
        )
        return replace(self, clock_source=source, host_uart=host, link_uarts=tuple(links))

    def _clock_from(self, source: ClockSource) -> ClockTree:
        if source is ClockSource.HSI:
            return self.hsi_clock
        if self.hse_clock is None:
            raise UsageError(
                f"{self.name} has no clock for HSE at OSC_IN as delivered: use {CLOCK} {ClockSource.HSI}, or connect"
                f" one and describe it in [hse] of a board file of your own",
                setting=CLOCK,
            )
        return self.hse_clock

    @property
    def near_memory(self) -> Memory:
        """The RAM of level 1. It holds the firmware's variables and stack, and the arena if it also fits."""
        name = next(level.name for level in self.memory_levels if level.level == 1)
        return next(memory for memory in self.device.ram if memory.name == name)

    @property
    def read_ahead_bytes(self) -> int:
        """Return how far kernels may read behind the arena: firmware/common/dsp_conv_steps_dual.h on Cortex-M7."""
        return 8 if self.device.core == "cortex-m7" else 0

    @property
    def flash_level(self) -> MemoryLevel:
        """The level of the flash."""
        return next(level for level in self.memory_levels if level.name == self.device.flash.name)

    def arena_memory(self, arena_bytes: int, firmware_bytes: int) -> Memory:
        """Return the memory of an arena: level 1 if it fits there with the firmware's RAM, else the largest RAM."""
        fits = arena_bytes + self.read_ahead_bytes + firmware_bytes <= self.near_memory.size_bytes
        return self.near_memory if fits else self.device.largest_ram

    def largest_arena_bytes(self, firmware_bytes: int) -> int:
        """Return the size in bytes of the largest arena that fits, with `firmware_bytes` of level 1 in use."""
        far = self.device.largest_ram
        near_bytes = self.near_memory.size_bytes - firmware_bytes
        most_bytes = near_bytes if far == self.near_memory else max(near_bytes, far.size_bytes)
        return most_bytes - self.read_ahead_bytes

    @property
    def sha256(self) -> str:
        """SHA-256 of all data of this board: a split file names it, to detect that it was made for other boards.

        It depends neither on the clock source, which no split depends on, nor on the limit of a program's flash.
        """
        data = asdict(replace(self, clock_source=ClockSource.HSI))
        del data["flash_limit_bytes"]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def board_title(number: int, name: str) -> str:
    """Return the name of a board in messages and tables; `number` counts from 1, in the order of the options."""
    return f"board {number} ({name})"


def check_baud(board: Board, uart: Uart, baud: int, setting: Setting | None = None) -> None:
    """Raise UsageError with the nearest rate unless `uart` can be set to `baud`, the value of `setting`, within 2 %."""
    if baud <= 0:
        raise UsageError(f"{baud} baud is no baud rate: it has to be positive", setting)
    if not uart.makes(baud):
        raise UsageError(
            f"{board.name}: {uart.name} with its clock of {uart.clock_hz / 1e6:g} MHz cannot make {baud} baud within"
            f" {BAUD_TOLERANCE:.0%}; the nearest that it can make is {uart.nearest_baud(baud):.0f}",
            setting,
        )
