"""Options that several commands have in common, and their checks."""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tinysplit.boards.board import ClockSource, CodeMemory
from tinysplit.cli.basic_options import Heading
from tinysplit.common.choices import (
    BITS,
    INPUT_KEY,
    USUAL_MAX_DROP,
    USUAL_MIN_SQNR_DB,
    MapLayout,
    ProgrammerName,
    WeightsIn,
)
from tinysplit.common.errors import UsageError
from tinysplit.common.host_protocol import MLPERF_BAUD, HostProtocol
from tinysplit.common.protocol_limits import HOST_BAUD
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


SamplesPath = Annotated[
    Path,
    typer.Option(
        "--samples",
        "-s",
        help="Samples: an .npz file with an array `x` and, optionally, class labels `y`; an .npy file with one array; "
        "a .csv file with a row for each sample, labels in a column `y` or `label`; or a folder of images, classes in "
        "sub-folders.",
        rich_help_panel=Heading.SAMPLES,
    ),
]
InputKey = Annotated[
    str, typer.Option("--input-key", help="Name of the array of inputs in .npz files.", rich_help_panel=Heading.SAMPLES)
]
LayoutOption = Annotated[
    MapLayout | None,
    typer.Option(
        "--layout",
        help="Order of the axes in samples: nhwc, channels last, or nchw, channels first. By default that of the "
        "network's input.",
        show_default=False,
        rich_help_panel=Heading.SAMPLES,
    ),
]
Bits = Annotated[
    int, typer.Option(help="Bit width of weights and activations: 8 or 16.", rich_help_panel=Heading.FIXED_POINT)
]
BitsOrAuto = Annotated[
    str,
    typer.Option(
        "--bits",
        help="Bit width of weights and activations: 8, 16, or auto for mixed precision, which uses 16 bits only where "
        "accuracy requires it.",
        rich_help_panel=Heading.FIXED_POINT,
    ),
]
MaxAccuracyDrop = Annotated[
    float | None,
    typer.Option(
        "--max-accuracy-drop",
        help="Mixed precision: largest loss of top-1 accuracy in percentage points, for labelled samples "
        f"(default: {USUAL_MAX_DROP}).",
        min=0,
        rich_help_panel=Heading.FIXED_POINT,
    ),
]
MinSqnr = Annotated[
    float | None,
    typer.Option(
        "--min-sqnr",
        help="Mixed precision: least SQNR in dB before the softmax, for unlabelled samples "
        f"(default: {USUAL_MIN_SQNR_DB}).",
        rich_help_panel=Heading.FIXED_POINT,
    ),
]
KernelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        help="Kernel of a layer, by the layer's number: 3=planes names a kernel; 3=interleaved, 3=non-interleaved or "
        "3=1x1-non-interleaved selects the fastest kernel of a scheme. Repeat for several layers.",
        rich_help_panel=Heading.PROGRAMS,
    ),
]
ObjectiveOption = Annotated[
    Objective,
    typer.Option(
        help="What the split optimises: minimise latency, maximise throughput or minimise energy.",
        rich_help_panel=Heading.SEARCH,
    ),
]
_CODE_MEMORY_HELP = (
    "Memory of the layers' code: flash, or ram: SRAM2 of STM32L4, without wait states. auto takes idle RAM where flash "
    "has wait states and the code is larger than the instruction cache."
)
CodeMemoryOption = Annotated[
    CodeMemoryChoice, typer.Option("--code-memory", help=_CODE_MEMORY_HELP, rich_help_panel=Heading.PROGRAMS)
]
CodeMemoryOfSplit = Annotated[
    CodeMemoryChoice | None,
    typer.Option(
        "--code-memory",
        help=f"{_CODE_MEMORY_HELP} By default that of the split.",
        show_default=False,
        rich_help_panel=Heading.PROGRAMS,
    ),
]
_CLOCK_HELP = "Source of the PLL on all boards: hsi, the internal oscillator, or hse, the clock at OSC_IN (ST-LINK)."
Clock = Annotated[ClockSource, typer.Option("--clock", help=_CLOCK_HELP, rich_help_panel=Heading.PROGRAMS)]
ClockOfSplit = Annotated[
    ClockSource | None,
    typer.Option(
        "--clock",
        help=f"{_CLOCK_HELP} By default that of the split.",
        show_default=False,
        rich_help_panel=Heading.PROGRAMS,
    ),
]
HostProtocolOption = Annotated[
    HostProtocol,
    typer.Option(
        "--host-protocol",
        help="What the host ports speak: tinysplit, for `tinysplit measure`; mlperf, MLPerf Tiny's lines on the board "
        "that reads the input, to which the output returns (docs/mlperf.md).",
        rich_help_panel=Heading.PROGRAMS,
    ),
]
MlperfModel = Annotated[
    str | None,
    typer.Option(
        "--mlperf-model",
        help="With --host-protocol mlperf: what the board says that it is, kws01, ic01 or vww01, whose data sets it "
        "can read; any other name takes the input's integers.",
        rich_help_panel=Heading.PROGRAMS,
    ),
]
MlperfByteScale = Annotated[
    float | None,
    typer.Option(
        "--mlperf-byte-scale",
        help="With --host-protocol mlperf: real value of a step of the data set's bytes, if it is not that of the "
        "reference model (ic01: 1, vww01: 1/255).",
        min=1e-9,
        rich_help_panel=Heading.PROGRAMS,
    ),
]
_HOST_BAUD_HELP = (
    "Baud rate of the port between each board and the host; every board has to make it. By default the highest usual "
    f"rate up to {HOST_BAUD} that all boards make"
)
HostBaud = Annotated[
    int | None,
    typer.Option(
        "--host-baud",
        help=f"{_HOST_BAUD_HELP}.",
        min=1,
        show_default=False,
        rich_help_panel=Heading.PROGRAMS,
    ),
]
HostBaudOfProtocol = Annotated[
    int | None,
    typer.Option(
        "--host-baud",
        help=f"{_HOST_BAUD_HELP}, with --host-protocol mlperf {MLPERF_BAUD}.",
        min=1,
        show_default=False,
        rich_help_panel=Heading.PROGRAMS,
    ),
]
Markers = Annotated[
    bool,
    typer.Option(
        "--markers",
        help="Drive two pins of each board, for a logic analyser: high while a layer runs, and while a transfer does.",
        rich_help_panel=Heading.PROGRAMS,
    ),
]
Diagnostics = Annotated[
    bool,
    typer.Option(
        "--diagnostics/--no-diagnostics",
        help="Requests of the host port that only `measure` needs: times of layers and transfers, the clock, and how "
        "much of the stack was used.",
        rich_help_panel=Heading.PROGRAMS,
    ),
]
WeightsOption = Annotated[
    WeightsIn,
    typer.Option(
        help="Where the programs have the weights: in C arrays, or in a binary file for each board, weights.bin, that "
        "is in flash by itself and can be replaced without the program, encrypted or not; the key is that of "
        "TINYSPLIT_WEIGHTS_KEY or of the file TINYSPLIT_WEIGHTS_KEY_FILE (docs/weights_file.md).",
        rich_help_panel=Heading.PROGRAMS,
    ),
]
SignOption = Annotated[
    bool,
    typer.Option(
        "--sign",
        help="Sign the weights files with the private key (Ed25519, PEM) of the file TINYSPLIT_SIGNING_KEY_FILE or of "
        "TINYSPLIT_SIGNING_KEY: the programs take no others over their host ports (docs/weights_file.md).",
        rich_help_panel=Heading.PROGRAMS,
    ),
]
StructureOf = Annotated[
    Path | None,
    typer.Option(
        help="Keep the programs of this folder, generated with --weights binary, for another network of the same "
        "layers: only its weights change. Take the split of that folder.",
        rich_help_panel=Heading.PROGRAMS,
    ),
]
CalibrationCount = Annotated[
    int,
    typer.Option(
        "--calibration-count",
        help="Number of samples used for calibration, from the first.",
        min=1,
        rich_help_panel=Heading.SAMPLES,
    ),
]
CostTableFile = Annotated[
    Path | None,
    typer.Option(
        "--cost-table",
        help="Cost table written by `tinysplit calibrate`; by default that of this installation.",
        rich_help_panel=Heading.COSTS,
    ),
]
SplitPath = Annotated[Path, typer.Option("--split", help="Split file written by `tinysplit split`.")]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="Folder to generate: a new, an empty or an older generated folder.")
]
Rig = Annotated[
    str,
    typer.Option(
        "--rig",
        help="`virtual` for emulated boards, or a TOML file with the serial port of every board.",
        rich_help_panel=Heading.MEASUREMENT,
    ),
]
ProgrammerOption = Annotated[
    ProgrammerName, typer.Option(help="Program that flashes real boards.", rich_help_panel=Heading.MEASUREMENT)
]


