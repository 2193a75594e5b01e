"""The published geometric program on boards: its models, its divisions, and what it refuses."""

from dataclasses import replace
from io import StringIO
from math import inf

import pytest
from rich.console import Console

from models.networks import tiny_cnn
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Slices
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.papers.solvers.geometric.problem import CHANNELS
from tinysplit.papers.solvers.geometric_slices.division import NetworkDivision
from tinysplit.papers.solvers.geometric_slices.fits import Modelled
from tinysplit.papers.solvers.geometric_slices.groups import groups_of
from tinysplit.papers.solvers.geometric_slices.solver import AxisProgram, solve_geometrically
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.part_costs import PartCosts
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.slices.solvers import AXES
from tinysplit.split.problem import Objective
from tinysplit.split.solve import solve

G0, F4 = load_board("nucleo_g071rb"), load_board("nucleo_f401re")
FAST = CostSettings(baud=3_000_000)


def network(graph: Graph, n_boards: int = 2, settings: CostSettings = FAST) -> SlicedNetwork:
    return SlicedNetwork(shipped_table(), graph, [G0] * n_boards, settings, BitWidths.of(graph, settings.bits), 0, 0)


def division(graph: Graph, axis: SliceAxis, n_boards: int = 2, settings: CostSettings = FAST) -> NetworkDivision:
    of, order = network(graph, n_boards, settings), tuple(range(n_boards))
    costs = PartCosts(shipped_table(), graph, of.boards, of.linked(order), of.widths)
    model = DistributionModel.of(costs, order, (axis,), 0, 0)
    return NetworkDivision(model, axis, groups_of(model.option_set, axis, len(graph.layers)))


def residual() -> Graph:
    """Return a network with a residual branch, a depthwise layer and a dense one; not all channels fill words."""
    net = NetworkBuilder("residual", Shape(16, 8, 4)).conv(8, (3, 3))
    short = net.value
    net.conv(8, (3, 3)).conv(8, (3, 3)).add(short).depthwise((3, 3)).conv(6)
    return net.average_pool().dense(3).graph()


@pytest.mark.parametrize("axis", list(SliceAxis))
def test_models_agree_with_costs_within_their_errors(axis: SliceAxis) -> None:
    own = division(tiny_cnn(), axis)
    for group in own.groups:
        for number in group.layers:
            model = own.models.costs(number, 0, Objective.LATENCY).compute
            fit = own.models.fits.found[Modelled("compute", f"layer {number + 1} on {G0.name}")]
            for size in (1, group.size):
                first = group.wanted.start + (len(group.wanted) - size * group.unit) // 2
                part = range(first, first + size * group.unit)
                seconds = own.model.costs.of(number, 0, axis, part).seconds
                assert float(model.of({CHANNELS: size})) == pytest.approx(seconds, rel=fit.largest_error + 1e-9)
    errors = {what: fit.largest_error for what, (_, fit) in own.models.fits.worst().items()}
    # a rest of channels takes another kernel, and few weights lie in RAM from the start
    assert errors["compute"] < (0.01 if axis is SliceAxis.ROWS else 0.75)


def test_transfers_grow_with_tiles_and_not_with_halos() -> None:
    own = division(tiny_cnn(), SliceAxis.ROWS)
    transfers = own.models.transfers
    sizes = [1, 4, 8]
    row = 28  # bytes of the input; the kernel is 3 x 3
    assert transfers.inputs(0, 1, sizes)[:, 0, 1].tolist() == [(size + 2) * row for size in sizes]
    assert not transfers.inputs(0, 0, sizes).any()
    assert not transfers.outputs(0, 1, sizes)[:, 1, 0].any()  # a pool reads own rows
    assert transfers.outputs(1, 1, sizes)[:, 1, 0].tolist() == [14 * 8] * 3
    last = own.groups[-1].layers[-1]
    assert transfers.outputs(last, 1, [1, 2])[:, 1, 0].tolist() == [3 * 24, 2 * 3 * 24]


