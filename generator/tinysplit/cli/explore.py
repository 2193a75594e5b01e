"""`tinysplit explore`: its options, and what becomes of them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tinysplit.boards.catalog import board_names, load_board
from tinysplit.cli.options import Every, Json, check_bits, check_time_limit, emit
from tinysplit.common.errors import UsageError
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.explore.candidates import Space
from tinysplit.explore.exploration import explore as explore_space
from tinysplit.explore.prices import read_prices
from tinysplit.explore.report import print_exploration, progress
from tinysplit.explore.workers import DaskCluster, LocalProcesses
from tinysplit.onnx_import import import_model

ALL = "all"


def explore(
    models: Annotated[list[Path], typer.Argument(help="Trained networks, ONNX files.")],
    boards_from: Annotated[str, typer.Option(help="Boards to choose from, names with commas between, or `all`.")],
    max_boards: Annotated[int, typer.Option(help="At most so many boards a set.", min=1)] = 2,
    baud: Annotated[list[int] | None, typer.Option(help="A baud rate of the links; once for each.", min=1)] = None,
    bits: Annotated[list[int] | None, typer.Option(help="8 or 16 bits of weights and values; once for each.")] = None,
    every: Every = None,
    prices: Annotated[
        Path | None, typer.Option(help="A TOML file with a price a board; without it their number counts.")
    ] = None,
    journal: Annotated[
        Path, typer.Option("--journal", "-j", help="Keeps what is found; the same command goes on where it stopped.")
    ] = Path("explore.jsonl"),
    workers: Annotated[
        int | None, typer.Option(help="Processes on this machine; as many as it has processors if absent.", min=1)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="A Dask scheduler (tcp://host:8786) whose workers do the work.")
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds that the front of one set of boards may take.")] = 10.0,
    as_json: Json = False,
) -> None:
    """Find the best compromises of latency, energy and price over many sets of boards."""
    messages = Console(stderr=True)
    if scheduler and workers:
        raise UsageError("--workers is for this machine, --scheduler for a cluster: give one of them")
    names = board_names() if boards_from == ALL else [name.strip() for name in boards_from.split(",")]
    known = tuple(map(load_board, names))
    asked_prices = read_prices(prices, known) if prices else None
    graphs = tuple(map(import_model, models))
    space = Space(
        tuple(graph.sha256 for graph in graphs),
        known,
        max_boards,
        tuple(dict.fromkeys(baud or [CostSettings().baud])),
        tuple(dict.fromkeys(map(check_bits, bits or [8]))),
    )
    for note in space.notes():
        messages.print(note, highlight=False, soft_wrap=True)
    settings = CostSettings(frame_period_s=every or 0.0)
    limit_s = check_time_limit(time_limit)
    crew = DaskCluster(scheduler) if scheduler else LocalProcesses(workers)
    with progress(messages) as show:
        exploration = explore_space(graphs, space, settings, asked_prices, journal, crew, limit_s, show)
    emit(as_json, exploration.to_json(), lambda console: print_exploration(exploration, console))
    exploration.check()
