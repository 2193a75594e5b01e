"""The choice of distributions as a problem: options, costs of parts, and its value beside that of the firmware."""

from itertools import pairwise
from math import inf

import numpy as np
import pytest

from models.networks import tiny_cnn
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distributions, SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Conv, Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.parts import needed_rows
from tinysplit.network.quantized_distribution import distributed_widths
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact.problem import Choice, DistributionProblem, value_of
from tinysplit.slices.exact.search import best_choice
from tinysplit.slices.options import FEW_BOARDS, MOST_OF_MANY, OptionSet, roundings
from tinysplit.slices.part_costs import PartCosts
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.timing.topology import NETWORK_INPUT

G0, F4 = load_board("nucleo_g071rb"), load_board("nucleo_f401re")
BOTH = (SliceAxis.ROWS, SliceAxis.CHANNELS)


def model_of(settings: CostSettings, output_board: int = 0) -> DistributionModel:
    graph = tiny_cnn()
    costs = PartCosts(shipped_table(), graph, [G0, G0], settings, BitWidths.of(graph, 8))
    return DistributionModel.of(costs, (0, 1), BOTH, 0, output_board)


@pytest.mark.parametrize(
    ("speeds", "total", "expected"),
    [
        ((1, 1), 4, [(2, 2)]),
        ((1, 1), 5, [(3, 2), (2, 3)]),
        ((3, 1), 5, [(4, 1), (3, 2)]),
        ((1, 1, 1), 3, [(1, 1, 1)]),
        ((9, 1), 2, [(1, 1)]),
    ],
)
def test_roundings_keep_the_sum(speeds: tuple[float, ...], total: int, expected: list[tuple[int, ...]]) -> None:
    assert list(roundings(speeds, total)) == expected


@pytest.mark.parametrize(("n_boards", "sets"), [(2, 1), (4, 11), (5, 10), (8, 16)])
def test_many_boards_have_few_options(n_boards: int, sets: int) -> None:
    """Of five and more boards neighbours alone, most boards first."""
    graph, order = tiny_cnn(), tuple(range(n_boards))
    words = dict.fromkeys(range(len(graph.layers)), 1)
    options = OptionSet(graph, order, (1.0,) * n_boards, (SliceAxis.ROWS,), words, needed_rows(graph)).of(0)
    assert len(options) <= n_boards + (30 if n_boards <= FEW_BOARDS else MOST_OF_MANY)
    divided = [each.owners for each in options.distributions if not each.is_whole]
    assert len(set(divided)) == sets
    assert divided[0] == order
    is_run = [all(b == a + 1 for a, b in pairwise(owners)) for owners in divided]
    assert all(is_run) == (n_boards != FEW_BOARDS)


def test_whole_layers_on_one_board_take_what_they_take_alone() -> None:
    """All RAM is theirs then: constants that wait or are copied beside other layers are in RAM from the start."""
    model = model_of(CostSettings(baud=3_000_000))
    graph = tiny_cnn()
    alone = make_problem(shipped_table(), graph, [G0], CostSettings())
    choice = KernelChoice(shipped_table(), graph, BitWidths.all(graph, 8), G0)
    for number, layer in enumerate(alone.layers):
        whole = range(graph.shape(number).height)
        part = model.costs.of(number, 0, SliceAxis.ROWS, whole)
        constants = choice.constants(number, choice.kernel(number))
        waits = constants.cost_cycles if constants else 0.0
        assert part.seconds == pytest.approx(layer.seconds[0] - waits / G0.clock.core_hz, rel=0.02)


