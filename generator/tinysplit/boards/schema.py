"""Schema of boards/*.toml, and what that of families shares with it. Every fact requires a source."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PositiveInt,
    StringConstraints,
    ValidationError,
    model_validator,
)

from tinysplit.common import package_files
from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import FileModel, first_mistake, matching
from tinysplit.common.input_files.texts import read_toml_file
from tinysplit.common.units import MILLI
from tinysplit.settings.boards_and_links import NEW

PinName = Annotated[str, AfterValidator(matching(r"P[A-K]([0-9]|1[0-5])", "a pin, as in PA9"))]
UartName = Annotated[str, AfterValidator(matching(r"(LPUART|USART|UART)[0-9]+", "a UART, as in USART1 or LPUART1"))]
_LINE = "one line without quotes, *, |, \\, < and >"  # it goes into C comments, tables and build files
Line = Annotated[str, AfterValidator(matching(r'[^\x00-\x1f"*|\\<>`]+', _LINE))]
DEBUG_PINS = ("PA13", "PA14")  # SWDIO and SWCLK
Source = Annotated[str, StringConstraints(min_length=8)]
_HEADER_PIN = r"[A-Z0-9]+(-[0-9]+)?( \([A-Z0-9]+\))?"
_CONNECTOR = rf"({_HEADER_PIN}) TX, ({_HEADER_PIN}) RX"
Range = tuple[PositiveInt, PositiveInt]
_NEWER_TABLES = ("debug", "ground", "markers")  # that the first format lacked
FileT = TypeVar("FileT", bound=FileModel)


class UartWiring(FileModel):
    """The pins of a UART on this board, and where it is connected."""

    name: UartName
    tx: PinName
    rx: PinName
    connector: Line
    source: Source


class LinkWiring(UartWiring):
    """A link UART: `connector` names the header pins of TX and RX, with their labels if they have any."""

    connector: Annotated[str, AfterValidator(matching(_CONNECTOR, "two header pins, as in CN9-3 TX, CN9-6 RX"))]


class GroundPin(FileModel):
    """A header pin that is ground."""

    connector: Line
    source: Source


class MarkerPinsTable(FileModel):
    """Two free pins on connectors: markers, which are driven while a layer or a transfer runs."""

    layer: PinName
    layer_connector: Line
    transfer: PinName
    transfer_connector: Line
    source: Source


class PublishedTable(FileModel):
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
    """The correct name and address of a memory of modm-devices, and how much of it a program may have, if not all."""

    name: str
    start: PositiveInt
    size_bytes: PositiveInt | None = None
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
    """Typical currents of the MCU at its clock, 3.3 V and 25 degC: Run mode from flash, and Sleep mode.

    `stop_ua` is that of the family's stop mode, with the RTC on LSI.
    """

    run_ma: float = Field(gt=0, allow_inf_nan=False)
    sleep_ma: float = Field(gt=0, allow_inf_nan=False)
    source: Source
    stop_ua: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    stop_source: Source | None = None

    @model_validator(mode="after")
    def _sleep_is_less(self) -> Self:
        if self.sleep_ma > self.run_ma:
            raise ValueError(f"Sleep mode with {self.sleep_ma:g} mA draws more than {self.run_ma:g} mA")
        if self.stop_ua is not None and self.stop_ua > MILLI * self.sleep_ma:
            raise ValueError(f"stop mode with {self.stop_ua:g} uA draws more than {self.sleep_ma:g} mA")
        if (self.stop_ua is None) != (self.stop_source is None):
            raise ValueError("stop_ua and stop_source belong together")
        return self


class PllRules(FileModel):
    """Limits of the PLL of a family: input and VCO in Hz, values of the dividers and the multiplier."""

    oscillator_hz: PositiveInt
    input_hz: Range
    vco_hz: Range
    m: Range
    hsi_m: PositiveInt | None = None  # by what HSI is always divided, where M is that of HSE alone
    n: Range
    multipliers: tuple[PositiveInt, ...] = ()  # values of N, where there are not all of its range
    r: tuple[PositiveInt, ...]
    source: Source

    def fed_by(self, oscillator_hz: int) -> Self:
        """Return these limits for a source of another frequency."""
        return self.model_copy(update={"oscillator_hz": oscillator_hz})

    def fed_by_hsi(self) -> Self:
        """Return these limits for HSI."""
        return self.model_copy(update={"m": (self.hsi_m, self.hsi_m)}) if self.hsi_m else self


class HseInput(FileModel):
    """The clock at OSC_IN of the board as delivered, which HSE takes in bypass mode, or its crystal.

    `crystal_us`: microseconds until a crystal is ready; without it, there is a clock. `core_hz`: the clock of the core
    that the PLL makes of it, where that of HSI is lower.
    """

    hz: PositiveInt
    crystal_us: PositiveInt | None = None
    core_hz: PositiveInt | None = None
    source: Source


class PllOverride(FileModel):
    """Limits of a device's PLL where they differ from those of its family."""

    vco_hz: Range | None = None
    m: Range | None = None
    hsi_m: PositiveInt | None = None
    r: tuple[PositiveInt, ...] | None = None
    source: Source

    def applied_to(self, pll: PllRules) -> PllRules:
        """Return `pll` with the values that are set here."""
        return pll.model_copy(update=self.model_dump(exclude_none=True))


