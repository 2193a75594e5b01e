"""`tinysplit explore`: networks on many sets of boards."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tinysplit.cli.basic_options import Force, FrontPage, Heading, Json, Models, emit, messages
from tinysplit.cli.options import check_bits
from tinysplit.cli.search_options import SearchOptions, flattened
from tinysplit.common.choices import ALL_BOARDS
from tinysplit.common.errors import INTERRUPTED, UsageError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.common.progress import reading
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.axes import DEFAULT_AXES, Axis
from tinysplit.explore.goal import N_BEST, Ranked, RankingGoal

if TYPE_CHECKING:
    from tinysplit.explore.candidates import Space
    from tinysplit.explore.exploration import Exploration
    from tinysplit.explore.request import ExploreRequest
    from tinysplit.network.graph import Graph

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
Prices = Annotated[
    Path | None,
    typer.Option(
        help="TOML file with the price of every board; without it, the number of boards is the price.",
        rich_help_panel=Heading.COSTS,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(help="Number of processes; by default one per processor.", min=1, rich_help_panel=Heading.SEARCH),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="Address of a Dask scheduler (tcp://host:8786) whose workers are used.", rich_help_panel=Heading.SEARCH
    ),
]


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(SearchOptions):
    """Options of an exploration: those of a search, and what is combined."""

    board: Annotated[
        list[str],
        typer.Option(
            "--board",
            "-b",
            help="Board type to choose from, or `all`. Repeat it for every type.",
            rich_help_panel=Heading.BOARDS,
        ),
    ]
    max_boards: Annotated[
        int, typer.Option(help="Largest number of boards in a set.", min=1, rich_help_panel=Heading.BOARDS)
    ] = 2
    baud: Annotated[
        list[int] | None,
        typer.Option(
            help="Baud rate of the links. Repeat it to compare several.", min=1, rich_help_panel=Heading.BOARDS
        ),
    ] = None
    bits: Annotated[
        list[int] | None,
        typer.Option(
            help="Bit width of weights and activations: 8 or 16. Repeat it to compare both.",
            rich_help_panel=Heading.FIXED_POINT,
        ),
    ] = None
    objective: Annotated[
        Ranked | None,
        typer.Option(
            help="Rank sets of boards in two phases, analytical bounds and simulation, in place of a Pareto front.",
            rich_help_panel=Heading.SEARCH,
        ),
    ] = None
    best: Annotated[
        int | None,
        typer.Option(help=f"Length of the ranking. [default: {N_BEST}]", min=1, rich_help_panel=Heading.SEARCH),
    ] = None
    axis: Annotated[
        list[Axis] | None,
        typer.Option(
            help="What the Pareto front minimises. Repeat it for every axis. [default: latency, energy, price]",
            rich_help_panel=Heading.SEARCH,
        ),
    ] = None
    largest: Annotated[
        bool,
        typer.Option(
            "--largest",
            help="Also print the largest network (by MACC) that each set can run.",
            rich_help_panel=Heading.SEARCH,
        ),
    ] = False
    max_price: Annotated[
        float | None, typer.Option(help="Upper limit of the price of a set.", rich_help_panel=Heading.COSTS)
    ] = None
    time_limit: Annotated[
        float, typer.Option(help="Time limit per set of boards in seconds.", rich_help_panel=Heading.SEARCH)
    ] = 10.0
    total_time: Annotated[
        float | None,
        typer.Option(
            help="Time limit of the whole exploration in seconds; then the results so far are shown.",
            rich_help_panel=Heading.SEARCH,
        ),
    ] = None

    def space(self, models: tuple[str, ...]) -> "Space":
        """Return all combinations for networks given by their SHA-256. Raises UsageError or InputError for none."""
        from tinysplit.boards.board_files import board_names
        from tinysplit.boards.catalog import load_all
        from tinysplit.explore.candidates import Space

        return Space(
            models=models,
            boards=load_all(board_names() if ALL_BOARDS in self.board else self.board),
            max_boards=self.max_boards,
            bauds=tuple(dict.fromkeys(self.baud or [CostSettings.baud])),
            bits=tuple(dict.fromkeys(map(check_bits, self.bits or [CostSettings.bits]))),
        )

    def request(self, graphs: tuple["Graph", ...], prices: Path | None) -> "ExploreRequest":
        """Return what is asked for. Raises UsageError for options that contradict each other."""
        from tinysplit.explore.prices import read_prices
        from tinysplit.explore.request import ExploreRequest, check_asked

        check_asked(self.axis or (), self.objective)
        if self.best and not self.objective:
            raise UsageError("--best is the length of a ranking: it needs --objective")
        space = self.space(tuple(graph.sha256 for graph in graphs))
        known_prices = read_prices(prices, space.boards) if prices else None
        max_price = inf if self.max_price is None else self.max_price
        return ExploreRequest(
            graphs=graphs,
            space=space,
            goal=RankingGoal(self.settings(), self.objective, known_prices, max_price),
            axes=tuple(dict.fromkeys(self.axis or DEFAULT_AXES)),
            n_best=self.best or N_BEST,
            time_limit_s=self.time_limit,
            total_limit_s=inf if self.total_time is None else self.total_time,
            asks_largest=self.largest,
        )


@flattened
def explore(
    models: Models,
    options: ExploreOptions,
    prices: Prices = None,
    journal: JournalPath = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    html: FrontPage = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find the Pareto front of latency, energy and price over many sets of boards, or rank them by an objective."""
    from tinysplit.calibration.conditions import using_calibration
    from tinysplit.explore.exploration import explore as explore_space
    from tinysplit.explore.exploration import journal_name
    from tinysplit.explore.report.tables import progress
    from tinysplit.explore.workers import DaskCluster, LocalProcesses
    from tinysplit.onnx_import import import_model

    if scheduler and workers:
        raise UsageError("--workers sets the processes of this machine, --scheduler names a cluster: use one of them")
    check_output_file(html, force=force)
    with reading(messages, models):
        graphs = tuple(import_model(path, needs_weights=False) for path in models)
    request = options.request(graphs, prices)
    for note in request.space.notes():
        messages.print(note, highlight=False, soft_wrap=True)
    processes = DaskCluster(scheduler) if scheduler else LocalProcesses(workers)
    with using_calibration(options.cost_table, request.space.boards):
        request = request.with_known_energy(messages, axes_are_chosen=bool(options.axis))
        if journal is None:
            journal = journal_name(request)
            messages.print(f"journal: {journal}", highlight=False, soft_wrap=True)
        with progress(messages) as show:
            exploration = explore_space(request, journal, processes, show)
    _show(exploration, html, as_json=as_json)


def _show(exploration: "Exploration", html: Path | None, *, as_json: bool) -> None:
    """Print what was found, and write it as a page. Raises CheckFailedError for no feasible set."""
    from tinysplit.explore.report.page import exploration_page
    from tinysplit.explore.report.tables import print_exploration
    from tinysplit.explore.report.to_json import exploration_json
    from tinysplit.explore.stopping import Stopped

    data = exploration_json(exploration)
    emit(as_json, data, lambda console: print_exploration(exploration, console))
    if html:
        write_whole_file(html, exploration_page(data))
    exploration.check()
    if exploration.stopped is Stopped.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
