"""`tinysplit explore`: networks on many sets of boards."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tinysplit.boards.catalog import board_names, load_all
from tinysplit.calibration.conditions import using_calibration
from tinysplit.cli.basic_options import Json, emit, messages
from tinysplit.cli.options import check_bits
from tinysplit.cli.search_options import SEARCH, SearchOptions, flattened
from tinysplit.common.errors import UsageError
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.explore.candidates import Space
from tinysplit.explore.exploration import explore as explore_space
from tinysplit.explore.exploration import journal_name
from tinysplit.explore.prices import read_prices
from tinysplit.explore.report import print_exploration, progress
from tinysplit.explore.workers import DaskCluster, LocalProcesses
from tinysplit.onnx_import import import_model

ALL = "all"

JournalPath = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        "-j",
        help="File of the results so far, from which the same command continues; by default explore-HASH.jsonl, which "
        "differs for other boards and settings.",
        show_default=False,
    ),
]


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(SearchOptions):
    """Options of an exploration: those of a search, and what is combined."""

    board: Annotated[
        list[str], typer.Option("--board", "-b", help="Board type to choose from, or `all`. Repeat it for every type.")
    ]
    max_boards: Annotated[int, typer.Option(help="Largest number of boards in a set.", min=1)] = 2
    baud: Annotated[
        list[int] | None, typer.Option(help="Baud rate of the links. Repeat it to compare several.", min=1)
    ] = None
    bits: Annotated[
        list[int] | None,
        typer.Option(help="Bit width of weights and activations: 8 or 16. Repeat it to compare both."),
    ] = None
    time_limit: Annotated[
        float, typer.Option(help="Time limit per set of boards in seconds.", rich_help_panel=SEARCH)
    ] = 10.0

    def space(self, models: tuple[str, ...]) -> Space:
        """Return all combinations for networks given by their SHA-256. Raises UsageError or InputError for none."""
        return Space(
            models=models,
            boards=load_all(board_names() if ALL in self.board else self.board),
            max_boards=self.max_boards,
            bauds=tuple(dict.fromkeys(self.baud or [CostSettings.baud])),
            bits=tuple(dict.fromkeys(map(check_bits, self.bits or [CostSettings.bits]))),
        )


@flattened
def explore(
    models: Annotated[list[Path], typer.Argument(help="Trained networks, ONNX files.")],
    options: ExploreOptions,
    prices: Annotated[
        Path | None,
        typer.Option(help="TOML file with the price of every board; without it, the number of boards is the price."),
    ] = None,
    journal: JournalPath = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of processes; by default one per processor.", min=1)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler (tcp://host:8786) whose workers are used.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the Pareto front of latency, energy and price over many sets of boards."""
    if scheduler and workers:
        raise UsageError("--workers sets the processes of this machine, --scheduler names a cluster: use one of them")
    graphs = tuple(map(import_model, models))
    space = options.space(tuple(graph.sha256 for graph in graphs))
    known_prices = read_prices(prices, space.boards) if prices else None
    for note in space.notes():
        messages.print(note, highlight=False, soft_wrap=True)
    settings, limit_s = options.settings(), options.time_limit_s
    if journal is None:
        journal = journal_name(space, settings, limit_s)
        messages.print(f"journal: {journal}", highlight=False, soft_wrap=True)
    processes = DaskCluster(scheduler) if scheduler else LocalProcesses(workers)
    with using_calibration(options.calibration, space.boards), progress(messages) as show:
        exploration = explore_space(graphs, space, settings, known_prices, journal, processes, limit_s, show)
    emit(as_json, exploration.to_json(), lambda console: print_exploration(exploration, console))
    exploration.check()
