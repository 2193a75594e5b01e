"""The command line: one command a stage, and `run` for all of them.

Results go to stdout (tables, or JSON with --json), messages and progress to stderr. Exit codes: 0 good, 1 a check
failed, 2 usage, 3 bad input, 4 tool or hardware, 130 interrupted.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from tinysplit import pipeline
from tinysplit.boards.catalog import boards_to_json, load_boards, print_boards
from tinysplit.build.report import print_build
from tinysplit.cli.explore import explore
from tinysplit.cli.options import (
    Baud,
    BitsOrAuto,
    BoardNames,
    CalibrationCount,
    Every,
    HostTransfers,
    Json,
    KernelOption,
    LinkOption,
    MaxDrop,
    MaxEnergy,
    MaxLatency,
    MaxPeriod,
    MinSnr,
    Model,
    ObjectiveOption,
    OptimizeOption,
    PeriodOption,
    SamplesFile,
    SolverOption,
    TimeLimit,
    UseAll,
    bits_or_goal,
    check_bits,
    check_time_limit,
    cost_settings,
    emit,
    parse_kernels,
)
from tinysplit.cli.quantize import quantize
from tinysplit.cli.split import arrivals, pareto, split
from tinysplit.common.errors import INTERRUPTED, TinysplitError, ToolError
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.kernels import Optimize
from tinysplit.network.analyze import analyze as analyze_graph
from tinysplit.network.analyze import print_analysis
from tinysplit.onnx_import import import_model
from tinysplit.project.manifest import Project
from tinysplit.project.report import print_project
from tinysplit.quantize.mixed_precision.bit_allocation import Goal
from tinysplit.reproduce.report import print_reproduction
from tinysplit.reproduce.tables import reproduce as reproduce_tables
from tinysplit.split.problem import Objective
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S
from tinysplit.split.solvers.dispatch import AUTO
from tinysplit_hil.tables import print_measurement

messages = Console(stderr=True)


class _ErrorsAsLines(TyperGroup):
    """Turns every error of ours into one line on stderr and its exit code."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 (typer's own signature)
        try:
            return super().invoke(ctx)
        except TinysplitError as error:
            _print_error(str(error))
            raise typer.Exit(error.exit_code) from None
        except BrokenPipeError:
            raise  # typer ends quietly when nobody reads on
        except OSError as error:  # a full disk, a folder that cannot be written, a program that cannot be started
            _print_error(f"{error.filename or 'the output'}: {error.strerror or error}")
            raise typer.Exit(ToolError.exit_code) from None
        except KeyboardInterrupt:
            messages.print("interrupted")
            raise typer.Exit(INTERRUPTED) from None


def _print_error(text: str) -> None:
    messages.print(f"error: {text}", style="red", markup=False, highlight=False, soft_wrap=True)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tinysplit {version('tinysplit')}")
        raise typer.Exit


app = typer.Typer(
    cls=_ErrorsAsLines,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    help="Split a trained CNN over several STM32 boards, write and build their firmware, and measure it.",
)


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    pass


