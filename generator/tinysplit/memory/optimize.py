"""Memory layout of a board: fused layers and moved tensors where they make the arena smaller."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from tinysplit.boards.board import Board
from tinysplit.common.choices import Optimize
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.memory.fusion_search import fuse_layers, smallest_subset
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.memory.layout import BoardMemory, Schedule, TensorMove
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph

_MOST_PLANS = 32  # of boards that are kept
NO_NAMES: Mapping[int, str] = MappingProxyType({})


def plan_memory(
    table: CycleTable,
    graph: Graph,
    widths: BitWidths,
    board: Board,
    steps: Sequence[PlanStep],
    ram_bytes: int,
    optimize: Optimize,
    named: Mapping[int, str] = NO_NAMES,
    index: int = 0,
    *,
    is_alone: bool = False,
    small: frozenset[int] = frozenset(),
) -> BoardMemory:
    """Return the memory layout of `board`, which runs `steps`.

    `named` requests a kernel or a scheme by its name for some layers (by index). The arena may be larger than
    `ram_bytes`; the caller checks that. `index` is that of the board, from 0; it `is_alone` if no other has a layer.
    The layers `small` have their smaller kernels (`split/evaluate/kernels.py`).

    Layers are fused where that makes the arena smaller. Tensors move where the arena would not fit otherwise, or, for
    Optimize.RAM, wherever that makes it smaller.
    """
    choice = KernelChoice(table, graph, widths, board, index=index, is_alone=is_alone).known
    small &= {step.item for step in steps if step.kind is StepKind.RUN}
    return _planned(choice, tuple(steps), ram_bytes, optimize, tuple(named.items()), small)


@lru_cache(_MOST_PLANS)
def _planned(
    choice: KernelChoice,
    steps: Sequence[PlanStep],
    ram_bytes: int,
    optimize: Optimize,
    named: Sequence[tuple[int, str]],
    small: frozenset[int],
) -> BoardMemory:
    """Return the layout; the same one for equal plans, which a split and its reasons make several times."""
    names, core = dict(named), choice.board.device.core
    runs = [step.item for step in steps if step.kind is StepKind.RUN]
    kernels = {number: choice.of_goal(number, optimize, names.get(number), is_small=number in small) for number in runs}
    separate = Schedule(choice.graph, choice.widths, steps, kernels)
    schedule = separate if choice.graph.is_distributed else fuse_layers(choice.table, separate, core, optimize)
    if optimize is Optimize.RAM:
        ram_bytes = 0
    if schedule.size_bytes <= ram_bytes:
        return schedule.memory()
    both = (_with_moves(each, ram_bytes) for each in (schedule, separate))  # with moves, a fused step may need more
    return min(both, key=lambda each: max(each.size_bytes, ram_bytes)).memory()


def _with_moves(schedule: Schedule, wanted_bytes: int) -> Schedule:
    def build(moves: Sequence[TensorMove]) -> Schedule:
        return replace(schedule, moves=tuple(sorted(moves)))

    return build(smallest_subset(_all_moves(schedule), build, wanted_bytes))


def _all_moves(schedule: Schedule) -> list[TensorMove]:
    """Return a move of each input before every layer, the largest tensors first.

    In a distributed network, tensors that cross stay: they may be under way.
    """
    crossing = {
        step.tensor for step in schedule.steps if step.kind is not StepKind.RUN and schedule.graph.is_distributed
    }
    moves = {
        TensorMove(step, source)
        for layer, step in schedule.run_steps.items()
        for source in schedule.graph.predecessors[layer]
        if source not in {*schedule.fused, *schedule.shared, *schedule.holders, *crossing}
    }
    return sorted(moves, key=lambda move: (-schedule.graph.size(move.tensor), move))
