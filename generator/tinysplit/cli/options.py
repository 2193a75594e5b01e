"""Options that several commands have in common, and their checks."""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tinysplit.boards.board import ClockSource, CodeMemory
from tinysplit.cli import completion
from tinysplit.cli.option import option
from tinysplit.common.choices import (
    BIT_WIDTHS,
    INPUT_ARRAY,
    USUAL_MAX_DROP,
    USUAL_MAX_TIME_INCREASE,
    USUAL_MIN_SQNR_DB,
    InputSource,
    LateInputs,
    LowPower,
    MapLayout,
    ProgrammerName,
    WeightsIn,
)
from tinysplit.common.errors import UsageError
from tinysplit.common.host_protocol import MLPERF_BAUD, HostProtocol
from tinysplit.common.protocol_limits import USUAL_HOST_BAUD
from tinysplit.settings.boards_and_links import BAUD
from tinysplit.settings.costs import COST_TABLE, INPUT_SOURCE
from tinysplit.settings.fixed_point import BITS, MAX_ACCURACY_DROP, MAX_TIME_INCREASE, MIN_SQNR
from tinysplit.settings.measurement import PROGRAMMER, RIG
from tinysplit.settings.programs import (
    CLOCK,
    CODE_MEMORY,
    DIAGNOSTICS,
    HOST_BAUD,
    HOST_PROTOCOL,
    KERNEL,
    LATE_INPUTS,
    LOW_POWER,
    MARKERS,
    MLPERF_BYTE_SCALE,
    MLPERF_MODEL,
    SIGN,
    STANDALONE,
    STRUCTURE_OF,
    WEIGHTS,
)
from tinysplit.settings.result_files import OUT
from tinysplit.settings.samples import CALIBRATION_COUNT, INPUT_KEY, LAYOUT, SAMPLES
from tinysplit.settings.search import FRAME_RATE, OBJECTIVE
from tinysplit.settings.setting import Heading
from tinysplit.split.problem import Objective

if TYPE_CHECKING:
    from tinysplit.codegen.mlperf import Mlperf
    from tinysplit.network.sample_files import SampleFile
    from tinysplit.quantize.mixed_precision.bit_allocation import Goal

AUTO_BITS = "auto"
AUTO_BAUD = "auto"
WIRING_PATH = Path("wiring.json")
WIRING_TEST = Path("wiring_test")


class CodeMemoryChoice(StrEnum):
    """The values of --code-memory."""

    AUTO = "auto"
    FLASH = CodeMemory.FLASH
    RAM = CodeMemory.RAM

    @property
    def requested(self) -> CodeMemory | None:
        """The memory, None to choose for each board."""
        return None if self is CodeMemoryChoice.AUTO else CodeMemory(self.value)


