"""The search in two phases: an analytical model, then the event timeline of the best choices."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan

import pytest

from splits.all_choices import AllChoices, all_choices
from tinysplit.boards.catalog import load_board
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.rank_correlation import kendall_tau_b
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Distribution, SliceAxis
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.papers.solvers.two_phase.analytical_phase import AnalyticalPhase, best_by_model, clusterings_of
from tinysplit.papers.solvers.two_phase.search import two_phase_search
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.split.problem import Objective

G0 = load_board("nucleo_g071rb")
FAST = CostSettings(baud=3_000_000)
BOTH = (SliceAxis.ROWS, SliceAxis.CHANNELS)
SHAPE = Shape(4, 4, 8)
FIRST, SECOND = (Distribution.whole(SHAPE, board, 2) for board in range(2))
TILES = Distribution.of_sizes(SliceAxis.ROWS, (2, 2))


def network(settings: CostSettings = FAST, n_boards: int = 2) -> SlicedNetwork:
    graph = NetworkBuilder("two layers", Shape(16, 16, 2)).conv(16, (5, 5)).conv(4, (3, 3), 2).graph()
    return SlicedNetwork(shipped_table(), graph, [G0] * n_boards, settings, BitWidths.of(graph, 8), 0, 0)


def test_the_best_of_all_choices_is_kept_and_found() -> None:
    found, every = two_phase_search(network(), BOTH, inf), all_choices(network(), BOTH)
    assert found.best is not None
    assert found.best.figures.value == pytest.approx(min(every.values.values()))
    assert every.keeps_best(found)
    assert every.best in {each.layers for each in found.phase_1.kept}
    assert found.phase_1.is_proved
    assert found.lower_bound <= found.best.figures.value
    assert clusterings_of(every.best)[0].n_clusters == 2
    assert every.share_of_worse(found.best.figures.value) > 0.5


def test_phase_2_decides_between_the_choices_of_phase_1() -> None:
    found = two_phase_search(network(), BOTH, inf, n_kept=6)
    assert found.best is not None
    assert len(found.phase_1.kept) == len(found.evaluated) == 6
    by_model = [each.model_s for each in found.evaluated]
    assert by_model == sorted(by_model)
    assert found.evaluated[found.rank_of_best - 1].timeline == min(each.timeline for each in found.evaluated)
    assert found.best.figures.value == found.evaluated[found.rank_of_best - 1].timeline
    first, second = found.lines()
    assert f"{found.phase_1.explored} partial choices explored, {found.phase_1.pruned} pruned, 6 kept" in first
    assert f"the best one is number {found.rank_of_best} of phase 1" in second


def test_phase_2_finds_the_best_wherever_phase_1_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def reversed_phase_1(
        own: SlicedNetwork, axes: Sequence[SliceAxis], deadline_s: float, n_kept: int
    ) -> AnalyticalPhase:
        first = best_by_model(own, axes, deadline_s, n_kept)
        return replace(first, kept=first.kept[::-1])

    usual = two_phase_search(network(), [SliceAxis.ROWS], inf)
    monkeypatch.setattr("tinysplit.papers.solvers.two_phase.search.best_by_model", reversed_phase_1)
    found = two_phase_search(network(), [SliceAxis.ROWS], inf)
    assert found.best is not None
    assert usual.best is not None
    assert found.best.figures.value == usual.best.figures.value
    assert found.rank_of_best == len(found.evaluated) + 1 - usual.rank_of_best > 1
    assert found.rank_correlation == pytest.approx(usual.rank_correlation)


def test_each_order_of_boards_has_some_of_the_kept_choices() -> None:
    own = network(n_boards=3)
    kept = best_by_model(own, [SliceAxis.ROWS], inf, 9).kept
    wired = [frozenset(each.settings.links) for each in kept]
    assert 2 <= len(set(wired)) <= len(list(own.orders())) == 3
    assert max(map(wired.count, wired)) <= 3
    assert len({each.layers for each in kept}) == len(kept)


def test_without_time_the_first_feasible_choice_is_the_answer() -> None:
    found = two_phase_search(network(), BOTH, deadline_s=-inf)
    assert found.best is not None
    assert len(found.evaluated) == 1


def test_a_limit_that_no_choice_meets_leaves_none() -> None:
    found = two_phase_search(network(replace(FAST, max_latency_s=1e-4)), [SliceAxis.ROWS], inf, n_kept=2)
    assert found.best is None
    assert found.rank_of_best == 0
    assert found.lines()[1].endswith("0 feasible")


def test_energy_has_no_bound() -> None:
    found = two_phase_search(network(replace(FAST, objective=Objective.ENERGY)), [SliceAxis.ROWS], inf, n_kept=2)
    assert found.best is not None
    assert found.lower_bound == 0.0


def test_shares_of_all_choices_and_of_clusterings() -> None:
    every = AllChoices({(FIRST, FIRST): 3.0, (TILES, FIRST): 2.0, (FIRST, SECOND): 5.0, (TILES, TILES): 1.0})
    assert every.best == (TILES, TILES)
    assert every.share_of_worse(2.0) == 0.5
    assert every.clusterings[clusterings_of((SECOND, FIRST))] == 3.0
    assert every.share_of_worse_clusterings(2.0) == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("second", "wanted"),
    [((1, 2, 3, 4), 1), ((4, 3, 2, 1), -1), ((1, 2, 4, 3), 2 / 3), ((1, 1, 2, 2), (2 / 3) ** 0.5), ((7, 7, 7, 7), nan)],
)
def test_rank_correlation(second: tuple[int, ...], wanted: float) -> None:
    assert kendall_tau_b((1, 2, 3, 4), second) == pytest.approx(wanted, nan_ok=True)