@pytest.mark.parametrize("baud", [115_200, 3_000_000])
@pytest.mark.parametrize("output_board", [0, 1])
def test_the_model_is_not_above_the_firmware(baud: int, output_board: int) -> None:
    settings = CostSettings(baud=baud)
    model = model_of(settings, output_board)
    found = best_choice(model.problem, inf)
    assert found.value == value_of(model.problem, found.choice) == found.lower_bound
    graph, widths = model.costs.graph, model.costs.widths
    how = Distributions(model.distributions(found.choice), 0, output_board)
    parts = distribute(graph, how, 2, widths)
    problem = make_problem(shipped_table(), parts, [G0, G0], settings, distributed_widths(graph, parts, widths))
    firmware = evaluate(problem, parts.boards)
    assert found.value <= firmware.i_s * (1 + 1e-9)
    assert found.value > 0.78 * firmware.i_s


def branched() -> Graph:
    """Return a network whose larger branch runs first: the other one reads a value from before it."""
    net = NetworkBuilder("branched", Shape(16, 16, 8)).conv(8, (3, 3))
    split = net.value
    larger = net.conv(16, (3, 3), 2).value
    return net.after(split).conv(16, (1, 1), 2).add(larger).conv(16, (3, 3)).graph()


@pytest.mark.parametrize(
    ("graph", "boards"), [(tiny_cnn(), (G0, G0)), (tiny_cnn(), (G0, F4, G0)), (branched(), (G0, G0))]
)
def test_random_choices_are_not_above_the_firmware(graph: Graph, boards: tuple[Board, ...]) -> None:
    """Halos leave early in both, all else when a part has ended; rows at a border take less than their share."""
    rng = np.random.default_rng(0)
    network = SlicedNetwork(shipped_table(), graph, boards, CostSettings(baud=1_000_000), BitWidths.of(graph, 8), 0, 0)
    order = tuple(range(len(boards)))
    settings = network.linked(order)
    costs = PartCosts(shipped_table(), graph, boards, settings, network.widths)
    model = DistributionModel.of(costs, order, BOTH, 0, 0)
    for choice in (random_choice(model.problem, rng) for _ in range(12)):
        layers = model.distributions(choice)
        ways = [Distributions(layers, 0, 0, edges) for edges in (frozenset(range(len(layers))), frozenset[int]())]
        found = [each.figures.i_s for how in ways if (each := network.generated(how, settings))]
        assert value_of(model.problem, choice) <= min(found) * (1 + 1e-3)


def test_a_branch_waits_for_what_it_reads() -> None:
    """The other board begins the branch when the layer before both has ended, and not at once."""
    graph, settings = branched(), CostSettings(baud=3_000_000)
    costs = PartCosts(shipped_table(), graph, [G0, G0], settings, BitWidths.of(graph, 8))
    model = DistributionModel.of(costs, (0, 1), (), 0, 0)
    names = [layer.in_shape.channels * layer.window.elements for layer in graph.layers if isinstance(layer, Conv)]
    assert names.index(8) == 2  # the branch after the larger one
    boards = (0, 0, 1, 1, 0)
    choice = [
        next(i for i, each in enumerate(model.options(number).distributions) if each.owners == (board,))
        for number, board in enumerate(boards)
    ]
    seconds = [
        stage.seconds[0, option, board]
        for stage, option, board in zip(model.problem.stages, choice, boards, strict=False)
    ]
    one_after_the_other_s = seconds[0] + max(seconds[1], seconds[2]) + sum(seconds[3:])
    assert value_of(model.problem, (*choice, 0)) > one_after_the_other_s


def random_choice(problem: DistributionProblem, rng: np.random.Generator) -> Choice:
    """Return a choice that is allowed: each option with those of its sources."""
    choice: list[int] = []
    for stage in problem.stages:
        sources = [0 if each.source == NETWORK_INPUT else choice[each.source] for each in stage.transitions]
        ways = [each.allowed[source] for each, source in zip(stage.transitions, sources, strict=True)]
        options = np.flatnonzero(np.logical_and.reduce(ways))
        if not len(options):  # none for these of both sources
            return random_choice(problem, rng)
        choice.append(int(rng.choice(options)))
    return tuple(choice)