class Fifos(FileModel):
    """The UARTs of a device or family that have a FIFO."""

    uarts: tuple[UartName, ...]
    source: Source


class CacheSizes(FileModel):
    """The caches of a device where they differ from those of its family."""

    code_bytes: PositiveInt
    data_bytes: PositiveInt
    source: Source


class FlashBanks(FileModel):
    """The banks of a flash, where an option bit of the part makes one or two of it."""

    banks: Literal[1, 2]
    source: Source


class DebugId(FileModel):
    """DEV_ID of the part, which its debug port answers; several parts of a family have the same.

    `option_registers`: addresses of registers with option bytes beside that with RDP, which a board report reads.
    """

    device_id: Annotated[int, Field(gt=0, lt=1 << 12)]
    option_registers: dict[str, PositiveInt] = Field(default_factory=dict)
    source: Source


class OwnProbe(FileModel):
    """The probe on the board, to whose serial port the host UART is connected."""

    family: Literal["ST-LINK/V2-1", "STLINK-V3"]
    source: Source


class QspiPins(FileModel):
    """The pins of a serial flash with four data lines, at bank 1 of the QUADSPI."""

    clk: PinName
    ncs: PinName
    io0: PinName
    io1: PinName
    io2: PinName
    io3: PinName


Byte = Annotated[int, Field(ge=0, le=0xFF)]


def _with_driver(kind: object) -> object:
    if kind in ("octospi", "fmc"):
        raise ValueError(f"kind {kind!r}: the firmware has no driver for it, only for 'qspi'")
    return kind


class ExternalFlash(FileModel):
    """A serial flash on the board, which holds weights: `kind` is its controller."""

    kind: Annotated[Literal["qspi"], BeforeValidator(_with_driver)]
    part: str
    bytes: PositiveInt
    address: PositiveInt  # at which it is mapped
    clock_hz: PositiveInt
    max_hz: PositiveInt  # with the read command and the status
    jedec_id: Annotated[int, Field(gt=0, lt=1 << 24)]
    status: tuple[Byte, ...] = Field(min_length=1, max_length=3)  # status register, then configuration registers
    read_command: Byte
    lines: tuple[Literal[1, 2, 4], Literal[1, 2, 4], Literal[1, 2, 4]]  # of instruction, address and data
    mode_byte: Byte  # behind the address
    dummy_cycles: Annotated[int, Field(ge=0, le=31)]
    select_high_cycles: Annotated[int, Field(ge=1, le=8)]
    pins: QspiPins
    read_ma: float = Field(gt=0, allow_inf_nan=False)
    standby_ma: float = Field(gt=0, allow_inf_nan=False)
    currents_source: Source
    source: Source

    @model_validator(mode="after")
    def _is_slow_enough(self) -> Self:
        if self.clock_hz > self.max_hz:
            raise ValueError(f"clock_hz {self.clock_hz} is more than the max_hz {self.max_hz} of the flash")
        return self