def check_bits(bits: int) -> int:
    """Return `bits`. Raises UsageError unless it is 8 or 16."""
    if bits not in BITS:
        raise UsageError(f"--bits {bits}: weights and activations have 8 or 16 bits")
    return bits


def parse_bits(text: str) -> int | None:
    """Return the bit width of --bits, None for auto. Raises UsageError for any other text."""
    if text not in {*map(str, BITS), AUTO_BITS}:
        raise UsageError(f"--bits {text}: expected 8, 16 or {AUTO_BITS}")
    return None if text == AUTO_BITS else int(text)


def parse_baud(text: str) -> int:
    """Return the baud rate of --baud. Raises UsageError unless it is a whole number above zero."""
    if not text.isdecimal() or int(text) == 0:
        raise UsageError(f"--baud {text}: expected a number above zero, or {AUTO_BAUD}")
    return int(text)


@dataclass(frozen=True)
class SamplesOptions:
    """Options of commands that read samples."""

    samples: SamplesPath
    input_key: InputKey = INPUT_KEY
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

    @property
    def chosen(self) -> "int | Goal":
        """8 or 16, or for auto the goal of mixed precision.

        Raises UsageError for any other number of bits, and for a goal without mixed precision.
        """
        if self.min_sqnr is not None and not isfinite(self.min_sqnr):
            raise UsageError(f"--min-sqnr {self.min_sqnr:g}: expected a number of dB")
        bits = parse_bits(self.bits)
        if bits is None:
            from tinysplit.quantize.mixed_precision.bit_allocation import Goal

            return Goal(self.max_accuracy_drop, self.min_sqnr)
        if self.max_accuracy_drop is not None or self.min_sqnr is not None:
            raise UsageError(f"--max-accuracy-drop and --min-sqnr are goals of mixed precision: add --bits {AUTO_BITS}")
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
            raise UsageError(f"--kernel {text}: expected LAYER=NAME as in 3=direct, NAME one of {', '.join(known)}")
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

    def mlperf(self, copies: int) -> "Mlperf | None":
        """Return the choices of MLPerf's protocol, None for ours.

        Raises UsageError for options without their protocol; see `Mlperf.check`.
        """
        if self.host_protocol is HostProtocol.MLPERF:
            if self.mlperf_model is None:
                raise UsageError(
                    "--host-protocol mlperf needs --mlperf-model: kws01, ic01, vww01 or a name of your own"
                )
            from tinysplit.codegen.mlperf import Mlperf

            mlperf = Mlperf(self.mlperf_model, self.mlperf_byte_scale)
            mlperf.check(copies)
            return mlperf
        if self.mlperf_model is not None or self.mlperf_byte_scale is not None:
            raise UsageError("--mlperf-model and --mlperf-byte-scale need --host-protocol mlperf")
        return None
