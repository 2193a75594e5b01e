"""Options that several commands share, what those of the splitting problem mean together, and how results go out."""

import json
from collections.abc import Callable
from math import inf, isfinite, isnan
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tinysplit.common.errors import UsageError
from tinysplit.common.protocol_limits import BITS_PER_BYTE
from tinysplit.costs.link_options import parse_links
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.kernels import KERNELS, Optimize, Scheme
from tinysplit.quantize.mixed_precision.bit_allocation import Goal
from tinysplit.split.problem import Objective, Period
from tinysplit.split.solve import AUTO, SOLVERS

AUTO_BITS = "auto"
Model = Annotated[Path, typer.Argument(help="The trained network, an ONNX file.")]
BoardNames = Annotated[
    list[str], typer.Option("--board", "-b", help="A board of `tinysplit boards`; once for each, in order.")
]
SamplesFile = Annotated[
    Path, typer.Option("--samples", "-s", help="Samples: an .npz file with `x` and optionally labels `y`.")
]
Bits = Annotated[int, typer.Option(help="Bits of weights and values: 8 or 16.")]
BitsOrAuto = Annotated[
    str, typer.Option("--bits", help="Bits of weights and values: 8, 16, or auto for each its own, as accuracy needs.")
]
MaxDrop = Annotated[
    float, typer.Option("--max-drop", help="auto: percentage points of accuracy that may be lost.", min=0)
]
MinSnr = Annotated[
    float, typer.Option("--min-snr", help="auto, samples without labels: dB before the softmax that have to stay.")
]
Baud = Annotated[int, typer.Option(help="Baud rate of the links between the boards.", min=1)]
BitsPerByte = Annotated[
    int | None, typer.Option(help="Bit times of a byte on a link: 10 for 8N1 (the default).", min=8, max=12)
]
LinkOption = Annotated[
    list[str] | None,
    typer.Option(
        "--link",
        help="A link that is not like the others, by the boards' numbers: 1-2:921600, 1-2:921600:half where both "
        "directions share the wire, 1-3:none where there is none (boards between pass on); once for each.",
    ),
]
HostTransfers = Annotated[
    bool,
    typer.Option("--host-transfers", help="Count the time in which the host gives the input and reads the output."),
]
OptimizeOption = Annotated[
    Optimize,
    typer.Option(
        help="What kernels are chosen for: cycles (tensors move only where nothing else makes them fit), or the least "
        "ram or flash, even where that is slower."
    ),
]
KernelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kernel",
        help="How a layer is computed, by its number: 3=planes for a kernel, 3=interleaved, 3=non-interleaved or "
        "3=1x1-non-interleaved for the fastest of a scheme; once for each.",
    ),
]
ObjectiveOption = Annotated[
    Objective,
    typer.Option(
        help="What is best in a split: the shortest time to an answer, the most answers a second, or the least energy."
    ),
]
PeriodOption = Annotated[
    Period | None,
    typer.Option(
        "--period",
        help="What the time between two answers is: load (the busiest board, the default), span (a board is taken from "
        "its first layer to its last), or what the published tables count (paper, the default with --paper) and "
        "improve on (old).",
    ),
]
MaxLatency = Annotated[
    float | None, typer.Option("--max-latency", help="Only splits that answer within so many seconds.")
]
MaxPeriod = Annotated[
    float | None, typer.Option("--max-period", help="Only splits with at most so many seconds between two answers.")
]
MaxEnergy = Annotated[
    float | None, typer.Option("--max-energy", help="Only splits that need at most so many joules an inference.")
]
Every = Annotated[
    float | None,
    typer.Option(
        "--every",
        help="Inputs come every so many seconds: splits have to keep up, and boards draw idle power in between; "
        "without it inputs come as fast as a split takes them.",
    ),
]
SolverOption = Annotated[
    str, typer.Option(help=f"How the split is found: {', '.join((AUTO, *SOLVERS))}; auto picks by size and objective.")
]
TimeLimit = Annotated[
    float, typer.Option("--time-limit", help="Seconds that the search may take; then the best split found is printed.")
]
UseAll = Annotated[
    bool | None,
    typer.Option(
        "--use-all/--use-any",
        help="Give every named board a layer, or let the best split leave some out (the default; --paper uses all).",
    ),
]
Paper = Annotated[
    bool,
    typer.Option("--paper", help="Cost the float32 network as the published tables do (Table 3's CpM, 8 bits a byte)."),
]
CalibrationCount = Annotated[
    int, typer.Option("--calibration-count", help="The Q formats are chosen on so many first samples.", min=1)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout in place of tables.")]


def emit(as_json: bool, data: dict[str, Any], show: Callable[[Console], None]) -> None:
    """Put a result on stdout: as JSON, or as `show` prints it."""
    if as_json:
        typer.echo(json.dumps(data, indent=2))
    else:
        show(Console())


def check_bits(bits: int) -> int:
    """Return `bits`; UsageError for anything but 8 and 16."""
    if bits not in {8, 16}:
        raise UsageError(f"--bits {bits}: weights and values have 8 or 16 bits")
    return bits


def bits_or_goal(bits: str, max_drop: float, min_snr_db: float) -> int | Goal:
    """Return 8, 16, or for auto what it has to keep; UsageError for anything else."""
    if isnan(min_snr_db):
        raise UsageError("--min-snr nan: name a number")
    if bits == AUTO_BITS:
        return Goal(max_drop, min_snr_db)
    if bits not in {"8", "16"}:
        raise UsageError(f"--bits {bits}: weights and values have 8 or 16 bits, or auto chooses")
    return int(bits)


def check_time_limit(seconds: float) -> float:
    """Return `seconds`; UsageError unless they are finite and above zero."""
    if not 0 < seconds < inf:
        raise UsageError(f"--time-limit {seconds:g}: name seconds above zero")
    return seconds


def parse_kernels(texts: list[str] | None) -> tuple[tuple[int, str], ...]:
    """Return layers, from 0, and what is named for each; UsageError for anything that is no kernel or scheme."""
    known = [kernel.name for kernel in KERNELS] + [scheme.value for scheme in Scheme]
    named: dict[int, str] = {}
    for text in texts or ():
        number, _, name = text.partition("=")
        if not number.isdecimal() or int(number) < 1 or name not in known:
            raise UsageError(f"--kernel {text}: name a layer's number and one of {', '.join(known)}, as in 3=direct")
        if int(number) - 1 in named:
            raise UsageError(f"--kernel {text}: layer {number} is named twice, name it once")
        named[int(number) - 1] = name
    return tuple(sorted(named.items()))


def cost_settings(
    n_boards: int,
    *,
    bits: int,
    baud: int,
    bits_per_byte: int | None = None,
    links: list[str] | None = None,
    host_transfers: bool = False,
    optimize: Optimize = Optimize.CYCLES,
    kernels: list[str] | None = None,
    objective: Objective = Objective.LATENCY,
    period: Period | None = None,
    max_latency: float | None = None,
    max_period: float | None = None,
    max_energy: float | None = None,
    every: float | None = None,
    use_all: bool | None = None,
    paper: bool = False,
) -> CostSettings:
    """Return what the options of a command say; UsageError where they contradict each other."""
    if paper and (use_all is False or bits_per_byte is not None or links or host_transfers):
        raise UsageError(
            "--paper uses every board, counts 8 bits a byte on links that are all alike, and no host: leave --use-any, "
            "--bits-per-byte, --link and --host-transfers out"
        )
    if every is not None and not (every > 0 and isfinite(every)):
        raise UsageError(f"--every {every:g}: name seconds above zero")
    return CostSettings(
        bits=check_bits(bits),
        baud=baud,
        bits_per_byte=bits_per_byte or BITS_PER_BYTE,
        objective=objective,
        use_all=paper if use_all is None else use_all,
        paper=paper,
        period=period,
        max_latency_s=_limit(max_latency),
        max_period_s=_limit(max_period),
        max_energy_j=_limit(max_energy),
        frame_period_s=every or 0.0,
        links=parse_links(links or (), n_boards),
        host_transfers=host_transfers,
        optimize=optimize,
        kernels=parse_kernels(kernels),
    )


def _limit(value: float | None) -> float:
    return inf if value is None else value