Folder = Annotated[Path, typer.Argument(help="A folder made by `tinysplit generate`.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="The folder to generate into (new, empty or generated before).")]
RigSpec = Annotated[
    str, typer.Option("--rig", help="`virtual`, or a TOML file that gives the serial port of every real board.")
]
Count = Annotated[int, typer.Option("--count", help="So many first samples run on the boards.", min=1)]


@app.command()
def boards(as_json: Json = False) -> None:
    """List the known boards with their memories, clock and UARTs."""
    known = load_boards()
    emit(as_json, {"boards": boards_to_json(known)}, lambda console: print_boards(known, console))


@app.command()
def analyze(
    model: Model,
    bits: Annotated[int, typer.Option(help="Bits of the quantized network that stands beside float32: 8 or 16.")] = 8,
    as_json: Json = False,
) -> None:
    """Show the layers of a network with their shapes, MACC, weights and activations."""
    analysis = analyze_graph(import_model(model), check_bits(bits))
    emit(as_json, analysis.to_json(), lambda console: print_analysis(analysis, console))


app.command()(split)
app.command()(pareto)
app.command()(explore)
app.command()(arrivals)
app.command()(quantize)


@app.command()
def reproduce(as_json: Json = False) -> None:
    """Compute the published tables of seeds 000 and 001, ours beside theirs."""
    reproduction = reproduce_tables()
    emit(as_json, reproduction.to_json(), lambda console: print_reproduction(reproduction, console))
    reproduction.check()


@app.command()
def generate(
    model: Model,
    split_file: Annotated[Path, typer.Option("--split", help="The file that `tinysplit split` wrote.")],
    samples: SamplesFile,
    out: Out,
    bits: BitsOrAuto = "8",
    max_drop: MaxDrop = Goal.max_drop,
    min_snr: MinSnr = Goal.min_snr_db,
    kernel: KernelOption = None,
    calibration_count: CalibrationCount = 100,
    as_json: Json = False,
) -> None:
    """Quantize the network and write one PlatformIO project a board."""
    chosen = bits_or_goal(bits, max_drop, min_snr)
    goal = chosen if isinstance(chosen, Goal) else None
    split_made = pipeline.read_split_for(split_file, None if isinstance(chosen, Goal) else chosen)
    graph = import_model(model)
    kernels = parse_kernels(kernel)
    project = pipeline.generate_folder(
        graph, split_made, samples, calibration_count, model, out, messages, goal, kernels
    )
    emit(as_json, project.model_dump(mode="json"), lambda console: print_project(project, out, console))


@app.command()
def build(folder: Folder, as_json: Json = False) -> None:
    """Build every board's project and hold its memories against the promise."""
    report = pipeline.build_folder(Project.read(folder), folder, messages)
    emit(as_json, report.to_json(), lambda console: print_build(report, console))
    report.check()


@app.command()
def measure(
    folder: Folder, samples: SamplesFile, rig: RigSpec = "virtual", count: Count = 20, as_json: Json = False
) -> None:
    """Run samples on the boards; print L, T and I estimated beside measured, and check every output."""
    report = pipeline.measure_folder(Project.read(folder), folder, samples, rig, count, messages)
    emit(as_json, report.to_json(), lambda console: print_measurement(report, console))
    report.check()


@app.command()
def run(
    model: Model,
    board: BoardNames,
    samples: SamplesFile,
    out: Out,
    calibration: Annotated[
        Path | None, typer.Option("--calibration", help="Samples for the Q formats; those of --samples if absent.")
    ] = None,
    bits: BitsOrAuto = "8",
    max_drop: MaxDrop = Goal.max_drop,
    min_snr: MinSnr = Goal.min_snr_db,
    baud: Baud = 115200,
    link: LinkOption = None,
    host_transfers: HostTransfers = False,
    optimize: OptimizeOption = Optimize.CYCLES,
    kernel: KernelOption = None,
    objective: ObjectiveOption = Objective.LATENCY,
    period: PeriodOption = None,
    max_latency: MaxLatency = None,
    max_period: MaxPeriod = None,
    max_energy: MaxEnergy = None,
    every: Every = None,
    use_all: UseAll = None,
    solver: SolverOption = AUTO,
    time_limit: TimeLimit = DEFAULT_TIME_LIMIT_S,
    calibration_count: CalibrationCount = 100,
    rig: RigSpec = "virtual",
    count: Count = 20,
    as_json: Json = False,
) -> None:
    """Do all of it: split, generate, build, measure."""
    chosen = bits_or_goal(bits, max_drop, min_snr)
    settings = cost_settings(
        len(board),
        bits=CostSettings.bits if isinstance(chosen, Goal) else chosen,
        baud=baud,
        links=link,
        host_transfers=host_transfers,
        optimize=optimize,
        kernels=kernel,
        objective=objective,
        period=period,
        max_latency=max_latency,
        max_period=max_period,
        max_energy=max_energy,
        every=every,
        use_all=use_all,
    )
    request = pipeline.RunRequest(
        model,
        tuple(board),
        settings,
        solver,
        samples,
        calibration,
        calibration_count,
        out,
        rig,
        count,
        check_time_limit(time_limit),
        chosen if isinstance(chosen, Goal) else None,
    )
    report = pipeline.run(request, messages)
    emit(as_json, report.to_json(), lambda console: pipeline.print_run(report, console))
    report.check()
