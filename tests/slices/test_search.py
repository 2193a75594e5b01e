"""The search for distributions."""

from dataclasses import replace
from math import inf

import pytest

from divisions.every_placement import SmallCase
from models.networks import tiny_cnn
from session.profiles import cases
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Slices
from tinysplit.costs.link_options import LinkSetting
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact_division import N_BEST, ExactDivision, divide_exactly
from tinysplit.slices.links import with_links
from tinysplit.slices.search import SliceSearch
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.slices.solvers import AXES
from tinysplit.split.problem import Objective
from tinysplit.split.solve import solve

G0 = load_board("nucleo_g071rb")
FAST = CostSettings(baud=3_000_000)


def search(
    boards: list[Board], settings: CostSettings = FAST, output_board: int = 0, graph: Graph | None = None
) -> SliceSearch:
    graph = graph or tiny_cnn()
    network = SlicedNetwork(shipped_table(), graph, boards, settings, BitWidths.of(graph, 8), 0, output_board)
    return SliceSearch(network, deadline_s=inf)


@pytest.mark.parametrize("axes", [AXES[Slices.ROWS], AXES[Slices.AUTO]])
def test_two_boards_answer_sooner_than_one(axes: tuple[SliceAxis, ...]) -> None:
    best = search([G0, G0]).run(axes)
    alone = solve(make_problem(shipped_table(), tiny_cnn(), [G0], FAST))
    assert best is not None
    assert best.is_feasible
    assert best.figures.i_s < 0.65 * alone.figures.i_s
    assert {len(divided.owners) for divided in best.distributions.layers} == {1, 2}


def test_the_output_is_at_the_board_that_is_asked_for() -> None:
    best = search([G0, G0], output_board=1).run([SliceAxis.ROWS])
    assert best is not None
    assert best.graph.boards[-1] == 1
    reads_input = [
        part.board for part, sources in zip(best.graph.parts, best.graph.predecessors, strict=True) if -1 in sources
    ]
    assert set(reads_input) == {0}


def test_a_limit_that_no_split_meets_leaves_none() -> None:
    assert search([G0, G0], replace(FAST, max_latency_s=1e-3)).run([SliceAxis.ROWS]) is None


def test_the_period_can_be_the_objective() -> None:
    best = search([G0, G0], replace(FAST, objective=Objective.THROUGHPUT)).run([SliceAxis.ROWS])
    assert best is not None
    assert best.figures.value == best.figures.period_s


def test_boards_are_wired_in_a_ring_as_far_as_uarts_go() -> None:
    boards = [G0] * 4  # with two UARTs
    links = with_links(FAST, boards, (0, 1, 2, 3), 0).links
    assert {link.boards for link in links} == {(0, 2), (1, 3)}
    assert all(link.baud is None for link in links)


def test_links_that_are_named_stay() -> None:
    named = (LinkSetting((0, 3), None), LinkSetting((1, 2), 115200))
    links = with_links(replace(FAST, links=named), [G0] * 4, (0, 1, 2, 3), 0).links
    assert links[:2] == named
    assert {link.boards for link in links if link.baud is None} == {(0, 2), (0, 3), (1, 3)}


def test_what_is_no_better_than_known_is_left_out() -> None:
    best = search([G0, G0]).run(AXES[Slices.AUTO])
    assert best is not None
    found = search([G0, G0])
    found.limit = 0.9 * found.network.model((0, 1), AXES[Slices.AUTO]).problem.stages[0].seconds.min()
    assert found.run(AXES[Slices.AUTO]) is None
    assert not found.considered
    below = search([G0, G0])
    below.limit = 2 * best.figures.value
    again = below.run(AXES[Slices.AUTO])
    assert again is not None
    assert again.figures.value == best.figures.value


def test_the_energy_of_a_division_is_not_below_its_bound() -> None:
    found = search([G0, G0], replace(FAST, objective=Objective.ENERGY))
    best = found.run(AXES[Slices.AUTO])
    assert best is not None
    assert 0 < found.lower_bound <= best.figures.value
    sleeping = search([G0, G0], replace(FAST, objective=Objective.ENERGY, frame_period_s=0.5))
    best = sleeping.run(AXES[Slices.AUTO])
    assert best is not None
    assert 0.9 * best.figures.value < sleeping.lower_bound <= best.figures.value * (1 + 1e-9)


def test_orders_are_of_kinds_of_boards() -> None:
    network = search([G0] * 16).network
    assert list(network.orders())[:2] == [tuple(range(16)), (1, 0, *range(2, 16))]
    assert all(order[0] == 0 or 0 in order for order in network.orders())
    everyone = search([G0] * 3, replace(FAST, use_all=True)).network
    assert {len(order) for order in everyone.orders()} == {3}


def test_a_division_that_lacks_ram_leaves_it_free() -> None:
    """The model knows the parts of single layers; what lies there beside them is left free at the next attempt."""
    network = search([G0, G0]).network
    model = network.model((0, 1), AXES[Slices.ROWS])
    kept = model.keeping((0, 0), (1024, 0)).keeping((100, 0), (1024, 0))
    assert (kept.kept_ram, kept.kept_flash) == ((2048, 0), (100, 0))
    assert len(kept.options(0)) <= len(model.options(0))
    assert kept.problem.flash_limits[0] == model.problem.flash_limits[0] - 100


def test_more_boards_are_never_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search over three boards is that over two, too, as far as its bound is below what is known."""
    searched: list[tuple[int, bool]] = []

    def divide(
        network: SlicedNetwork,
        model: DistributionModel,
        until_s: float,
        limit: float = inf,
        edges: frozenset[int] | None = None,
        n_best: int = N_BEST,
    ) -> ExactDivision:
        searched.append((len(model.option_set.order), edges is None))
        return divide_exactly(network, model, until_s, limit, edges, n_best)

    monkeypatch.setattr("tinysplit.slices.search.divide_exactly", divide)
    graph = NetworkBuilder("small", Shape(8, 8, 4)).conv(8, (3, 3)).dense(10).graph()
    values = []
    for count in (2, 3):
        best = search([G0] * count, graph=graph).run([SliceAxis.ROWS])
        assert best is not None
        values.append(best.figures.value)
    assert values[1] <= values[0]
    assert [count for count, is_first in searched if is_first] == [
        2,
        3,
        2,
        3,
    ]  # the board with input and output first, or in the middle


@pytest.mark.slow
def test_no_placement_is_better_than_what_split_takes() -> None:
    """Where the host is what limits the period, an output at another board than the input may be, by little."""
    for seed in range(cases(quick=1, full=3, nightly=200)):
        case = SmallCase.of(seed)
        assert case.found().value < 1.02 * case.best_of_all(), case.title
