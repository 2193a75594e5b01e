"""`tinysplit split`, `pareto` and `arrivals`: which board runs which layers, and what comes of it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tinysplit import pipeline
from tinysplit.cli.options import (
    Baud,
    Bits,
    BitsPerByte,
    BoardNames,
    Every,
    HostTransfers,
    Json,
    LinkOption,
    MaxEnergy,
    MaxLatency,
    MaxPeriod,
    Model,
    ObjectiveOption,
    OptimizeOption,
    Paper,
    PeriodOption,
    SolverOption,
    TimeLimit,
    UseAll,
    check_time_limit,
    cost_settings,
    emit,
)
from tinysplit.kernels import Optimize
from tinysplit.onnx_import import import_model
from tinysplit.project.split_file import read_split, write_split
from tinysplit.split.pareto import DEFAULT_FRONT_LIMIT_S, Against
from tinysplit.split.problem import Objective
from tinysplit.split.report.arrivals import print_arrivals
from tinysplit.split.report.front import print_front
from tinysplit.split.report.split import print_split
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S
from tinysplit.split.solvers.dispatch import AUTO

messages = Console(stderr=True)


def split(
    model: Model,
    board: BoardNames,
    out: Annotated[Path, typer.Option("--out", "-o", help="The split file to write.")] = Path("split.json"),
    bits: Bits = 8,
    baud: Baud = 115200,
    bits_per_byte: BitsPerByte = None,
    link: LinkOption = None,
    host_transfers: HostTransfers = False,
    optimize: OptimizeOption = Optimize.CYCLES,
    objective: ObjectiveOption = Objective.LATENCY,
    period: PeriodOption = None,
    max_latency: MaxLatency = None,
    max_period: MaxPeriod = None,
    max_energy: MaxEnergy = None,
    every: Every = None,
    use_all: UseAll = None,
    paper: Paper = False,
    solver: SolverOption = AUTO,
    time_limit: TimeLimit = DEFAULT_TIME_LIMIT_S,
    as_json: Json = False,
) -> None:
    """Decide which board runs which layers."""
    settings = cost_settings(
        len(board),
        bits=bits,
        baud=baud,
        bits_per_byte=bits_per_byte,
        links=link,
        host_transfers=host_transfers,
        optimize=optimize,
        objective=objective,
        period=period,
        max_latency=max_latency,
        max_period=max_period,
        max_energy=max_energy,
        every=every,
        use_all=use_all,
        paper=paper,
    )
    limit_s = check_time_limit(time_limit)
    report = pipeline.split_graph(import_model(model), board, settings, solver, messages, time_limit_s=limit_s)
    write_split(out, report.file)
    emit(as_json, report.to_json(), lambda console: print_split(report.solved, console))


def pareto(
    model: Model,
    board: BoardNames,
    against: Annotated[Against, typer.Option(help="What latency is weighed against.")],
    bits: Bits = 8,
    baud: Baud = 115200,
    link: LinkOption = None,
    host_transfers: HostTransfers = False,
    optimize: OptimizeOption = Optimize.CYCLES,
    period: PeriodOption = None,
    max_latency: MaxLatency = None,
    max_period: MaxPeriod = None,
    max_energy: MaxEnergy = None,
    every: Every = None,
    use_all: UseAll = None,
    solver: SolverOption = AUTO,
    time_limit: TimeLimit = DEFAULT_FRONT_LIMIT_S,
    as_json: Json = False,
) -> None:
    """Find all best compromises of latency against energy or throughput."""
    settings = cost_settings(
        len(board),
        bits=bits,
        baud=baud,
        links=link,
        host_transfers=host_transfers,
        optimize=optimize,
        period=period,
        max_latency=max_latency,
        max_period=max_period,
        max_energy=max_energy,
        every=every,
        use_all=use_all,
    )
    limit_s = check_time_limit(time_limit)
    front = pipeline.pareto_front(import_model(model), board, settings, against, solver, messages, time_limit_s=limit_s)
    emit(as_json, front.to_json(), lambda console: print_front(front, console))


def arrivals(
    model: Model,
    split_file: Annotated[Path, typer.Option("--split", help="The file that `tinysplit split` wrote.")],
    frame_rate: Annotated[float, typer.Option(help="So many inputs come a second, evenly.")],
    count: Annotated[int, typer.Option(help="So many inputs come.", min=1)] = 50,
    as_json: Json = False,
) -> None:
    """Simulate inputs at a frame rate: through a split, and whole networks on whichever board is free."""
    report = pipeline.arrivals(import_model(model), read_split(split_file), frame_rate, count)
    emit(as_json, report.to_json(), lambda console: print_arrivals(report, console))
