"""The choice between whole layers and divided ones."""

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from models.networks import tiny_cnn
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Slices
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.costs.link_options import LinkSetting
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.slices.choice import SliceRequest
from tinysplit.split.problem import Objective
from tinysplit.split.report.split import print_details
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve

G0, F4 = load_board("nucleo_g071rb"), load_board("nucleo_f401re")
FAST = CostSettings(baud=3_000_000)


def request_of(slices: Slices | None, settings: CostSettings = FAST) -> SliceRequest:
    graph = tiny_cnn()
    return SliceRequest(
        shipped_table(), graph, [G0, G0], settings, BitWidths.of(graph, 8), slices, None, (None, None), 3.0
    )


def messages() -> Console:
    return Console(file=StringIO())


def whole_layers(request: SliceRequest) -> Split:
    return solve(make_problem(shipped_table(), request.graph, request.boards, request.settings))


def as_found(split: Split) -> Split:
    return split


def test_a_half_duplex_link_is_refused_by_name() -> None:
    request = request_of(Slices.ROWS, replace(FAST, links=(LinkSetting((0, 1), 921_600, half_duplex=True),)))
    with pytest.raises(UsageError, match=r"--link 1-2:921600:half: .* leave out :half, or --slices"):
        request.best(lambda _: whole_layers(request), as_found, messages())


def test_the_output_is_at_the_named_board_even_where_whole_layers_are_faster() -> None:
    settings = CostSettings(baud=9_600)
    request = replace(request_of(Slices.ROWS, settings), boards=[F4, G0], ends=(None, 1))
    found = request.best(lambda _: whole_layers(request), as_found, messages())
    assert found.objective > whole_layers(request).objective
    assert found.distributions is not None
    assert found.assignment[-1] == 1


def infeasible(_time_limit_s: float) -> Split:
    raise CheckFailedError("no split")


@pytest.mark.parametrize("slices", [None, Slices.ROWS])
def test_layers_are_divided_where_whole_ones_are_infeasible(slices: Slices | None) -> None:
    found = request_of(slices).best(infeasible, as_found, messages())
    assert found.distributions is not None
    assert found.figures.is_feasible


def test_layers_are_divided_by_default() -> None:
    """Half of one board's latency, on the path of a request that names nothing."""
    request = request_of(None)
    found = request.best(lambda _: whole_layers(request), as_found, messages())
    assert found.distributions is not None
    assert found.value < 0.65 * whole_layers(request).value
    assert 0 < found.lower_bound <= found.value


@pytest.mark.parametrize(
    ("slices", "links"),
    [(Slices.NONE, ()), (None, (LinkSetting((0, 1), 921_600, half_duplex=True),))],
    ids=["none", "half duplex"],
)
def test_layers_stay_whole_where_something_excludes_their_division(
    slices: Slices | None, links: tuple[LinkSetting, ...]
) -> None:
    request = request_of(slices, replace(FAST, links=links))
    assert request.best(lambda _: whole_layers(request), as_found, messages()).distributions is None
    with pytest.raises(CheckFailedError, match=r"^no split$"):
        request.best(infeasible, as_found, messages())


def test_whole_layers_get_half_of_the_time() -> None:
    given: list[float] = []

    def solve_whole(time_limit_s: float) -> Split:
        given.append(time_limit_s)
        return whole_layers(request)

    request = request_of(None)
    request.best(solve_whole, as_found, messages())
    replace(request, slices=Slices.NONE).best(solve_whole, as_found, messages())
    assert given == [request.time_limit_s / 2, request.time_limit_s]


def test_whole_layers_are_not_called_optimal_where_they_might_be_divided() -> None:
    graph = NetworkBuilder("small", Shape(8, 8, 4)).conv(8, (3, 3)).dense(10).graph()
    request = replace(request_of(Slices.ROWS, CostSettings(baud=9_600)), graph=graph, widths=BitWidths.of(graph, 8))
    assert whole_layers(request).proved
    found = request.best(lambda _: whole_layers(request), as_found, messages())
    assert found.distributions is None
    assert not found.proved
    assert 0 < found.lower_bound <= found.objective
    out = StringIO()
    print_details(found, Console(file=out, width=200))
    assert "whole layers are the best found" in out.getvalue()
    assert "optimal by" not in out.getvalue()
    assert "proved optimal" not in out.getvalue()


def test_without_time_there_is_no_bound() -> None:
    request = replace(request_of(Slices.ROWS), boards=[G0, F4, G0], time_limit_s=0.0)
    found = request.best(lambda _: whole_layers(request), as_found, messages())
    assert not found.proved
    assert found.lower_bound == 0.0


@pytest.mark.parametrize("objective", [Objective.LATENCY, Objective.THROUGHPUT])
def test_a_limit_of_what_is_minimised_leaves_the_best_one(objective: Objective) -> None:
    request = request_of(None, replace(FAST, objective=objective))
    best = request.best(infeasible, as_found, messages())
    for factor, is_found in ((1.001, True), (0.99, False)):
        limit: dict[str, Any] = {objective.limit: factor * best.value}
        problem = replace(best.problem, **limit)
        limited = request.asked(problem, 3.0)
        if is_found:
            assert limited.best(infeasible, as_found, messages()).distributions == best.distributions
        else:
            with pytest.raises(CheckFailedError, match=f"no split; the best .* has {objective.text(best.value)}"):
                limited.best(infeasible, as_found, messages())