class BoardFile(FileModel):
    """boards/<name>.toml."""

    title: Line
    part: Annotated[str, AfterValidator(str.lower)]
    platformio_board: Annotated[str, AfterValidator(matching(r"[\w-]+", "a name, as in nucleo_g071rb"))]
    source: Source
    published: PublishedTable | None = None
    clock: BusLimits
    power: Currents | None = None
    debug: DebugId
    probe: OwnProbe | None = None
    host_uart: UartWiring
    ground: GroundPin
    markers: MarkerPinsTable
    link_uarts: tuple[LinkWiring, ...] = Field(min_length=1)
    corrections: Corrections = Corrections()
    pll: PllOverride | None = None
    hse: HseInput | None = None
    caches: CacheSizes | None = None
    fifos: Fifos | None = None  # where devices of a family differ
    flash: FlashBanks | None = None  # by default those of the part as delivered
    external_memory: ExternalFlash | None = None

    @model_validator(mode="after")
    def _has_no_conflict(self) -> Self:
        _check_one_use((uart.name, place) for place, uart in self._uarts())
        _check_one_use(self._pins())
        for use in self._debug_pins():
            raise ValueError(f"{use}, but the debug probe needs it (SWD): choose another pin")
        return self

    def _uarts(self) -> Iterator[tuple[str, UartWiring]]:
        yield "host_uart", self.host_uart
        yield from ((f"link_uarts {number}", uart) for number, uart in enumerate(self.link_uarts, 1))

    def _debug_pins(self) -> Iterator[str]:
        return (f"{pin} is {use}" for pin, use in self._pins() if pin in DEBUG_PINS)

    def _pins(self) -> Iterator[tuple[str, str]]:
        """Yield the pins and what they are used for."""
        for place, uart in self._uarts():
            yield uart.tx, f"{place} tx"
            yield uart.rx, f"{place} rx"
        yield self.markers.layer, "markers layer"
        yield self.markers.transfer, "markers transfer"
        if self.external_memory:
            yield from ((pin, f"external_memory pins {name}") for name, pin in self.external_memory.pins)


def _check_one_use(uses: Iterable[tuple[str, str]]) -> None:
    """Raise ValueError for the first name that is used for two things."""
    use_of: dict[str, str] = {}
    for name, use in uses:
        if name in use_of:
            raise ValueError(f"{name} is both {use_of[name]} and {use}: it can have one use only")
        use_of[name] = use


def read_toml(path: Path, model: type[FileT], read: Callable[[Path], dict[str, Any]] = read_toml_file) -> FileT:
    """Return the contents of `path`; raise InputError where it cannot be read, or with its first mistake.

    Values have exactly the types of the schema: "3" and true are no numbers.
    """
    try:
        data = json.dumps(read(path), default=str)
        return model.model_validate_json(data, strict=True)  # JSON: lists may be tuples
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except ValidationError as error:
        raise InputError(f"{path}: {first_mistake(error)}") from error
    except ValueError as error:
        reason = "it is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise InputError(f"{path}: not a TOML file: {reason}") from None


def read_board(path: Path) -> BoardFile:
    """Return a board file, with the tables of the board that it `extends` where it has none of its own.

    Raises the errors of `read_toml`, and InputError for a board to extend that does not come with tinysplit and for a
    file of an older format.
    """
    return read_toml(path, BoardFile, _of_today)


def _of_today(path: Path) -> dict[str, Any]:
    data = _with_extended(path)
    if absent := next((table for table in _NEWER_TABLES if table not in data), None):
        raise InputError(
            f"{path}: [{absent}] is missing, as in board files of an older format: "
            f"`tinysplit boards {NEW.option} {data.get('part', 'PART')}` writes a new one, for the pins of this file"
        )
    return data


def _with_extended(path: Path) -> dict[str, Any]:
    own = read_toml_file(path)
    if "extends" not in own:
        return own
    extended = {each.stem: each for each in package_files.boards().glob("*.toml")}.get(str(own.pop("extends")))
    if extended is None:
        raise InputError(
            f"{path}: extends has to be the name of a board that comes with tinysplit (`tinysplit boards`)"
        )
    return read_toml_file(extended) | own
