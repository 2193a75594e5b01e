"""What would make a split faster: other links, more flash, another board."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tinysplit.boards.board import Board
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.planned_split import PlacedNetwork
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.solution import Placement

TIMES = 2
LEAST_GAIN = 0.01  # relative


def faster_with(
    table: CycleTable,
    graph: Graph,
    boards: Sequence[Board],
    settings: CostSettings,
    placement: Placement,
    value: float,
    best_on: Callable[[Sequence[Board]], float],
) -> Iterator[tuple[str, float]]:
    """Yield changes that improve the objective `value` of a split, with what it is then: seconds or joules.

    The same placement with links of twice the rate that `settings` have, and on boards of twice the flash; and with
    another board of the last kind the placement that a search finds, of which `best_on` returns the objective.
    """

    def of_placement(boards: Sequence[Board], settings: CostSettings) -> float:
        placed = PlacedNetwork.of(graph, BitWidths.of(graph, settings.bits), len(boards), placement)
        problem = make_problem(table, placed.graph, boards, settings, placed.widths)
        return evaluate(problem, placed.assignments[0]).value

    bauds = {settings.baud or 0, *(link.baud or 0 for link in settings.links)}
    faster = replace(
        settings,
        baud=TIMES * (settings.baud or 0),
        links=tuple(link if link.baud is None else replace(link, baud=TIMES * link.baud) for link in settings.links),
    )
    another = (*boards, boards[-1])
    changes: list[tuple[str, Callable[[], float]]] = [(f"another {boards[-1].name}", lambda: best_on(another))]
    if len(placement.assignments) == 1:
        changes = [
            (f"links at {TIMES * max(bauds)} baud", lambda: of_placement(boards, faster)),
            (f"{TIMES} times the flash", lambda: of_placement([_with_flash(board) for board in boards], settings)),
            *changes,
        ]
    for text, find in changes:
        try:
            changed = find()
        except TinysplitError:  # a rate that UARTs cannot make, or boards that cannot be wired
            continue
        if changed < value * (1 - LEAST_GAIN):
            yield text, changed


def _with_flash(board: Board) -> Board:
    flash = board.device.flash
    larger = replace(flash, size_bytes=TIMES * flash.size_bytes)
    return replace(board, device=replace(board.device, flash=larger))
