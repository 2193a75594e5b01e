"""The plans of all copies of a network: of the one copy that a split is, or of a copy on each of several boards."""

from collections.abc import Sequence
from dataclasses import replace

from tinysplit.boards.board import Board, CodeMemory
from tinysplit.common.choices import Optimize
from tinysplit.costs.link_options import LinkSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.plan import Plan, make_plan
from tinysplit.split.problem import Assignment, Problem


def plan_copies(
    table: CycleTable,
    graph: Graph,
    bits: int | BitWidths,
    boards: Sequence[Board],
    problem: Problem,
    assignments: Sequence[Assignment],
    settings: LinkSettings,
    optimize: Optimize = Optimize.CYCLES,
    kernels: Sequence[tuple[int, str]] = (),
    code_memory: CodeMemory | None = None,
) -> tuple[Plan, ...]:
    """Return the plan of each copy of the network; several copies have one board each.

    Boards of one kind have the same plan but for their number. The errors are those of `make_plan`.
    """
    plans: dict[str, Plan] = {}  # of copies, by the name of their board
    for assignment in assignments:
        name = boards[assignment[0]].name
        if name not in plans:
            chosen = (settings, optimize, kernels, code_memory)
            plans[name] = make_plan(table, graph, bits, boards, problem, assignment, *chosen)
    return tuple(_on_board(plans[boards[assignment[0]].name], assignment) for assignment in assignments)


def _on_board(plan: Plan, assignment: Assignment) -> Plan:
    """Return the plan of one board for another one of its kind; a split has its assignment already."""
    if plan.assignment == assignment:
        return plan
    (board_plan,) = plan.boards
    index = assignment[0]
    own = replace(board_plan, index=index)
    streams = replace(plan.streams, assignment=assignment, boards={index: own.own_steps})
    return replace(plan, assignment=assignment, boards=(own,), streams=streams, output_board=index)
