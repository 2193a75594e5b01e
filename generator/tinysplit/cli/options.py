"""Options that several commands have in common, and their checks."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf, isnan
from pathlib import Path
from typing import Annotated

import typer

from tinysplit.boards.board import ClockSource, CodeMemory
from tinysplit.codegen.mlperf import Mlperf
from tinysplit.common.errors import UsageError
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.kernels import KERNELS, Scheme
from tinysplit.network.bit_widths import BITS
from tinysplit.quantize.mixed_precision.bit_allocation import USUAL_MAX_DROP, USUAL_MIN_SQNR_DB, Goal
from tinysplit.split.problem import Objective
from tinysplit_hil.bench.programmers import ProgrammerName

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


SamplesFile = Annotated[
    Path,
    typer.Option("--samples", "-s", help="Samples: an .npz file with an array `x` and, optionally, class labels `y`."),
]
CalibrationSamples = Annotated[
    Path, typer.Option("--samples", "-s", help="Calibration samples: an .npz file with an array `x`.")
]
Bits = Annotated[int, typer.Option(help="Bit width of weights and activations: 8 or 16.")]
BitsOrAuto = Annotated[
    str,
    typer.Option(
        "--bits",
        help="Bit width of weights and activations: 8, 16, or auto for mixed precision, which uses 16 bits only where "
        "accuracy requires it.",
    ),
]
MaxAccuracyDrop = Annotated[
    float | None,
    typer.Option(
        "--max-accuracy-drop",
        help="Mixed precision: largest loss of top-1 accuracy in percentage points, for labelled samples "
        f"(default: {USUAL_MAX_DROP}).",
        min=0,
    ),
]
MinSqnr = Annotated[
    float | None,
    typer.Option(
        "--min-sqnr",
        help="Mixed precision: least SQNR in dB before the softmax, for unlabelled samples "
        f"(default: {USUAL_MIN_SQNR_DB}).",
    ),
]
KernelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        help="Kernel of a layer, by the layer's number: 3=planes names a kernel; 3=interleaved, 3=non-interleaved or "
        "3=1x1-non-interleaved selects the fastest kernel of a scheme. Repeat for several layers.",
    ),
]
ObjectiveOption = Annotated[
    Objective,
    typer.Option(help="What the split optimises: minimise latency, maximise throughput or minimise energy."),
]
_CODE_MEMORY_HELP = (
    "Memory of the layers' code: flash, or ram: SRAM2 of STM32L4, without wait states. auto takes idle RAM where flash "
    "has wait states and the code is larger than the instruction cache."
)
CodeMemoryOption = Annotated[CodeMemoryChoice, typer.Option("--code-memory", help=_CODE_MEMORY_HELP)]
CodeMemoryOfSplit = Annotated[
    CodeMemoryChoice | None,
    typer.Option("--code-memory", help=f"{_CODE_MEMORY_HELP} By default that of the split.", show_default=False),
]
_CLOCK_HELP = "Source of the PLL on all boards: hsi, the internal oscillator, or hse, the clock at OSC_IN (ST-LINK)."
Clock = Annotated[ClockSource, typer.Option("--clock", help=_CLOCK_HELP)]
ClockOfSplit = Annotated[
    ClockSource | None, typer.Option("--clock", help=f"{_CLOCK_HELP} By default that of the split.", show_default=False)
]
HostProtocolOption = Annotated[
    HostProtocol,
    typer.Option(
        "--host-protocol",
        help="What the host ports speak: tinysplit, for `tinysplit measure`; mlperf, MLPerf Tiny's lines on the board "
        "that reads the input, to which the output returns (docs/mlperf.md).",
    ),
]
MlperfModel = Annotated[
    str | None,
    typer.Option(
        "--mlperf-model",
        help="With --host-protocol mlperf: what the board says that it is, kws01, ic01 or vww01, whose data sets it "
        "can read; any other name takes the input's integers.",
    ),
]
MlperfByteScale = Annotated[
    float | None,
    typer.Option(
        "--mlperf-byte-scale",
        help="With --host-protocol mlperf: real value of a step of the data set's bytes, if it is not that of the "
        "reference model (ic01: 1, vww01: 1/255).",
        min=1e-9,
    ),
]
HostBaudOfProtocol = Annotated[
    int | None,
    typer.Option(
        "--host-baud",
        help="Baud rate of the port between each board and the host; every board has to make it. By default "
        f"{HostProtocol.TINYSPLIT.usual_baud}, with --host-protocol mlperf {HostProtocol.MLPERF.usual_baud}.",
        min=1,
        show_default=False,
    ),
]
HostBaud = Annotated[
    int,
    typer.Option(
        "--host-baud", help="Baud rate of the port between each board and the host; every board has to make it.", min=1
    ),
]
Markers = Annotated[
    bool,
    typer.Option(
        "--markers",
        help="Drive two pins of each board, for a logic analyser: high while a layer runs, and while a transfer does.",
    ),
]
CalibrationCount = Annotated[
    int, typer.Option("--calibration-count", help="Number of samples used for calibration, from the first.", min=1)
]
CalibrationFile = Annotated[
    Path | None,
    typer.Option(
        "--calibration", help="Cost table written by `tinysplit calibrate`; by default that of this installation."
    ),
]
SplitPath = Annotated[Path, typer.Option("--split", help="Split file written by `tinysplit split`.")]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="Folder to generate: a new, an empty or an older generated folder.")
]
Rig = Annotated[
    str,
    typer.Option("--rig", help="`virtual` for emulated boards, or a TOML file with the serial port of every board."),
]
ProgrammerOption = Annotated[ProgrammerName, typer.Option(help="Program that flashes real boards.")]
SampleCount = Annotated[int, typer.Option("--sample-count", help="Number of samples to run on the boards.", min=1)]
Pipelined = Annotated[
    bool,
    typer.Option(
        "--pipelined",
        help="Stream the samples, several in flight, and measure the period: the time between two outputs. The first "
        "three samples also run one at a time, for the times of layers and transfers.",
    ),
]
FailFast = Annotated[
    bool,
    typer.Option(
        "--fail-fast", help="Stop at the first sample that fails. By default the boards are reset and the next follows."
    ),
]
IdealMemory = Annotated[
    bool,
    typer.Option(
        "--ideal-memory",
        help="Virtual boards whose memory never makes the core wait: no flash wait states, no cache misses.",
    ),
]
Vcd = Annotated[
    Path | None,
    typer.Option("--vcd", help="VCD file to write: the markers of virtual boards (`generate --markers`)."),
]
SaveFile = Annotated[
    Path | None,
    typer.Option("--save", help="Write the measurement to a JSON file, which `tinysplit compare` reads."),
]
CsvFile = Annotated[
    Path | None, typer.Option("--csv", help="Write all times and their statistics over samples to a CSV file.")
]
JunitFile = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        help="Write JUnit XML for continuous integration: a test case for each sample, and the median of each time.",
    ),
]
TimelineOption = Annotated[
    bool,
    typer.Option(
        "--timeline",
        help="Run up to three more inferences with aligned clocks, and print what boards and links do when, estimated "
        "above measured, and T as wire, driver and waiting time.",
    ),
]
TimelineSvg = Annotated[Path | None, typer.Option("--timeline-svg", help="Write this timeline as a picture.")]
TimelineTrace = Annotated[
    Path | None,
    typer.Option("--timeline-trace", help="Write it as a trace, which Perfetto and chrome://tracing open."),
]


def check_bits(bits: int) -> int:
    """Return `bits`. Raises UsageError unless it is 8 or 16."""
    if bits not in BITS:
        raise UsageError(f"--bits {bits}: weights and activations have 8 or 16 bits")
    return bits


def parse_baud(text: str) -> int:
    """Return the baud rate of --baud. Raises UsageError unless it is a whole number above zero."""
    if not text.isdecimal() or int(text) == 0:
        raise UsageError(f"--baud {text}: expected a number above zero, or {AUTO_BAUD}")
    return int(text)


@dataclass(frozen=True)
class PrecisionOptions:
    """Options of commands that quantize."""

    bits: BitsOrAuto = "8"
    max_accuracy_drop: MaxAccuracyDrop = None
    min_sqnr: MinSqnr = None

    @property
    def chosen(self) -> int | Goal:
        """8 or 16, or for auto the goal of mixed precision.

        Raises UsageError for any other number of bits, and for a goal without mixed precision.
        """
        if self.min_sqnr is not None and isnan(self.min_sqnr):
            raise UsageError("--min-sqnr nan: expected a number of dB")
        if self.bits == AUTO_BITS:
            return Goal(self.max_accuracy_drop, self.min_sqnr)
        if self.bits not in {"8", "16"}:
            raise UsageError(f"--bits {self.bits}: expected 8, 16 or {AUTO_BITS}")
        if self.max_accuracy_drop is not None or self.min_sqnr is not None:
            raise UsageError(f"--max-accuracy-drop and --min-sqnr are goals of mixed precision: add --bits {AUTO_BITS}")
        return int(self.bits)


def check_seconds(option: str, seconds: float) -> float:
    """Return `seconds`. Raises UsageError unless they are finite and above zero."""
    if not 0 < seconds < inf:
        raise UsageError(f"{option} {seconds:g}: expected a number of seconds above zero")
    return seconds


def parse_kernels(texts: list[str] | None) -> tuple[tuple[int, str], ...]:
    """Return the 0-based layers of --kernel, each with its kernel or scheme. Raises UsageError for unknown ones."""
    known = [kernel.name for kernel in KERNELS] + [scheme.value for scheme in Scheme]
    named: dict[int, str] = {}
    for text in texts or ():
        number, _, name = text.partition("=")
        if not number.isdecimal() or int(number) < 1 or name not in known:
            raise UsageError(f"--kernel {text}: expected LAYER=NAME as in 3=direct, NAME one of {', '.join(known)}")
        if int(number) - 1 in named:
            raise UsageError(f"--kernel {text}: layer {number} is named twice")
        named[int(number) - 1] = name
    return tuple(sorted(named.items()))


def mlperf_of(protocol: HostProtocol, model: str | None, byte_scale: float | None, copies: int) -> Mlperf | None:
    """Return the choices of MLPerf's protocol, None for ours.

    Raises UsageError for options without their protocol; see `Mlperf.check`.
    """
    if protocol is HostProtocol.MLPERF:
        if model is None:
            raise UsageError("--host-protocol mlperf needs --mlperf-model: kws01, ic01, vww01 or a name of your own")
        mlperf = Mlperf(model, byte_scale)
        mlperf.check(copies)
        return mlperf
    if model is not None or byte_scale is not None:
        raise UsageError("--mlperf-model and --mlperf-byte-scale need --host-protocol mlperf")
    return None