def test_layers_of_one_distribution_have_one_vector_of_shares() -> None:
    rows, channels = (division(residual(), axis).groups for axis in SliceAxis)
    assert [group.layers for group in rows] == [(0, 2, 3), (1,), (4,), (5,)]
    assert [group.layers for group in channels] == [(0, 2, 3, 4), (1,), (5, 6), (7,)]
    assert [group.unit for group in channels] == [4, 4, 1, 1]
    assert division(residual(), SliceAxis.ROWS).problem.same_shares == ((0, 1), (0, 2), (2, 3))


@pytest.mark.parametrize("axis", list(SliceAxis))
def test_a_division_has_all_rows_or_channels(axis: SliceAxis) -> None:
    own = division(residual(), axis)
    graph = own.model.costs.graph
    found = own.distributions(tuple((1, group.size - 1) for group in own.groups))
    assert all(each.covers(graph.shape(number)) for number, each in enumerate(found))
    divided = {number for group in own.groups for number in group.layers}
    assert {number for number, each in enumerate(found) if not each.is_whole} == divided
    assert all(each.owners == (0,) for each in found if each.is_whole)


def test_tight_memory_is_a_limit_of_the_program() -> None:
    graph = NetworkBuilder("large", Shape(4, 4, 64)).conv(128, (3, 3)).graph()
    rows, channels = (division(graph, axis, settings=replace(FAST, bits=16)).problem for axis in SliceAxis)
    assert {"flash"} == set(rows.devices[0].limits) == set(channels.devices[1].limits)
    assert not rows.is_within_limits([(2, 2)])  # all weights are on both boards
    assert channels.is_within_limits([(32, 32)])


def test_the_answer_is_feasible_and_better_than_whole_layers() -> None:
    found = solve_geometrically(network(tiny_cnn()), AXES[Slices.ROWS], inf)
    alone = solve(make_problem(shipped_table(), tiny_cnn(), [G0], FAST))
    assert found.best is not None
    assert found.best.is_feasible
    assert found.best.figures.i_s < 0.75 * alone.figures.i_s
    assert not found.notes
    data = found.report.data["tightening"]
    assert data["axis"] == "rows"
    assert min(data["steps"][-1]["sums_of_shares"]) > 0.99
    assert {fit["what"] for fit in data["fits"]} == {"compute", "flash", "inputs", "outputs"}
    console = Console(width=100, file=StringIO())
    console.print(*found.report.printed)
    assert "largest relative error of each kind: " in console.file.getvalue()  # type: ignore[attr-defined]


def test_energy_is_that_of_the_boards() -> None:
    of = division(tiny_cnn(), SliceAxis.ROWS, settings=replace(FAST, objective=Objective.ENERGY)).problem
    seconds, joules = of.layers[0].parts[1].latency, of.layers[0].parts[1].energy
    assert joules is not None
    at = {CHANNELS: 10}
    assert joules.compute.of(at) == pytest.approx(seconds.compute.of(at) * G0.power.run_w)
    assert joules.inputs.of(at) == pytest.approx(seconds.inputs.of(at) * 2 * G0.power.transfer_w, rel=1e-3)


def test_layers_whose_halo_exceeds_a_tile_stay_whole() -> None:
    graph = NetworkBuilder("wide kernel", Shape(8, 8, 16)).conv(16, (3, 3)).conv(4, (7, 7)).graph()
    found = AxisProgram(network(graph, n_boards=4), SliceAxis.ROWS).solution(inf)
    assert [each.is_whole for each in found.best.distributions.layers] == [False, True]


def test_a_network_without_rows_is_not_divided_by_rows() -> None:
    graph = NetworkBuilder("classifier", Shape(1, 1, 8)).dense(4).graph()
    with pytest.raises(CheckFailedError, match="no layer can be divided by rows over 2 boards"):
        AxisProgram(network(graph), SliceAxis.ROWS).solution(inf)
    assert solve_geometrically(network(graph), AXES[Slices.ROWS], inf).best is None
