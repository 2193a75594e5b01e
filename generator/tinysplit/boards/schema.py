"""What boards/*.toml and boards/families/*.toml may say. Facts without a source do not get in."""

import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, PositiveInt, StringConstraints, ValidationError, model_validator

from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import FileModel, first_mistake

PinName = Annotated[str, StringConstraints(pattern=r"^P[A-K]([0-9]|1[0-5])$")]
UartName = Annotated[str, StringConstraints(pattern=r"^(LPUART|USART|UART)[0-9]+$")]
Source = Annotated[str, StringConstraints(min_length=8)]
Range = tuple[PositiveInt, PositiveInt]
FileT = TypeVar("FileT", "BoardFile", "FamilyFile")


class UartWiring(FileModel):
    """The pins of a UART on this board, and where a wire goes."""

    name: UartName
    tx: PinName
    rx: PinName
    connector: str
    source: Source


class Published(FileModel):
    """Seed 000, Table 3."""

    flash_kb: PositiveInt
    ram_kb: PositiveInt
    mhz: PositiveInt
    cpm: float = Field(gt=0)


class CorrectedHz(FileModel):
    """A frequency that modm-devices has wrong."""

    value: PositiveInt
    source: Source


class CorrectedWaitStates(FileModel):
    """The highest HCLK for 0, 1, 2, ... wait states at the highest core voltage, in Hz."""

    value: tuple[PositiveInt, ...]
    source: Source


class CorrectedMemory(FileModel):
    """Another name and address for a memory of modm-devices."""

    name: str
    start: PositiveInt
    source: Source


class Corrections(FileModel):
    """What modm-devices has wrong; memories by its name for them."""

    max_hz: CorrectedHz | None = None
    wait_states: CorrectedWaitStates | None = None
    memories: dict[str, CorrectedMemory] = Field(default_factory=dict)


class BusLimits(FileModel):
    """The highest frequencies of the buses in Hz, and the settings of ClockTree that they need."""

    ahb_max_hz: PositiveInt
    apb1_max_hz: PositiveInt
    apb2_max_hz: PositiveInt
    settings: dict[Literal["vos", "overdrive", "boost", "vddio2"], int]
    source: Source


class Currents(FileModel):
    """What the MCU alone draws at its clock, 3.3 V and 25 degC, typically, in mA: code from flash, and Sleep mode."""

    run_ma: float = Field(gt=0, allow_inf_nan=False)
    sleep_ma: float = Field(gt=0, allow_inf_nan=False)
    source: Source

    @model_validator(mode="after")
    def _sleep_is_less(self) -> Self:
        if self.sleep_ma > self.run_ma:
            raise ValueError(f"Sleep mode with {self.sleep_ma:g} mA draws more than {self.run_ma:g} mA")
        return self


class PllRules(FileModel):
    """What the PLL of a family or device accepts: input and VCO in Hz, dividers and multiplier as numbers."""

    oscillator_hz: PositiveInt
    input_hz: Range
    vco_hz: Range
    m: Range
    n: Range
    r: tuple[PositiveInt, ...]
    source: Source


class PllOverride(FileModel):
    """What a device's PLL does beyond the rules of its family."""

    vco_hz: Range | None = None
    r: tuple[PositiveInt, ...] | None = None
    source: Source

    def applied_to(self, pll: PllRules) -> PllRules:
        """Return `pll` with what is given here."""
        return pll.model_copy(update=self.model_dump(exclude_none=True))


class MemorySystem(FileModel):
    """The memories of a family as the core sees them, by the names of `Device`, which may lack some."""

    levels: dict[str, Literal[1, 2, 3]]
    access_bytes: dict[str, PositiveInt]  # what an access gives
    dma: dict[str, tuple[str, ...]]  # the controllers that reach it
    cache_line_bytes: PositiveInt
    code_cache_bytes: int = Field(ge=0)
    data_cache_bytes: int = Field(ge=0)
    caches: tuple[str, ...]  # the memories that the caches serve
    source: Source


class CacheSizes(FileModel):
    """The caches of a device where they are not those of its family."""

    code_bytes: PositiveInt
    data_bytes: PositiveInt
    source: Source


class BoardFile(FileModel):
    """boards/<name>.toml."""

    title: str
    part: str
    platformio_board: str
    source: Source
    published: Published
    clock: BusLimits
    power: Currents
    host_uart: UartWiring
    link_uarts: tuple[UartWiring, ...] = Field(min_length=1)
    corrections: Corrections = Corrections()
    pll: PllOverride | None = None
    caches: CacheSizes | None = None


class UartPeripheral(FileModel):
    """A UART as every device of a family has it."""

    base_address: PositiveInt
    bus: Literal["apb1", "apb2"]  # whose clock it counts
    enable_register: str


class FamilyFile(FileModel):
    """boards/families/<family>.toml."""

    pll: PllRules
    memory_system: MemorySystem
    uarts: dict[UartName, UartPeripheral]
    uarts_source: Source


def read_toml(path: Path, model: type[FileT]) -> FileT:
    """Read and validate `path`; raise InputError with the first thing that is wrong in it."""
    try:
        return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path.name}: not a TOML file: {error}") from error
    except ValidationError as error:
        raise InputError(f"{path.name}: {first_mistake(error)}") from error
