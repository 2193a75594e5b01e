"""Schema of boards/families/*.toml: what the boards of a family share. Every fact requires a source."""

from fnmatch import fnmatch
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from tinysplit.boards.schema import BusLimits, CacheSizes, Corrections, Fifos, PllOverride, PllRules, Source, UartName
from tinysplit.common.file_schema import FileModel


class MemorySystem(FileModel):
    """The memory hierarchy of a family, by the names of `Device`; a device may lack some memories."""

    levels: dict[str, Literal[1, 2, 3]]
    access_bytes: dict[str, PositiveInt]  # read by one access
    bus_cycles: dict[str, PositiveInt] = Field(default_factory=dict)  # of an access without wait states
    dma: dict[str, tuple[str, ...]]  # the controllers that can access it
    cache_line_bytes: PositiveInt
    code_cache_bytes: int = Field(ge=0)
    data_cache_bytes: int = Field(ge=0)
    caches: tuple[str, ...]  # the cached memories
    sectors_kb: tuple[PositiveInt, ...] = Field(min_length=1)  # of flash, from its start; the last one repeats
    source: Source


class CodeAlias(FileModel):
    """The memory that is (also) mapped on the code buses, and its address there; a device may lack it."""

    memory: str
    start: int = Field(ge=0)
    source: Source


class DmaClocks(FileModel):
    """The RCC register that enables the DMA controllers, and the bit of a DMAMUX that has a clock of its own.

    `requests`: the numbers of the requests of UARTs that receive and send, where the family has a GPDMA.
    """

    enable_register: str
    mux_enable_bit: str = ""
    requests: dict[UartName, tuple[PositiveInt, PositiveInt]] = Field(default_factory=dict)  # of a GPDMA
    source: Source


class EmptyCheck(FileModel):
    """The flag of a part that took its flash for empty at power-up: while it is set, resets start the boot loader."""

    address: PositiveInt  # of its register
    bit: Annotated[int, Field(ge=0, lt=32)]
    is_toggled: bool  # by writing 1, which may not come with other bits; otherwise it is written as it shall be
    source: Source


class DebugWords(FileModel):
    """What only a debugger reads of a part: debug port, size of its flash, unique ID; how its watchdog is stopped."""

    port_idcode: PositiveInt
    has_jtag: bool
    openocd_declares_jtag: bool = True  # in the target file, whether the part has it or not
    flash_kb_address: PositiveInt  # of the word with the size of the flash in KB
    flash_kb_shift: Literal[0, 16]
    unique_id_address: PositiveInt  # of the first of its three words
    revision: PositiveInt  # REV_ID in DBGMCU_IDCODE
    watchdog_stop_offset: PositiveInt  # of the register with DBG_IWDG_STOP, from DBGMCU_IDCODE
    watchdog_stop_bit: Annotated[int, Field(ge=0, lt=32)]
    source: Source


class DebugRegisters(FileModel):
    """Target file and flash driver of OpenOCD, and the registers that tell part and read-out protection (RDP).

    RDP: RM0368 and RM0390 section FLASH_OPTCR, RM0394, RM0432 and RM0444 section FLASH_OPTR, RM0433 and RM0468 section
    FLASH_OPTSR_CUR; the values are those of Zephyr's flash_stm32f4x.c, too.
    """

    openocd_target: str
    openocd_flash_driver: str  # as in "stm32l4x unlock 0"
    idcode_address: PositiveInt
    protection_address: PositiveInt
    protection_shift: Literal[0, 8]  # lowest bit of RDP
    protection_register: str  # the option register that has it
    unprotected: PositiveInt = 0xAA  # RDP of level 0
    for_ever: PositiveInt = 0xCC  # RDP of level 2; any other value is level 1
    has_product_state: bool = False  # in place of RDP: left by debug authentication
    registers: dict[str, PositiveInt]  # addresses of what tells the settings of flash and clocks
    empty_check: EmptyCheck | None = None
    words: DebugWords
    source: Source


class StopMode(FileModel):
    """The stop mode that the firmware uses: microseconds from its end until the clocks are raised, at most."""

    wake_us: PositiveInt
    timer_interrupt: str  # of the RTC's wake-up timer
    source: Source


class UartPeripheral(FileModel):
    """A UART that all devices of a family have."""

    base_address: PositiveInt
    bus: Literal["apb1", "apb2"]  # whose clock drives it
    enable_register: str


class BankOption(FileModel):
    """The option bit that makes two banks of the flash, as parts are delivered; in one, an access reads more bytes.

    It is that of the parts of a line with `flash_kb`: others have none, or another bit.
    """

    name: str
    flash_kb: PositiveInt
    bit: Annotated[int, Field(ge=0, lt=32)]  # of the register that has RDP, too
    one_bank_access_bytes: PositiveInt
    source: Source


class DeviceLine(FileModel):
    """What the board files of a line of devices have in common."""

    parts: tuple[str, ...]  # patterns of their names: "stm32f401?[bc]*"
    device_id: Annotated[int, Field(gt=0, lt=1 << 12)]
    source: Source  # of the device id
    clock: BusLimits
    corrections: Corrections = Corrections()
    pll: PllOverride | None = None
    caches: CacheSizes | None = None
    fifos: Fifos | None = None
    sectors_kb: tuple[PositiveInt, ...] = ()  # of the flash; by default those of the family
    flash_banks: Literal[1, 2] = 1
    bank_option: BankOption | None = None


class QuadSpiFacts(FileModel):
    """The QUADSPI of the devices of a family that have one, and the addresses at which it maps a memory."""

    base_address: PositiveInt
    max_hz: PositiveInt
    fifo_bytes: PositiveInt
    region_start: PositiveInt
    region_bytes: PositiveInt
    enable_register: str
    enable_bit: str
    source: Source


class FamilyFile(FileModel):
    """boards/families/<family>.toml."""

    gpio_enable_register: str  # RCC register that enables the GPIO ports
    cycle_timers: tuple[str, ...] = ("DWT",)  # that count cycles for the firmware
    erased_byte: Literal[0x00, 0xFF] = 0xFF  # as which erased flash reads
    uarts_sample_by_8: bool = True  # below 16 clocks a bit (OVER8)
    has_fpu: bool = True  # where its core may have one
    has_flash_error_nmi: bool = False  # flash words whose error correction fails raise an NMI
    pll: PllRules
    memory_system: MemorySystem
    code_alias: CodeAlias | None = None
    dma: DmaClocks
    debug: DebugRegisters
    stop: StopMode
    fifos: Fifos | None = None
    quadspi: QuadSpiFacts | None = None
    uarts: dict[UartName, UartPeripheral]
    uarts_source: Source
    lines: tuple[DeviceLine, ...]  # with firmware

    def line_of(self, part: str) -> DeviceLine | None:
        """Return the line of a part, None if none of those here has it."""
        return next((line for line in self.lines if any(fnmatch(part, name) for name in line.parts)), None)