SamplesPath = Annotated[Path, option(SAMPLES)]
InputKey = Annotated[str, option(INPUT_KEY)]
LayoutOption = Annotated[MapLayout | None, option(LAYOUT, show_default=False)]
Bits = Annotated[int, option(BITS, "Bit width of weights and activations: 8 or 16.")]
BitsOrAuto = Annotated[str, option(BITS)]
MaxAccuracyDrop = Annotated[float | None, option(MAX_ACCURACY_DROP, MAX_ACCURACY_DROP.help.format(USUAL_MAX_DROP))]
MaxTimeIncrease = Annotated[float, option(MAX_TIME_INCREASE)]
MinSqnr = Annotated[float | None, option(MIN_SQNR, MIN_SQNR.help.format(USUAL_MIN_SQNR_DB))]
KernelOption = Annotated[list[str] | None, option(KERNEL)]
ObjectiveOption = Annotated[Objective, option(OBJECTIVE)]
CodeMemoryOption = Annotated[CodeMemoryChoice, option(CODE_MEMORY)]
_THAT_OF_THE_SPLIT = "{} By default that of the split."
CodeMemoryOfSplit = Annotated[
    CodeMemoryChoice | None, option(CODE_MEMORY, _THAT_OF_THE_SPLIT.format(CODE_MEMORY.help), show_default=False)
]
InputSourceOfSplit = Annotated[
    InputSource | None, option(INPUT_SOURCE, _THAT_OF_THE_SPLIT.format(INPUT_SOURCE.help), show_default=False)
]
Clock = Annotated[ClockSource, option(CLOCK)]
ClockOfSplit = Annotated[ClockSource | None, option(CLOCK, _THAT_OF_THE_SPLIT.format(CLOCK.help), show_default=False)]
HostProtocolOption = Annotated[HostProtocol, option(HOST_PROTOCOL)]
MlperfModel = Annotated[str | None, option(MLPERF_MODEL)]
MlperfByteScale = Annotated[float | None, option(MLPERF_BYTE_SCALE)]
HostBaud = Annotated[int | None, option(HOST_BAUD, HOST_BAUD.help.format(USUAL_HOST_BAUD, ""), show_default=False)]
HostBaudOfProtocol = Annotated[
    int | None,
    option(
        HOST_BAUD,
        HOST_BAUD.help.format(USUAL_HOST_BAUD, f", with {HOST_PROTOCOL('mlperf')} {MLPERF_BAUD}"),
        show_default=False,
    ),
]
Markers = Annotated[bool, option(MARKERS)]
Diagnostics = Annotated[bool, option(DIAGNOSTICS)]
WeightsOption = Annotated[WeightsIn, option(WEIGHTS)]
SignOption = Annotated[bool, option(SIGN)]
StandaloneOption = Annotated[bool, option(STANDALONE)]
FrameRateOfPrograms = Annotated[
    float | None,
    option(
        FRAME_RATE,
        f"With {STANDALONE(True)}: inputs per second, at equal intervals. By default the application is asked for one "
        "whenever the boards are free.",
        rich_help_panel=Heading.PROGRAMS,
        show_default=False,
    ),
]
LateInputsOption = Annotated[LateInputs, option(LATE_INPUTS)]
LowPowerOption = Annotated[LowPower, option(LOW_POWER)]
StructureOf = Annotated[Path | None, option(STRUCTURE_OF)]
CalibrationCount = Annotated[int, option(CALIBRATION_COUNT)]
CostTableFile = Annotated[Path | None, option(COST_TABLE)]
SplitPath = Annotated[
    Path,
    typer.Option("--split", help="Split file written by `tinysplit split`.", autocompletion=completion.split_files),
]
Out = Annotated[Path, option(OUT)]
BoardsOfRig = Annotated[
    list[str] | None,
    typer.Option(
        "--board",
        "-b",
        help="The boards in their order; by default the names in the rig file.",
        autocompletion=completion.boards,
    ),
]
Rig = Annotated[str, option(RIG, autocompletion=completion.rigs)]
ProgrammerOption = Annotated[ProgrammerName, option(PROGRAMMER)]


def check_bits(bits: int) -> int:
    """Return `bits`. Raises UsageError unless it is 8 or 16."""
    if bits not in BIT_WIDTHS:
        raise UsageError(f"{BITS} {bits}: weights and activations have 8 or 16 bits")
    return bits


def parse_bits(text: str) -> int | None:
    """Return the bit width of --bits, None for auto. Raises UsageError for any other text."""
    if text not in {*map(str, BIT_WIDTHS), AUTO_BITS}:
        raise UsageError(f"{BITS} {text}: expected 8, 16 or {AUTO_BITS}")
    return None if text == AUTO_BITS else int(text)


def parse_baud(text: str) -> int:
    """Return the baud rate of --baud. Raises UsageError unless it is a whole number above zero."""
    if not text.isdecimal() or int(text) == 0:
        raise UsageError(f"{BAUD} {text}: expected a number above zero, or {AUTO_BAUD}")
    return int(text)


@dataclass(frozen=True)
class SamplesOptions:
    """Options of commands that read samples."""

    samples: SamplesPath
    input_key: InputKey = INPUT_ARRAY
    layout: LayoutOption = None

    @property
    def file(self) -> "SampleFile":
        """The file of --samples."""
        return self.like(self.samples)

    def like(self, path: Path) -> "SampleFile":
        """Return another file that is read in the same way."""
        from tinysplit.network.sample_files import SampleFile

        return SampleFile(path, self.input_key, self.layout)


