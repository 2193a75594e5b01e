"""Explorations: networks on many sets of boards, as `tinysplit explore` compares them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread
from types import NoneType
from typing import Annotated, Any, Self

from pydantic import Field
from typing_extensions import override

from tinysplit.api.arguments import for_scripts, takes, takes_settings, takes_some
from tinysplit.api.given import GivenBoards, GivenCosts, GivenModel, GivenPath, boards_of, load_model
from tinysplit.api.result import Result
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_boards
from tinysplit.calibration.conditions import table_for
from tinysplit.common.choices import ALL_BOARDS, SHORT_BITS, Slices
from tinysplit.common.errors import UsageError
from tinysplit.common.file_schema import in_range
from tinysplit.common.progress import Listener, console_of, reading
from tinysplit.common.settings_class import settings_class
from tinysplit.context import reduced_by_file
from tinysplit.costs.settings import Baud, Bits, CostSettings
from tinysplit.explore.axes import DEFAULT_AXES, Axis
from tinysplit.explore.candidates import Space
from tinysplit.explore.exploration import Exploration
from tinysplit.explore.exploration import explore as explore_space
from tinysplit.explore.goal import N_BEST, Prices, Ranked, RankingGoal
from tinysplit.explore.prices import prices_of, read_prices
from tinysplit.explore.report.tables import progress as shown_progress
from tinysplit.explore.report.to_json import exploration_json
from tinysplit.explore.request import ExploreRequest, check_asked
from tinysplit.explore.workers import LocalProcesses, ThisProcess, Workers
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.graph import Graph
from tinysplit.settings.boards_and_links import MAX_BOARDS
from tinysplit.settings.costs import MAX_PRICE
from tinysplit.settings.search import BEST, TIME_LIMIT, TOTAL_TIME, WORKERS

GivenPrices = Annotated[
    Prices | str | Path | None,
    takes("a dict of prices by board, or the path of a TOML file", Mapping, str, Path, NoneType),
]
GivenModels = Annotated[
    GivenModel | Sequence[GivenModel],
    takes_some("a network, or a list of networks: paths of files, or what load_model returns", str, Path, Graph),
]


@dataclass(frozen=True)
class ExploredSet:
    """A set of boards with its split: seconds, joules an inference, watts; None where currents are not known.

    On a Pareto front the figures are estimated, in a ranking simulated. `price` is the number of boards without prices.
    """

    model: str
    bits: int
    boards: tuple[str, ...]
    baud: int | None  # None of a single board
    price: float
    latency_s: float
    period_s: float
    energy_j: float | None
    power_w: float | None
    assignment: tuple[int, ...]  # number of the board of each layer, from 1; empty where layers are divided
    is_proved: bool  # to be the best split of the set
    copies: tuple[int, ...] = ()  # numbers of the boards that have the whole network each
    placement: str = ""  # which layers are where, in words

    @classmethod
    def of(cls, model: str, bits: int, entry: Mapping[str, Any]) -> Self:
        """Return an entry of a front or a ranking, as `tinysplit explore --json` prints it."""
        same = ("baud", "price", "latency_s", "period_s", "energy_j", "power_w")
        return cls(
            model=model,
            bits=bits,
            boards=tuple(entry["boards"]),
            assignment=tuple(entry["assignment"]),
            copies=tuple(entry["copies"]),
            is_proved=entry["proved"],
            placement=entry["placement"],
            **{name: entry[name] for name in same},
        )


@dataclass(frozen=True)
class ExploreResult(Result):
    """The sets on the Pareto fronts, sorted by the axes, or the best sets of the rankings, best first.

    Those of each network and bit width come one after the other. `stopped` says why it ended early, by Ctrl-C or its
    time limit, None where it did not.
    """

    sets: tuple[ExploredSet, ...]
    n_candidates: int
    stopped: str | None
    exploration: Exploration = field(repr=False)

    @classmethod
    def of(cls, exploration: Exploration) -> Self:
        """Return an exploration as scripts get it."""
        stopped = exploration.stopped.value if exploration.stopped else None
        return cls(tuple(_sets(exploration)), exploration.n_candidates, stopped, exploration)

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit explore --json` prints."""
        return exploration_json(self.exploration)

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each set."""
        return [{**asdict(each), "boards": " + ".join(each.boards)} for each in self.sets]


@settings_class
@dataclass(frozen=True, kw_only=True)
class ExploreSettings:
    """What is combined, and what is asked for: Pareto fronts over `axes`, or with `ranked_by` the `n_best` best sets.

    `bauds` and `bits` replace those of CostSettings. `prices` are those of all types, or their TOML file. A set is
    solved within `time_limit_s`, everything within `total_time_s`.
    """

    max_boards: Annotated[int, in_range(MAX_BOARDS)] = 2  # in a set, which may have several of one type
    bauds: Sequence[Baud] = ()  # none: the highest that all boards of a set make
    bits: Annotated[Sequence[Bits], Field(min_length=1)] = (CostSettings.bits,)
    axes: Sequence[Axis] = ()  # none: latency, energy and price
    ranked_by: Ranked | None = None
    n_best: Annotated[int, in_range(BEST)] = N_BEST
    prices: GivenPrices = None
    max_price: Annotated[float, in_range(MAX_PRICE)] = inf
    time_limit_s: Annotated[float, in_range(TIME_LIMIT)] = ExploreRequest.time_limit_s
    total_time_s: Annotated[float, in_range(TOTAL_TIME)] = inf
    slices: Slices | None = None  # how layers may be divided over the boards of a set: as in `Search`

    def request(
        self, table: CycleTable, graphs: Sequence[Graph], boards: tuple[Board, ...], settings: CostSettings
    ) -> ExploreRequest:
        """Return the request of an exploration. Raises UsageError and InputError as `explore` does."""
        check_asked(self.axes, self.ranked_by)
        bauds, bits = (tuple(dict.fromkeys(values)) for values in (self.bauds, self.bits))
        models = tuple(graph.sha256 for graph in graphs)
        return ExploreRequest(
            table=table,
            graphs=tuple(graphs),
            space=Space(models, boards, self.max_boards, bauds, bits),
            goal=RankingGoal(settings, self.ranked_by, _prices(self.prices, boards), self.max_price),
            axes=tuple(dict.fromkeys(self.axes)) or DEFAULT_AXES,
            n_best=self.n_best,
            time_limit_s=self.time_limit_s,
            total_limit_s=self.total_time_s,
            slices=self.slices,
        )


@for_scripts
def explore(
    models: GivenModels,
    boards: GivenBoards | None = None,
    exploring: Annotated[ExploreSettings, takes_settings(ExploreSettings)] = ExploreSettings(),
    settings: GivenCosts = CostSettings(),
    *,
    workers: Annotated[int, in_range(WORKERS)] = 1,
    journal: GivenPath | None = None,
    cost_table: GivenPath | None = None,
    progress: Listener | None = None,
) -> ExploreResult:
    """Compare networks on all sets of boards of some types, as `tinysplit explore` does; by default, or "all", all.

    With a `journal`, a call with the same arguments continues there. Several `workers` are processes, which import the
    script again: guard what it does by `if __name__ == "__main__"`. `cost_table` is a file of `tinysplit calibrate`.
    For the main thread, as it handles Ctrl-C.

    Raises CheckFailedError where no set is feasible, UsageError for arguments that make no sense, InputError for
    networks, prices and journals that cannot be used, and where energy is asked for and currents are not known;
    ToolError where another process uses the journal, or workers always die.
    """
    if current_thread() is not main_thread():
        raise UsageError("explore handles Ctrl-C: call it in the main thread")
    every = (models,) if isinstance(models, str | Path | Graph) else models
    if not every:
        raise UsageError("models is empty: name a network")
    console = console_of(progress)
    with reading(console, [each.name if isinstance(each, Graph) else each for each in every]):
        given = (each if isinstance(each, Graph) else load_model(each) for each in every)
        graphs = [reduced_by_file(graph, SHORT_BITS)[0] for graph in given]
    types = _types(boards)
    request = exploring.request(table_for(types, cost_table), graphs, types, settings)
    for note in request.space.notes():
        console.print(note, highlight=False, soft_wrap=True)
    with _journal_path(journal) as path, shown_progress(console) as show:
        request = request.with_known_energy(console, axes_are_chosen=bool(exploring.axes))
        exploration = explore_space(request, path, _workers(workers), show)
    exploration.check()
    return ExploreResult.of(exploration)


def _types(given: GivenBoards | None) -> tuple[Board, ...]:
    every = (given,) if isinstance(given, str | Path | Board) else given
    return load_boards() if every is None or ALL_BOARDS in every else boards_of(every)


@contextmanager
def _journal_path(journal: str | Path | None) -> Iterator[Path]:
    """Yield the path of the journal, of one that nobody asked for in a temporary folder."""
    if journal is not None:
        yield Path(journal)
        return
    with TemporaryDirectory() as folder:
        yield Path(folder) / "journal.jsonl"


def _workers(count: int) -> Workers:
    return ThisProcess() if count == 1 else LocalProcesses(count)


def _prices(given: Prices | str | Path | None, boards: Sequence[Board]) -> Prices | None:
    if given is None:
        return None
    return prices_of(given, boards, "prices") if isinstance(given, Mapping) else read_prices(Path(given), boards)


def _sets(exploration: Exploration) -> Iterator[ExploredSet]:
    data = exploration_json(exploration)
    for group in data.get("fronts") or data.get("rankings") or ():
        for entry in group.get("points") or group.get("best") or ():
            yield ExploredSet.of(group["model"]["name"], group["bits"], entry)
