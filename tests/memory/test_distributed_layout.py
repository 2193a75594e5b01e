"""Memory of divided layers: no byte is lost before its last use, and plans take no more than their problems say."""

from dataclasses import dataclass, replace
from operator import add

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from models.distributed_networks import all_outputs, distributed, distributed_cases, quantized_randomly, random_inputs
from session.profiles import cases
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.choices import Optimize
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.layout import BoardMemory, BufferId
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.memory.shared_memory import unaligned_rows
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import Plan, make_plan
from tinysplit.slices.links import with_links
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.memory import link_bytes

G0 = load_board("nucleo_g071rb")
GARBAGE = 0xA5


def planned(parts: QuantizedGraph, n_boards: int, optimize: Optimize = Optimize.CYCLES) -> Plan:
    """Return the plan on boards that have the RAM which the problem says, and no more."""
    given_settings = CostSettings(optimize=optimize, link_driver=LinkDriver.INTERRUPT)
    graph, boards, widths = parts.graph, [G0] * n_boards, BitWidths.of_quantized(parts)
    own = with_links(given_settings, boards, range(n_boards), 0)
    problem = make_problem(shipped_table(), graph, boards, own, widths)
    arenas = evaluate(problem, graph.boards).ram_bytes
    limits = map(add, map(aligned, arenas), link_bytes(problem, graph.boards, arenas))
    devices = tuple(replace(each, ram_bytes=limit) for each, limit in zip(problem.devices, limits, strict=True))
    links = own.link_settings_on(boards)
    table, tight = shipped_table(), replace(problem, devices=devices)
    plan = make_plan(table, graph, widths, boards, tight, graph.boards, links, optimize=optimize)
    assert all(each.arena.size_bytes <= arenas[each.index] for each in plan.boards)
    return plan


def aligned(size_bytes: int) -> int:
    return -(-size_bytes // 4) * 4


@dataclass
class PlayedBoard:
    """A board that takes its steps in an arena of bytes: all that is read or sent is there, as long as it is in use."""

    graph: Graph
    memory: BoardMemory
    values: dict[int, IntArray]  # of all tensors

    def __post_init__(self) -> None:
        self.arena = np.zeros(self.memory.arena.size_bytes, np.uint8)
        if BufferId(NETWORK_INPUT) in self.memory.arena.offsets:
            self.write(NETWORK_INPUT, 0)

    def place(self, tensor: int, index: int) -> slice:
        begin = self.memory.offset(tensor, index)
        return slice(begin, begin + self.values[tensor].nbytes)

    def check(self, tensor: int, index: int) -> None:
        assert self.arena[self.place(tensor, index)].tobytes() == self.values[tensor].tobytes()

    def write(self, tensor: int, index: int) -> None:
        self.arena[self.place(tensor, index)] = np.frombuffer(self.values[tensor].tobytes(), np.uint8)

    def take(self, index: int, step: PlanStep) -> None:
        """What comes may be there at once, or as late as it is waited for."""
        for tensor in (move.tensor for move in self.memory.moves if move.step == index):
            self.check(tensor, index - 1)
            self.write(tensor, index)
        match step.kind:
            case StepKind.GRANT:
                self.arena[self.place(step.tensor, index)] = GARBAGE
            case StepKind.RECEIVE:
                self.write(step.tensor, index)
            case StepKind.SEND | StepKind.SENT:
                self.check(step.tensor, index)
            case StepKind.RUN:
                self.run(step.item, index)

    def run(self, number: int, index: int) -> None:
        if self.graph.layers[number].is_view:
            return
        for source in self.graph.predecessors[number]:
            self.check(source, index)
        self.write(number, index)
        scratch = self.memory.live[number].get(BufferId(number, is_scratch=True))
        if scratch:
            self.arena[slice(*scratch)] = GARBAGE


@settings(max_examples=cases(quick=40, full=150, nightly=5000))
@given(distributed_cases(), st.sampled_from(Optimize))
def test_all_that_is_read_or_sent_is_still_there(
    case: tuple[QuantizedGraph, Distributions, int], optimize: Optimize
) -> None:
    quantized, how, n_boards = case
    parts = distributed(quantized, how, n_boards)
    graph = parts.graph
    assume(not any(unaligned_rows(graph, BitWidths.of_quantized(parts))))
    x = random_inputs(quantized, 1, count=1)
    values = {NETWORK_INPUT: x, **dict(enumerate(all_outputs(parts, x).values()))}
    for board in planned(parts, n_boards, optimize).boards:
        played = PlayedBoard(graph, board.memory, values)
        for index, step in enumerate(board.steps):
            played.take(index, step)


def two_tiles(graph: Graph, *layers: Distribution) -> Plan:
    how = Distributions(layers, 0, 0)
    return planned(distributed(quantized_randomly(graph, 8, 0), how, 2), 2)


def rows(*sizes: int) -> Distribution:
    return Distribution.of_sizes(SliceAxis.ROWS, sizes)


def scratch_bytes(memory: BoardMemory) -> dict[int, int]:
    """Return the scratch memory of each layer that has some."""
    live = ((key, end - begin) for own in memory.live.values() for key, (begin, end) in own.items())
    return {key.tensor: size for key, size in live if key.is_scratch}


def test_rows_take_the_place_of_those_that_they_read() -> None:
    """Rows of layer 1 lie over those of the input, and rows of layer 2 over those of layer 1; board 2 has a halo."""
    net = NetworkBuilder("n", Shape(16, 8, 4)).conv(16).depthwise((3, 3), stride=2).conv(4)
    plan = two_tiles(net.graph(), rows(8, 8), rows(4, 4), rows(4, 4))
    row_bytes = 8 * 16
    for memory, n_rows in zip((board.memory for board in plan.boards), (8, 9), strict=True):
        assert memory.arena.size_bytes == n_rows * row_bytes + max(scratch_bytes(memory).values())


def test_rows_that_are_under_way_stay_where_they_are() -> None:
    """Board 2 sends its first row of layer 1, which layer 2 of board 1 reads: its own layer 2 begins after that row."""
    net = NetworkBuilder("n", Shape(16, 8, 4)).conv(16).depthwise((3, 3)).conv(4)
    plan = two_tiles(net.graph(), rows(8, 8), rows(8, 8), rows(8, 8))
    graph, board = plan.streams.graph, plan.boards[1]
    memory, row_bytes = board.memory, 8 * 16
    number = next(number for number in board.layers if graph.layers[number].kind == "depthwise_conv")
    (source,), run = graph.predecessors[number], board.steps.index(PlanStep(StepKind.RUN, number, number))
    assert memory.offset(number, run) - memory.offset(source, run) == 2 * row_bytes  # the halo, and the row under way
    assert memory.arena.size_bytes == (2 + 8) * row_bytes + max(scratch_bytes(memory).values())
