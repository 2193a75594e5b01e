"""The file of a board report, JSON: what was measured, what virtual boards take, and what follows for their rules."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import Field

from tinysplit import __version__
from tinysplit.boards.device_identity import DeviceIdentity
from tinysplit.codegen.board_report.piece import BASE
from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import Count, Figure, FileModel, Hertz, Number, read_json, validate
from tinysplit.common.output_file import write_whole_file

SCHEMA_VERSION = 1
_REMEDY = "write it anew with `tinysplit bench report`"


class Verdict(StrEnum):
    """What a report says of a rule: its value holds, another one does, or none that was tried."""

    CONFIRMED = "confirmed"
    CORRECTED = "corrected"
    UNKNOWN = "unknown"


class Identity(DeviceIdentity):
    """What a board is: its part, the clock against that of the host, and the program that ran."""

    core_hz: Hertz
    clock_ppm: Figure | None  # None where it could not be read
    clock_uncertainty_ppm: Figure | None
    compiler: str
    project_hash: str
    elf_sha256: str


class Setting(FileModel):
    """A setting of the flash: wait states, with the prefetch and the caches of the firmware, or without."""

    wait_states: Count
    has_caches: bool


class Events(FileModel):
    """What the DWT has counted in so many loops of a piece (Arm DDI 0403, C1.8).

    `cpi`: cycles without an instruction that ends, but those of `lsu`, of loads and stores beyond their first; `fold`:
    instructions that took no cycle.
    """

    loops: Number
    cpi: Count
    lsu: Count
    fold: Count


class PieceCycles(FileModel):
    """Cycles of a piece at one place, with each setting: measured, and of the virtual board.

    `repeats` of the body in each of `loops`; the cycles of `base` are taken off.
    """

    piece: str
    place: str
    offset: Count  # of its first instruction, modulo 4
    loops: Number
    repeats: Count
    base: str = BASE
    dma_bytes: Count = 0  # sent meanwhile
    settings: tuple[Setting, ...]
    measured: tuple[Count, ...]
    virtual: tuple[Count, ...]
    events: Events | None = None  # with the first setting, measured; virtual boards count none


class RuleResult(FileModel):
    """A rule of time: the value that virtual boards had, the value that fits, and the piece that tells it."""

    table: str  # core or family
    rule: str
    value: Count
    verdict: Verdict
    fits: Count | None = None
    piece: str = ""


class LayerCycles(FileModel):
    """Median cycles of a layer: measured, and of the virtual board."""

    number: Number
    name: str
    measured: Count
    virtual: Count


class NetworkCycles(FileModel):
    """A network of generated firmware, layer by layer."""

    name: str
    sha256: str
    layers: tuple[LayerCycles, ...] = Field(min_length=1)

    @property
    def measured(self) -> int:
        """Cycles of all layers on the board."""
        return sum(layer.measured for layer in self.layers)

    @property
    def virtual(self) -> int:
        """Cycles of all layers on the virtual board."""
        return sum(layer.virtual for layer in self.layers)


class BoardResult(FileModel):
    """All of one board."""

    name: str
    part: str
    core: str
    family: str
    identity: Identity
    pieces: tuple[PieceCycles, ...]
    left_out: Mapping[str, str]
    rules: tuple[RuleResult, ...]
    networks: tuple[NetworkCycles, ...] = ()


class ReportFile(FileModel):
    """The whole file; `rig` tells real boards from virtual ones."""

    schema_version: Literal[1] = 1
    tinysplit_version: str = __version__
    rig: Literal["virtual", "real"]
    note: str
    boards: tuple[BoardResult, ...] = Field(min_length=1)


def write_report(path: Path, report: ReportFile) -> None:
    """Write the file atomically. Raises InputError when it cannot be written."""
    write_whole_file(path, report.model_dump_json() + "\n")


def read_report(path: Path) -> ReportFile:
    """Read a report. Raises InputError where it is missing, of another version, or no report."""
    data = read_json(path, _REMEDY)
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        raise InputError(f"{path}: schema_version is {version}, not {SCHEMA_VERSION}: {_REMEDY}")
    return validate(path, data, ReportFile, _REMEDY)
