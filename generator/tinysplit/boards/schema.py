"""Schemas of boards/*.toml and boards/families/*.toml. Every fact requires a source."""

import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, PositiveInt, StringConstraints, ValidationError, model_validator

from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import FileModel, first_mistake

PinName = Annotated[str, StringConstraints(pattern=r"^P[A-K]([0-9]|1[0-5])$")]
UartName = Annotated[str, StringConstraints(pattern=r"^(LPUART|USART|UART)[0-9]+$")]
Source = Annotated[str, StringConstraints(min_length=8)]
_HEADER_PIN = r"[A-Z0-9]+(-[0-9]+)?( \([A-Z0-9]+\))?"
CONNECTOR = rf"^({_HEADER_PIN}) TX, ({_HEADER_PIN}) RX$"
Range = tuple[PositiveInt, PositiveInt]
FileT = TypeVar("FileT", "BoardFile", "FamilyFile")


class UartWiring(FileModel):
    """The pins of a UART on this board, and where it is connected."""

    name: UartName
    tx: PinName
    rx: PinName
    connector: str
    source: Source


class LinkWiring(UartWiring):
    """A link UART: `connector` names the header pins of TX and RX, with their labels if they have any."""

    connector: Annotated[str, StringConstraints(pattern=CONNECTOR)]


class GroundPin(FileModel):
    """A header pin that is ground."""

    connector: str
    source: Source


class MarkerPins(FileModel):
    """Two free pins on connectors: `--markers` drives them while a layer or a transfer runs."""

    layer: PinName
    layer_connector: str
    transfer: PinName
    transfer_connector: str
    source: Source


class Published(FileModel):
    """Memories, clock and cycles per MACC in Santamaria 2021, Table 3."""

    flash_kb: PositiveInt
    ram_kb: PositiveInt
    mhz: PositiveInt
    cpm: float = Field(gt=0)


class CorrectedHz(FileModel):
    """The correct value of a frequency that is wrong in modm-devices."""

    value: PositiveInt
    source: Source


class CorrectedWaitStates(FileModel):
    """The highest HCLK in Hz for 0, 1, 2, ... wait states, at the highest core voltage."""

    value: tuple[PositiveInt, ...] = Field(min_length=1)
    source: Source


class CorrectedMemory(FileModel):
    """The correct name and address of a memory of modm-devices."""

    name: str
    start: PositiveInt
    source: Source


class Corrections(FileModel):
    """Corrections of modm-devices; memories by their names there."""

    max_hz: CorrectedHz | None = None
    wait_states: CorrectedWaitStates | None = None
    memories: dict[str, CorrectedMemory] = Field(default_factory=dict)


class BusLimits(FileModel):
    """The maximum frequencies of the buses in Hz, and the settings of ClockTree that they require."""

    ahb_max_hz: PositiveInt
    apb1_max_hz: PositiveInt
    apb2_max_hz: PositiveInt
    settings: dict[Literal["vos", "overdrive", "boost", "vddio2"], int]
    source: Source


class Currents(FileModel):
    """Typical currents of the MCU in mA at its clock, 3.3 V and 25 degC: Run mode from flash, and Sleep mode."""

    run_ma: float = Field(gt=0, allow_inf_nan=False)
    sleep_ma: float = Field(gt=0, allow_inf_nan=False)
    source: Source

    @model_validator(mode="after")
    def _sleep_is_less(self) -> Self:
        if self.sleep_ma > self.run_ma:
            raise ValueError(f"Sleep mode with {self.sleep_ma:g} mA draws more than {self.run_ma:g} mA")
        return self


class PllRules(FileModel):
    """Limits of the PLL of a family: input and VCO in Hz, values of the dividers and the multiplier."""

    oscillator_hz: PositiveInt
    input_hz: Range
    vco_hz: Range
    m: Range
    n: Range
    r: tuple[PositiveInt, ...]
    source: Source

    def fed_by(self, oscillator_hz: int) -> Self:
        """Return these limits for a source of another frequency."""
        return self.model_copy(update={"oscillator_hz": oscillator_hz})


class HseInput(FileModel):
    """The clock at OSC_IN of the board as delivered, which HSE takes in bypass mode."""

    hz: PositiveInt
    source: Source


class PllOverride(FileModel):
    """Limits of a device's PLL where they differ from those of its family."""

    vco_hz: Range | None = None
    r: tuple[PositiveInt, ...] | None = None
    source: Source

    def applied_to(self, pll: PllRules) -> PllRules:
        """Return `pll` with the values that are set here."""
        return pll.model_copy(update=self.model_dump(exclude_none=True))


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
    source: Source


class CodeAlias(FileModel):
    """The data memory that is also mapped on the code buses, and its address there; a device may lack it."""

    memory: str
    start: PositiveInt
    source: Source


class DmaClocks(FileModel):
    """The RCC register that enables the DMA controllers, and the bit of a DMAMUX that has a clock of its own."""

    enable_register: str
    mux_enable_bit: str = ""
    source: Source


class Fifos(FileModel):
    """The UARTs of a device or family that have a FIFO."""

    uarts: tuple[UartName, ...]
    source: Source


class CacheSizes(FileModel):
    """The caches of a device where they differ from those of its family."""

    code_bytes: PositiveInt
    data_bytes: PositiveInt
    source: Source


class DebugId(FileModel):
    """DEV_ID of the part, which its debug port answers; several parts of a family have the same."""

    device_id: Annotated[int, Field(gt=0, lt=1 << 12)]
    source: Source


class DebugRegisters(FileModel):
    """Target file of OpenOCD, and addresses of the registers that tell part and read-out protection."""

    openocd_target: str
    idcode_address: PositiveInt
    protection_address: PositiveInt
    protection_shift: Literal[0, 8]  # lowest bit of RDP
    source: Source


class OwnProbe(FileModel):
    """The probe on the board, to whose serial port the host UART is connected."""

    family: Literal["ST-LINK/V2-1", "STLINK-V3"]
    source: Source


class BoardFile(FileModel):
    """boards/<name>.toml."""

    title: str
    part: str
    platformio_board: str
    source: Source
    published: Published
    clock: BusLimits
    power: Currents | None = None
    debug: DebugId
    probe: OwnProbe | None = None
    host_uart: UartWiring
    ground: GroundPin
    markers: MarkerPins
    link_uarts: tuple[LinkWiring, ...] = Field(min_length=1)
    corrections: Corrections = Corrections()
    pll: PllOverride | None = None
    hse: HseInput | None = None
    caches: CacheSizes | None = None
    fifos: Fifos | None = None  # where devices of a family differ


class UartPeripheral(FileModel):
    """A UART that all devices of a family have."""

    base_address: PositiveInt
    bus: Literal["apb1", "apb2"]  # whose clock drives it
    enable_register: str


class FamilyFile(FileModel):
    """boards/families/<family>.toml."""

    pll: PllRules
    memory_system: MemorySystem
    code_alias: CodeAlias | None = None
    dma: DmaClocks
    debug: DebugRegisters
    fifos: Fifos | None = None
    uarts: dict[UartName, UartPeripheral]
    uarts_source: Source


def read_toml(path: Path, model: type[FileT]) -> FileT:
    """Return the validated contents of `path`; raise InputError where it cannot be read, or with its first mistake."""
    try:
        return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path.name}: not a TOML file: {error}") from error
    except ValidationError as error:
        raise InputError(f"{path.name}: {first_mistake(error)}") from error