@dataclass(frozen=True)
class PrecisionOptions:
    """Options of commands that quantize."""

    bits: BitsOrAuto = "8"
    max_accuracy_drop: MaxAccuracyDrop = None
    min_sqnr: MinSqnr = None
    max_time_increase: MaxTimeIncrease = USUAL_MAX_TIME_INCREASE

    @property
    def chosen(self) -> "int | Goal":
        """8 or 16, or for auto the goal of mixed precision.

        Raises UsageError for any other number of bits, and for a goal without mixed precision.
        """
        if self.min_sqnr is not None and not isfinite(self.min_sqnr):
            raise UsageError(f"{MIN_SQNR} {self.min_sqnr:g}: expected a number of dB")
        if not isfinite(self.max_time_increase):
            raise UsageError(f"{MAX_TIME_INCREASE} {self.max_time_increase:g}: expected a number of percent")
        bits = parse_bits(self.bits)
        if bits is None:
            from tinysplit.quantize.mixed_precision.bit_allocation import Goal

            return Goal(self.max_accuracy_drop, self.min_sqnr)
        if self.max_accuracy_drop is not None or self.min_sqnr is not None:
            raise UsageError(f"{MAX_ACCURACY_DROP} and {MIN_SQNR} are goals of mixed precision: add {BITS} {AUTO_BITS}")
        return bits


def parse_kernels(texts: list[str] | None) -> tuple[tuple[int, str], ...]:
    """Return the 0-based layers of --kernel, each with its kernel or scheme. Raises UsageError for unknown ones."""
    from tinysplit.kernels import KERNELS, Scheme
    from tinysplit.plan.named_kernels import check_named_once

    known = [kernel.name for kernel in KERNELS] + [scheme.value for scheme in Scheme]
    named: list[tuple[int, str]] = []
    for text in texts or ():
        number, _, name = text.partition("=")
        if not number.isdecimal() or int(number) < 1 or name not in known:
            raise UsageError(f"{KERNEL} {text}: expected LAYER=NAME as in 3=direct, NAME one of {', '.join(known)}")
        named.append((int(number) - 1, name))
    check_named_once(named)
    return tuple(sorted(named))


@dataclass(frozen=True, kw_only=True)
class HostOptions:
    """What the host ports speak, and how fast."""

    host_protocol: HostProtocolOption = HostProtocol.TINYSPLIT
    mlperf_model: MlperfModel = None
    mlperf_byte_scale: MlperfByteScale = None
    host_baud: HostBaudOfProtocol = None

    @property
    def baud(self) -> int | None:
        """The baud rate, None for that which the boards make."""
        return MLPERF_BAUD if self.host_baud is None and self.host_protocol is HostProtocol.MLPERF else self.host_baud

    def mlperf(self, copies: int, source: InputSource) -> "Mlperf | None":
        """Return the choices of MLPerf's protocol, None for ours.

        Raises UsageError for options without their protocol, and for inputs from the board; see `Mlperf.check`.
        """
        if self.host_protocol is HostProtocol.MLPERF:
            if source is InputSource.BOARD:
                raise UsageError(
                    f"{HOST_PROTOCOL('mlperf')} brings inputs over the host's port: split with {INPUT_SOURCE('host')}"
                )
            if self.mlperf_model is None:
                raise UsageError(
                    f"{HOST_PROTOCOL('mlperf')} needs {MLPERF_MODEL}: ad01, kws01, ic01, vww01 or a name of your own"
                )
            from tinysplit.codegen.mlperf import Mlperf

            mlperf = Mlperf(self.mlperf_model, self.mlperf_byte_scale)
            mlperf.check(copies)
            return mlperf
        if self.mlperf_model is not None or self.mlperf_byte_scale is not None:
            raise UsageError(f"{MLPERF_MODEL} and {MLPERF_BYTE_SCALE} need {HOST_PROTOCOL('mlperf')}")
        return None
