"""`tinysplit explore`: networks on many sets of boards."""

from collections.abc import Sequence
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
from tinysplit.common.interrupts.signals import expected_signals
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.common.progress import reading
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.axes import DEFAULT_AXES, Axis
from tinysplit.explore.goal import N_BEST, Ranked, RankingGoal
from tinysplit.settings.boards_and_links import BAUD, BOARD, MAX_BOARDS
from tinysplit.settings.costs import MAX_PRICE, PRICES
from tinysplit.settings.fixed_point import BITS
from tinysplit.settings.result_files import OUT
from tinysplit.settings.search import AXIS, BEST, LARGEST, OBJECTIVE, SCHEDULER, SLICES, TIME_LIMIT, TOTAL_TIME, WORKERS
from tinysplit.settings.setting import Heading

if TYPE_CHECKING:
    from tinysplit.explore.candidates import Space
    from tinysplit.explore.exploration import Exploration
    from tinysplit.explore.request import ExploreRequest
    from tinysplit.network.graph import Graph

SERVE = "--serve"
SERVED_WITH = {"models", "board", "serve", "port", "out", "force"}
FIRST_BOARDS = ("nucleo_f401re", "nucleo_f401re")  # of the page, where none are named
Serve = Annotated[
    bool,
    typer.Option(SERVE, help="Serve a page on this machine, to choose boards and move the cut, until Ctrl-C."),
]
Port = Annotated[int, typer.Option(help=f"TCP port of {SERVE}; 0 takes a free one.", min=0, max=65535)]
SplitFilePath = Annotated[
    Path, option(OUT, f"Split file that the page of {SERVE} writes.", rich_help_panel=Heading.RESULT_FILES)
]
JournalPath = Annotated[
    Path | None,
    typer.Option(
        "--journal",
        "-j",
        help="File of the results so far, from which the same command continues; by default explore-HASH.jsonl, which "
        "differs for other boards and settings.",
        show_default=False,
        rich_help_panel=Heading.RESULT_FILES,
    ),
]
Prices = Annotated[Path | None, option(PRICES)]
Workers = Annotated[int | None, option(WORKERS)]
Scheduler = Annotated[str | None, option(SCHEDULER)]


@dataclass(frozen=True, kw_only=True)
class ExploreOptions(SearchOptions):
    """Options of an exploration: those of a search, and what is combined."""

    board: Annotated[
        list[str] | None,
        option(
            BOARD,
            f"Board type to choose from, or `all`. Repeat it for every type. With {SERVE}: the boards at first.",
            autocompletion=completion.boards,
        ),
    ] = None
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

        if not self.board:
            raise UsageError(f"name types of boards to choose from by {BOARD}, or all", setting=BOARD)
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
    context: typer.Context,
    models: Models,
    options: ExploreOptions,
    prices: Prices = None,
    journal: JournalPath = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    html: FrontPage = None,
    serve: Serve = False,
    port: Port = 0,
    out: SplitFilePath = Path("split.json"),
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find the Pareto front of latency, energy and price over many sets of boards, or rank them by an objective."""
    if serve:
        _check_served(context, models)
        _serve(models[0], options.board or FIRST_BOARDS, port, out, force=force)
        return
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


def _check_served(context: typer.Context, models: Sequence[Path]) -> None:
    """Raise UsageError for what the page does not take."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
    if others := [f"--{name.removeprefix('as_').replace('_', '-')}" for name in given if name not in SERVED_WITH]:
        raise UsageError(f"{SERVE} lets you choose on the page: leave {', '.join(others)} out")
    if len(models) > 1:
        raise UsageError(f"{SERVE} shows one network, not {len(models)}: name one")


def _serve(model: Path, boards: Sequence[str], port: int, out: Path, *, force: bool) -> None:
    """Serve the page of a network until Ctrl-C. Raises ToolError for a port that cannot be had."""
    from tinysplit.boards.board_files import board_name
    from tinysplit.cli.web.explorer import Explorer
    from tinysplit.cli.web.server import Server
    from tinysplit.onnx_import import import_model

    with reading(messages, [model]):
        graph = import_model(model, needs_weights=False)
    explorer = Explorer(graph, model, tuple(map(board_name, boards)), out, force)
    with Server(explorer.site, port, "choose another one with --port, or 0 for a free one") as server:
        typer.echo(server.address)
        messages.print("open it in a browser of this machine; Ctrl-C ends it", highlight=False)
        with expected_signals() as is_stopped:
            server.serve(is_stopped)
    messages.print("stopped")


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
