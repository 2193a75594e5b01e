"""What a network takes on boards, from its shapes, in milliseconds."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Self

from typing_extensions import override

from tinysplit.api.arguments import for_scripts
from tinysplit.api.given import GivenBoards, GivenModel, boards_of, graph_of
from tinysplit.api.result import Result
from tinysplit.boards.board import Board, check_baud
from tinysplit.common.choices import AUTO, InputSource
from tinysplit.common.file_schema import in_range
from tinysplit.common.progress import console_of
from tinysplit.context import reduced_by_file
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import Baud, Bits, CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.graph import Graph
from tinysplit.plan.planned_split import with_programs
from tinysplit.settings.search import TIME_LIMIT
from tinysplit.split.given import assignment_text, given_split, parse_assignment
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.problem import Objective
from tinysplit.split.solution import Split
from tinysplit.split.validate import check_boards

DEFAULT_TIME_LIMIT_S = 1.0


@dataclass(frozen=True)
class BoardUse:
    """What a board computes and takes: `layers` count from 1, `l_s` are the seconds of its layers.

    Of the whole program, with firmware and stack: `flash_bytes` at most, `ram_bytes` at least, as the firmware keeps
    copies of constants in RAM that would be idle.
    """

    name: str
    layers: tuple[int, ...]
    l_s: float
    flash_bytes: int
    ram_bytes: int


@dataclass(frozen=True)
class Prediction(Result):
    """The best split of a network over boards: times in seconds, joules an inference (None without an energy model).

    Latency and period are those of the generated firmware; a network on one board is the split without a cut. Copies of
    the network on several boards, which `tinysplit split --objective throughput` also tries, are left out.
    """

    latency_s: float
    period_s: float
    energy_j: float | None
    boards: tuple[BoardUse, ...]  # those that compute something, in the order in which they were given
    assignment: str  # layers and board of each run, from 1: "1-4:1,5-7:2"

    @classmethod
    def of(cls, split: Split, boards: Sequence[Board]) -> Self:
        """Return the figures of a split over these boards."""
        return cls(
            latency_s=split.i_s,
            period_s=split.period_s,
            energy_j=None if split.without_currents else split.energy_j,
            boards=tuple(_use(split, boards, index) for index in sorted(set(split.assignment))),
            assignment=assignment_text(split.assignment),
        )

    @override
    def to_json(self) -> dict[str, Any]:
        """Return all figures."""
        boards = [{**asdict(board), "layers": list(board.layers)} for board in self.boards]
        return {**asdict(self), "boards": boards}

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each board."""
        return [asdict(board) for board in self.boards]


@for_scripts
def predict(
    model: GivenModel,
    boards: GivenBoards,
    *,
    bits: Bits = CostSettings.bits,
    baud: Baud | None = CostSettings.baud,
    objective: Objective = Objective.LATENCY,
    input_source: InputSource = InputSource.HOST,
    assignment: str | None = None,
    time_limit_s: Annotated[float, in_range(TIME_LIMIT)] = DEFAULT_TIME_LIMIT_S,
) -> Prediction:
    """Return what the best split of a network over `boards`, or some of them, takes; weights and values have `bits`.

    With an `assignment`, as in `Search`, that split. Weights need not be trained: their values change 8-bit kernels of
    Cortex-M0+ a little. Raises CheckFailedError where the network or the assignment does not fit, UsageError for a
    `baud` that a board cannot generate and for arguments that make no sense.
    """
    graph, _ = reduced_by_file(graph_of(model, console_of(None)), bits)
    chosen = boards_of(boards)
    settings = CostSettings(bits=bits, baud=baud, objective=objective, input_source=input_source)
    return Prediction.of(predicted_split(graph, chosen, settings, assignment, time_limit_s), chosen)


def predicted_split(
    graph: Graph,
    boards: Sequence[Board],
    settings: CostSettings,
    assignment: str | None = None,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
) -> Split:
    """Return the best split of whole layers, or the given one, with its programs. The errors are those of `predict`."""
    check_boards(len(boards))
    if settings.baud:
        for board in boards:
            check_baud(board, board.link_uarts[0], settings.baud)
    problem = make_problem(shipped_table(), graph, boards, settings)
    n_links = settings.link_settings_on(boards).counts(boards)
    if assignment is None:
        found = solve_within_links(problem, n_links, AUTO, time_limit_s=time_limit_s)
    else:
        found = given_split(problem, parse_assignment(assignment, len(graph.layers), len(boards)), n_links)
    return with_programs(found, shipped_table(), graph, boards, settings)


def _use(split: Split, boards: Sequence[Board], index: int) -> BoardUse:
    board = boards[index]
    layers = [number for number, device in enumerate(split.assignment) if device == index]
    firmware = shipped_table().firmware[board.device.family]
    links_bytes = firmware.link_flash_bytes if split.cuts else 0
    return BoardUse(
        name=board.name,
        layers=tuple(number + 1 for number in layers),
        l_s=split.l_s_on(index),
        flash_bytes=split.figures.flash_bytes[index] + firmware.flash_bytes + links_bytes,
        ram_bytes=split.figures.ram_bytes[index] + firmware.ram_bytes,
    )
