"""`tinysplit explore`: networks on many sets of boards."""

from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tinysplit.cli import completion
from tinysplit.cli.basic_options import Force, FrontPage, Json, Models, emit, messages, wrote
from tinysplit.cli.option import option
from tinysplit.cli.options import check_bits
from tinysplit.cli.search_options import SearchOptions, flattened
from tinysplit.common.choices import ALL_BOARDS, SHORT_BITS, Slices
from tinysplit.common.errors import INTERRUPTED, UsageError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.common.progress import reading
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.axes import DEFAULT_AXES, Axis
from tinysplit.explore.goal import N_BEST, Ranked, RankingGoal
from tinysplit.settings.boards_and_links import BAUD, BOARD, MAX_BOARDS
from tinysplit.settings.costs import MAX_PRICE, PRICES
from tinysplit.settings.fixed_point import BITS
from tinysplit.settings.search import AXIS, BEST, LARGEST, OBJECTIVE, SCHEDULER, SLICES, TIME_LIMIT, TOTAL_TIME, WORKERS

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
Prices = Annotated[Path | None, option(PRICES)]
Workers = Annotated[int | None, option(WORKERS)]
Scheduler = Annotated[str | None, option(SCHEDULER)]


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(SearchOptions):
    """Options of an exploration: those of a search, and what is combined."""

    board: Annotated[
        list[str],
        option(
            BOARD, "Board type to choose from, or `all`. Repeat it for every type.", autocompletion=completion.boards
        ),
    ]
    max_boards: Annotated[int, option(MAX_BOARDS)] = 2
    baud: Annotated[
        list[int] | None,
        option(
            BAUD,
            "Baud rate of the links; by default the highest that all boards of a set make, up to 4000000. Repeat it to "
            "compare several.",
        ),
    ] = None
    bits: Annotated[
        list[int] | None, option(BITS, "Bit width of weights and activations: 8 or 16. Repeat it to compare both.")
    ] = None
    objective: Annotated[
        Ranked | None,
        option(
            OBJECTIVE,
            "Rank sets of boards in two phases, analytical bounds and simulation, in place of a Pareto front.",
        ),
    ] = None
    best: Annotated[int | None, option(BEST, BEST.help.format(N_BEST))] = None
    axis: Annotated[list[Axis] | None, option(AXIS)] = None
    largest: Annotated[bool, option(LARGEST)] = False
    max_price: Annotated[float | None, option(MAX_PRICE)] = None
    slices: Annotated[Slices | None, option(SLICES)] = None
    time_limit: Annotated[float, option(TIME_LIMIT, "Time limit per set of boards in seconds.")] = 10.0
    total_time: Annotated[float | None, option(TOTAL_TIME)] = None

    def space(self, models: tuple[str, ...]) -> "Space":
        """Return all combinations for networks given by their SHA-256. Raises UsageError or InputError for none."""
        from tinysplit.boards.board_files import board_names
        from tinysplit.boards.catalog import load_all
        from tinysplit.explore.candidates import Space

        return Space(
            models=models,
            boards=load_all(board_names() if ALL_BOARDS in self.board else self.board),
            max_boards=self.max_boards,
            bauds=tuple(dict.fromkeys(self.baud or ())),
            bits=tuple(dict.fromkeys(map(check_bits, self.bits or [CostSettings.bits]))),
        )

    def request(self, graphs: tuple["Graph", ...], prices: Path | None) -> "ExploreRequest":
        """Return what is asked for. Raises UsageError for options that contradict each other."""
        from tinysplit.calibration.conditions import table_for
        from tinysplit.explore.prices import read_prices
        from tinysplit.explore.request import ExploreRequest, check_asked

        check_asked(self.axis or (), self.objective)
        if self.best and not self.objective:
            raise UsageError(f"{BEST} is the length of a ranking: it needs {OBJECTIVE}")
        space = self.space(tuple(graph.sha256 for graph in graphs))
        known_prices = read_prices(prices, space.boards) if prices else None
        max_price = inf if self.max_price is None else self.max_price
        return ExploreRequest(
            table=table_for(space.boards, self.cost_table),
            graphs=graphs,
            space=space,
            goal=RankingGoal(self.settings(), self.objective, known_prices, max_price),
            axes=tuple(dict.fromkeys(self.axis or DEFAULT_AXES)),
            n_best=self.best or N_BEST,
            time_limit_s=self.time_limit,
            total_limit_s=inf if self.total_time is None else self.total_time,
            asks_largest=self.largest,
            slices=self.slices,
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
    from tinysplit.context import reduced_by_file
    from tinysplit.explore.exploration import explore as explore_space
    from tinysplit.explore.exploration import journal_name
    from tinysplit.explore.report.tables import progress
    from tinysplit.explore.workers import DaskCluster, LocalProcesses
    from tinysplit.onnx_import import import_model

    if scheduler and workers:
        raise UsageError(f"{WORKERS} sets the processes of this machine, {SCHEDULER} names a cluster: use one of them")
    check_output_file(html, force=force)
    with reading(messages, models):
        imported = (import_model(path, needs_weights=False) for path in models)
        graphs = tuple(reduced_by_file(graph, SHORT_BITS)[0] for graph in imported)
    request = options.request(graphs, prices)
    for note in request.space.notes():
        messages.print(note, highlight=False, soft_wrap=True)
    processes = DaskCluster(scheduler) if scheduler else LocalProcesses(workers)
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
        wrote(html)
    exploration.check()
    if exploration.stopped is Stopped.INTERRUPTED:
        raise typer.Exit(INTERRUPTED)
