"""Memory layout of boards: random networks and splits, fused layers, moved tensors."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from operator import add

import numpy as np
import pytest

from session.profiles import cases
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.choices import Optimize
from tinysplit.costs.link_options import LinkSettings
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.arena import Buffer
from tinysplit.memory.layout import BoardMemory, BufferId, Schedule, layer_ram_bytes
from tinysplit.memory.optimize import plan_memory
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.plan.plan import make_plan
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.memory import link_bytes
from tinysplit.split.problem import Problem

BOARDS = (load_board("nucleo_f401re"), load_board("nucleo_g071rb"))
M4 = BOARDS[0].device.core
PLENTY_BYTES = 1 << 20
DRIVER = LinkDriver.INTERRUPT  # given, so that its RAM is none that the arena could have


def random_network(rng: np.random.Generator) -> Graph:
    """Return a network with or without branches."""
    height, width = rng.integers(4, 14, 2).tolist()
    net = NetworkBuilder("random", Shape(height, width, int(rng.choice([1, 3, 4, 8]))))
    kinds = ["conv", "pointwise", "depthwise", "pool", "add", "concat"][: 6 if rng.integers(2) else 4]
    for kind in rng.choice(kinds, rng.integers(2, 9)).tolist():
        before, channels = net.value, net.shape.channels
        match kind:
            case "conv":
                net.conv(
                    int(rng.choice([2, 4, 8, 12, 16])), (3, 3), padded=min(net.shape[:2]) < 6 or bool(rng.integers(2))
                )
            case "pointwise":
                net.conv(int(rng.choice([4, 8, 16])))
            case "depthwise":
                net.depthwise((3, 3), stride=int(rng.integers(1, 3)))
            case "add":
                net.conv(channels, (3, 3)).conv(channels).add(before)
            case "concat":
                net.conv(4, (3, 3)).concat(before)
            case _ if min(net.shape[:2]) > 3:
                net.max_pool(2, 2)
    return net.average_pool().dense(5).graph()


def with_ram(problem: Problem, ram_bytes: Sequence[int]) -> Problem:
    devices = (replace(device, ram_bytes=ram) for device, ram in zip(problem.devices, ram_bytes, strict=True))
    return replace(problem, devices=tuple(devices))


@pytest.mark.parametrize("seed", range(cases(quick=3, full=20, nightly=300)))
@pytest.mark.parametrize("optimize", Optimize)
def test_the_arena_fits_the_estimate_of_the_split(seed: int, optimize: Optimize) -> None:
    rng = np.random.default_rng(seed)
    graph, settings = random_network(rng), CostSettings(optimize=optimize, link_driver=DRIVER)
    problem = make_problem(shipped_table(), graph, BOARDS, settings)
    assignment = tuple(rng.integers(0, 2, len(graph.layers)).tolist()) if seed % 3 else (0,) * len(graph.layers)
    arenas = evaluate(problem, assignment).ram_bytes
    promised = with_ram(problem, list(map(add, arenas, link_bytes(problem, assignment, arenas))))
    plan = make_plan(
        shipped_table(), graph, 8, BOARDS, promised, assignment, LinkSettings(115200, driver=DRIVER), optimize=optimize
    )
    for board in plan.boards:
        assert board.arena.size_bytes <= arenas[board.index]
        memory = board.memory
        widths = BitWidths.all(graph, 8)
        check(list(Schedule(graph, widths, board.steps, memory.kernels, memory.fused, memory.moves).buffers()), memory)


def check(buffers: Sequence[Buffer[BufferId]], memory: BoardMemory) -> None:
    """Check that live buffers are disjoint, or in-place as their leads allow."""
    offsets = memory.arena.offsets
    assert {buffer.key for buffer in buffers} == set(offsets)
    for one, other in itertools.combinations(buffers, 2):
        apart = (
            offsets[one.key] + one.size_bytes <= offsets[other.key]
            or offsets[other.key] + other.size_bytes <= offsets[one.key]
        )
        over = any(
            in_place.allows(offsets[b.key] - offsets[a.key])
            for a, b in ((one, other), (other, one))
            for key, in_place in a.in_place
            if key == b.key
        )
        assert one.last < other.first or other.last < one.first or apart or over


def run_all(graph: Graph) -> list[PlanStep]:
    return [PlanStep(StepKind.RUN, number, number) for number in range(len(graph.layers))]


def memory_of(graph: Graph, ram_bytes: int = PLENTY_BYTES, optimize: Optimize = Optimize.CYCLES) -> BoardMemory:
    return plan_memory(shipped_table(), graph, BitWidths.all(graph, 8), BOARDS[0], run_all(graph), ram_bytes, optimize)


def test_fusion_saves_the_tensor_between_two_layers() -> None:
    graph = NetworkBuilder("n", Shape(30, 30, 1)).conv(16, (3, 3), padded=False).max_pool(2, 2).average_pool().graph()
    memory = memory_of(graph)
    assert list(memory.fused) == [0]
    conv = memory.layer(graph, 0)
    scratch_bytes = memory.kernels[0].scratch_bytes(conv, Widths.all(8))
    assert memory.arena.size_bytes <= 30 * 30 + 14 * 14 * 16 + 2 * 28 * 16 + scratch_bytes
    assert memory.consumer(graph, 0) == 1
    assert memory.producer(graph, 1) == 0


def drifting() -> Graph:
    """Return a network whose in-place outputs begin a row and a pixel before their inputs, in every layer."""
    builder = NetworkBuilder("n", Shape(10, 10, 16))
    for _ in range(6):
        builder.conv(16, (3, 3))
    return builder.average_pool().graph()


@pytest.mark.slow
def test_tensors_move_only_where_the_arena_needs_it() -> None:
    graph = drifting()
    static = memory_of(graph)
    least = memory_of(graph, optimize=Optimize.RAM)
    assert static.moves == ()
    assert least.moves
    between = memory_of(graph, ram_bytes=static.arena.size_bytes - 4)
    assert 0 < len(between.moves) < len(least.moves)
    assert least.arena.size_bytes < between.arena.size_bytes < static.arena.size_bytes
    assert least.arena.size_bytes == max(
        layer_ram_bytes(graph, number, 8, kernel) for number, kernel in least.kernels.items()
    )


def test_offsets_follow_the_moves() -> None:
    memory = memory_of(drifting(), optimize=Optimize.RAM)
    move = memory.moves[0]
    assert memory.offset(move.tensor, move.step - 1) == memory.arena.offsets[BufferId(move.tensor)]
    assert memory.offset(move.tensor, move.step) == memory.arena.offsets[BufferId(move.tensor, moves=1)]
    assert memory.offset(NETWORK_INPUT, 0) == memory.arena.offsets[BufferId(NETWORK_INPUT)]


def test_the_network_input_is_live_before_the_first_step() -> None:
    graph = drifting()
    memory = memory_of(graph, optimize=Optimize.RAM)
    buffers = Schedule(graph, BitWidths.all(graph, 8), run_all(graph), memory.kernels, moves=memory.moves).buffers()
    assert all(buffer.first <= buffer.last for buffer in buffers)
    assert min(memory.moves).tensor != NETWORK_INPUT
