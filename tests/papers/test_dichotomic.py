"""Dichotomic searches: the published steps and figures, and that no split is infeasible or better than the best."""

from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session.profiles import cases
from splits.chain_problems import by_hand, chains, equal_links, random_chain
from splits.exhaustive import exhaustive_search
from tinysplit.boards.catalog import load_board
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.graph import Graph
from tinysplit.papers.reproduce.networks import kws_cnn, kws_ds_cnn, mobilenet_v1, yamnet_256
from tinysplit.papers.solvers.adaptive_dichotomic import adaptive_dichotomic_search, infeasibility, profile_runs
from tinysplit.papers.solvers.dichotomic import dichotomic_search, halves
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solvers.no_split import NoSplitError

H7_AND_L4 = ("nucleo_h743zi", "nucleo_l4r5zi")
H7_AND_F4 = ("nucleo_h743zi", "nucleo_f401re")
TWO_L4 = ("nucleo_l433rc_p", "nucleo_l412kb")


def published(graph: Graph, boards: tuple[str, ...]) -> Problem:
    return make_problem(
        shipped_table(), graph, [load_board(name) for name in boards], CostSettings(cost_model="santamaria-2021")
    )


def with_period(problem: Problem) -> Problem:
    return replace(problem, objective=Objective.THROUGHPUT, period_definition=Period.PAPER)


def test_runs_are_halved_down_to_single_layers() -> None:
    assert list(halves(0, 5)) == [(0, 5), (0, 2), (0, 1), (1, 2), (2, 5), (2, 3), (3, 5), (3, 4), (4, 5)]


@pytest.mark.parametrize(
    ("graph", "boards", "steps", "latency_s", "adaptive_s"),
    [
        (mobilenet_v1(0.25), H7_AND_L4, 236, "0.2683", "0.2683"),
        (mobilenet_v1(0.30), H7_AND_F4, 236, "1.8388", "1.8388"),
        (mobilenet_v1(0.35), H7_AND_L4, 236, "0.4484", "0.4484"),
        (yamnet_256(), H7_AND_L4, 100, "7.1362", "4.3311"),  # the asterisk of Table 4
        (kws_cnn(), TWO_L4, 60, "0.8222", "0.8222"),  # 46 published
        (kws_ds_cnn(), ("stm32f401rb", "stm32f401rb"), 132, "2.7083", "2.7083"),
    ],
    ids=["mobilenet_025", "mobilenet_030", "mobilenet_035", "yamnet", "kws_cnn", "kws_ds_cnn"],
)
def test_latencies_of_table_4(
    graph: Graph, boards: tuple[str, ...], steps: int, latency_s: str, adaptive_s: str
) -> None:
    problem = published(graph, boards)
    split, adaptive = dichotomic_search(problem), adaptive_dichotomic_search(problem)
    assert split.explored == steps
    assert f"{split.objective:.4f}" == latency_s
    assert adaptive.explored <= steps
    assert f"{adaptive.objective:.4f}" == adaptive_s
    assert not split.proved


@pytest.mark.parametrize(
    ("graph", "boards", "throughput"),
    [
        (mobilenet_v1(0.25), H7_AND_L4, "4.0342"),
        (mobilenet_v1(0.30), H7_AND_F4, "0.5438"),
        (mobilenet_v1(0.35), H7_AND_L4, "2.3792"),
        (yamnet_256(), H7_AND_L4, "0.2781"),
        (kws_cnn(), TWO_L4, "1.2163"),
    ],
    ids=["mobilenet_025", "mobilenet_030", "mobilenet_035", "yamnet", "kws_cnn"],
)
def test_throughputs_of_table_4(graph: Graph, boards: tuple[str, ...], throughput: str) -> None:
    split = adaptive_dichotomic_search(with_period(published(graph, boards)))
    assert f"{1 / split.objective:.4f}" == throughput


@settings(max_examples=cases(quick=10, full=100, nightly=1000))
@given(chains(), st.sampled_from([None, *Period]))
def test_never_infeasible_nor_better_than_the_best(problem: Problem, period: Period | None) -> None:
    if period:
        problem = replace(problem, objective=Objective.THROUGHPUT, period_definition=period)
    try:
        best = exhaustive_search(problem).objective
    except NoSplitError:
        best = None
    for solver in (dichotomic_search, adaptive_dichotomic_search):
        try:
            split = solver(problem)
        except NoSplitError:
            continue
        assert best is not None
        assert evaluate(problem, split.assignment).is_feasible
        assert split.lower_bound <= best * (1 + 1e-9)
        assert split.objective >= best * (1 - 1e-9)
        assert not split.proved or split.objective <= best * (1 + 1e-9)
        assert split.explored <= len(problem.devices) ** 2 * (2 * len(problem.layers) - 1)


def test_how_near_the_adaptive_search_comes() -> None:
    found = {dichotomic_search: 0, adaptive_dichotomic_search: 0}
    for seed in range(30):
        problem = random_chain(9, 3, 1.5, seed)
        best = exhaustive_search(problem).objective
        for solver in found:
            with suppress(NoSplitError):
                found[solver] += solver(problem).objective < best * (1 + 1e-9)
    assert found == {dichotomic_search: 9, adaptive_dichotomic_search: 23}


def test_three_boards_that_must_all_be_used() -> None:
    problem = replace(random_chain(8, 3, 2.0, seed=1), must_use_all=True)
    with pytest.raises(NoSplitError):
        dichotomic_search(problem)
    assert set(adaptive_dichotomic_search(problem).assignment) == {0, 1, 2}


def test_profile_runs() -> None:
    # Smallest tensor behind b; half of the seconds behind c; half of the flash behind a.
    layers = (
        LayerCosts.alike("a", 90, 1, 9, (1.0, 2.0)),
        LayerCosts.alike("b", 10, 1, 1, (1.0, 2.0)),
        LayerCosts.alike("c", 10, 1, 9, (1.0, 2.0)),
        LayerCosts.alike("d", 10, 1, 9, (3.0, 6.0)),
    )
    problem = Problem(layers, (DeviceLimits("x", 120, 1), DeviceLimits("y", 120, 1)), equal_links(layers, 2, 0.1))
    runs = profile_runs(problem)
    assert runs[0] == (0, 4)
    assert set(runs[1:7]) >= {(0, 2), (0, 3), (0, 1), (2, 4)}
    assert len(set(runs)) == len(runs)


def test_misfit_counts_what_is_wrong() -> None:
    problem = by_hand()
    assert infeasibility(problem, (0, 1, 0)) == 0
    assert infeasibility(problem, (0, 0, 0)) == pytest.approx(1 + (160 - 100) / 160)
    assert infeasibility(replace(problem, must_use_all=True), (1, 1, 1)) == 2
    assert infeasibility(replace(problem, joined=frozenset({1})), (0, 1, 0)) == 2


def test_time_limit_ends_the_search() -> None:
    problem = random_chain(20, 3, 5.0, seed=1)  # all layers fit on one board
    for solver in (dichotomic_search, adaptive_dichotomic_search):
        assert solver(problem, time_limit_s=0).explored == 1
