"""Pipelines against brute force, Algorithm 1 of Mukherjee 2022 as printed, and arrivals against schedules by hand."""

import random
from dataclasses import replace
from itertools import permutations
from math import inf, isfinite

import pytest
from hypothesis import given, settings

from session.profiles import cases
from splits.chain_problems import by_hand, chains, equal_links
from splits.exhaustive import exhaustive_search
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.papers.ideal_arrivals import frames, on_whole_networks, through_split
from tinysplit.papers.solvers.algorithm_1 import algorithm_1_least_repair
from tinysplit.papers.solvers.stage_dp import stage_search
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.period import period_s
from tinysplit.split.evaluate.sub_models import sub_models
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.report.arrivals import Arrivals
from tinysplit.split.solvers.no_split import NoSplitError
from tinysplit.timing.results import Passage


def with_period(problem: Problem, period: Period = Period.LOAD) -> Problem:
    return replace(problem, objective=Objective.THROUGHPUT, period_definition=period)


def compositions(n: int, parts: int) -> list[tuple[int, ...]]:
    if parts == 1:
        return [(n,)]
    return [(k, *rest) for k in range(1, n - parts + 2) for rest in compositions(n - k, parts - 1)]


def best_pipeline(problem: Problem) -> float:
    n, d = len(problem.layers), len(problem.devices)
    candidates = [
        tuple(device for device, size in zip(order, sizes, strict=True) for _ in range(size))
        for parts in range(1, min(n, d) + 1)
        for order in permutations(range(d), parts)
        for sizes in compositions(n, parts)
    ]
    return min((evaluate(problem, a).value for a in candidates if evaluate(problem, a).is_feasible), default=inf)


@settings(max_examples=cases(quick=10, full=100, nightly=1000))
@given(chains())
def test_best_pipeline(problem: Problem) -> None:
    problem = with_period(problem)
    expected = best_pipeline(problem)
    if not isfinite(expected):
        with pytest.raises(NoSplitError):
            stage_search(problem)
        return
    split = stage_search(problem)
    assert evaluate(problem, split.assignment).is_feasible
    assert split.objective == pytest.approx(expected, rel=1e-9, abs=1e-12)
    runs = sub_models(split.assignment)
    assert len({run.device for run in runs}) == len(runs)
    best = exhaustive_search(problem).objective
    assert split.objective >= best * (1 - 1e-9)
    assert split.lower_bound <= best * (1 + 1e-9)


@pytest.mark.parametrize("definition", [Period.SPAN, Period.PAPER])
def test_periods_of_pipelines_are_the_same(definition: Period) -> None:
    split = stage_search(with_period(heterogeneous(8, 3, seed=1)))
    assert period_s(split.problem, split.assignment, definition) == pytest.approx(split.objective)


def test_only_periods() -> None:
    for problem in (by_hand(), with_period(by_hand(), Period.OLD)):
        with pytest.raises(UsageError, match="the pipeline search minimises the period"):
            stage_search(problem)


def test_no_time() -> None:
    with pytest.raises(NoSplitError):
        stage_search(with_period(heterogeneous(8, 3, seed=1)), time_limit_s=0)


def test_a_hundred_layers_on_six_boards() -> None:
    n, d = 100, 6
    split = stage_search(with_period(heterogeneous(n, d, seed=1)))
    assert split.explored <= 2**d * d**2 * n**2 / 4  # devices free, stages forwards
    assert len(sub_models(split.assignment)) == 6


def heterogeneous(n: int, d: int, seed: int) -> Problem:
    """Random layers and devices with all the memory that anybody wants."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, tuple(rng.uniform(0.1, 1.0) for _ in range(d))) for k in range(n))
    devices = tuple(DeviceLimits(f"b{k}", n, 1) for k in range(d))
    return Problem(layers, devices, equal_links(layers, d, 0.01))


def test_algorithm_1_by_hand() -> None:
    # Seconds 1 2 4 on the first device, 3 1 1 on the second, 0.5 a transfer. First column 1 3 7; second 3.5,
    # then max(1, 1 + 0.5) = 1.5, then min(max(1, 2.5), max(3, 1.5)) = 2.5.
    layers = tuple(
        LayerCosts.alike(name, 1, 1, 1, seconds)
        for name, seconds in (("a", (1.0, 3.0)), ("b", (2.0, 1.0)), ("c", (4.0, 1.0)))
    )
    problem = Problem(layers, (DeviceLimits("x", 3, 1), DeviceLimits("y", 3, 1)), equal_links(layers, 2, 0.5))
    split = algorithm_1_least_repair(with_period(problem))
    assert (split.assignment, split.solver) == ((0, 1, 1), "algorithm-1")
    assert split.lower_bound <= split.objective


def test_algorithm_1_knows_no_memory() -> None:
    problem = two_stages()
    tight = replace(problem, devices=(DeviceLimits("a", 2, 1), DeviceLimits("b", 0, 1)))
    with pytest.raises(NoSplitError):
        algorithm_1_least_repair(tight)


def test_algorithm_1_is_seldom_optimal() -> None:
    worse, count = 0, cases(quick=10, full=40, nightly=400)
    for seed in range(count):
        problem = with_period(heterogeneous(8, 3, seed))
        ours = stage_search(problem).objective
        theirs = period_s(problem, algorithm_1_least_repair(problem).assignment, Period.LOAD)
        worse += theirs > ours * (1 + 1e-9)
    assert worse > 0.75 * count


def two_stages() -> Problem:
    """ResNet34 of Mukherjee 2022, Table 2, as two layers: 195 + 201 ms split, 689 and 299 ms alone; no transfers."""
    layers = (
        LayerCosts.alike("1-15", 1, 1, 0, (0.195, 0.299 - 0.201)),
        LayerCosts.alike("16-35", 1, 1, 0, (0.689 - 0.195, 0.201)),
    )
    return Problem(layers, (DeviceLimits("nano", 2, 1), DeviceLimits("tpu", 2, 1)), equal_links(layers, 2, 0.0))


def test_inputs_wait_in_line() -> None:
    passages = through_split(two_stages(), (0, 1), frames(3, 25))
    assert passages[0] == Passage(0.0, 0.0, 0.195 + 0.201)
    assert [passage.start_s for passage in passages] == pytest.approx([0.0, 0.195, 0.390])
    assert [passage.end_s for passage in passages] == pytest.approx([0.396, 0.597, 0.798])
    assert passages[2].waiting_s == pytest.approx(0.390 - 0.080)
    assert passages[2].latency_s == pytest.approx(0.798 - 0.080)


def test_whole_networks_side_by_side() -> None:
    passages = on_whole_networks(two_stages(), frames(4, 25))
    # TPU 0 to 0.299, Nano 0.04 to 0.729, TPU 0.299 to 0.598, TPU 0.598 to 0.897.
    assert [passage.end_s for passage in passages] == pytest.approx([0.299, 0.729, 0.598, 0.897])


def test_the_pipeline_wins_by_as_much_as_the_periods_say() -> None:
    arrivals = frames(1000, 25)
    pipeline, whole = through_split(two_stages(), (0, 1), arrivals), on_whole_networks(two_stages(), arrivals)
    assert f"{1000 / pipeline[-1].end_s:.2f}" == "4.97"
    assert 1000 / max(passage.end_s for passage in whole) == pytest.approx(4.80, abs=0.02)


@settings(max_examples=cases(quick=10, full=100, nightly=1000))
@given(chains())
def test_the_pace_of_a_split_is_its_load(problem: Problem) -> None:
    n, d = len(problem.layers), len(problem.devices)
    assignment = tuple(k * d // n for k in range(n))
    load = period_s(problem, assignment, Period.LOAD)
    if not isfinite(load):
        return
    passages = through_split(problem, assignment, (0.0,) * 50)
    assert passages[-1].end_s >= 50 * load * (1 - 1e-9)
    assert passages[-1].end_s <= 49 * load + evaluate(problem, assignment).i_s + 1e-9
    assert passages[0].latency_s == pytest.approx(evaluate(problem, assignment).i_s)


def test_a_device_takes_the_oldest_input() -> None:
    # Runs a (1 s) and c (1 s) on the first device, b (1 s) on the second.
    layers = tuple(LayerCosts.alike(name, 1, 1, 0, (1.0, 1.0)) for name in "abc")
    problem = Problem(layers, (DeviceLimits("x", 3, 1), DeviceLimits("y", 3, 1)), equal_links(layers, 2, 0.0))
    passages = through_split(problem, (0, 1, 0), (0.0, 0.0, 0.0))
    assert [(passage.start_s, passage.end_s) for passage in passages] == [(0.0, 3.0), (1.0, 4.0), (4.0, 7.0)]


def test_nothing_holds_the_whole_network() -> None:
    problem = replace(two_stages(), devices=(DeviceLimits("a", 1, 1), DeviceLimits("b", 1, 1)))
    with pytest.raises(CheckFailedError, match="no board has the memory for the whole network"):
        on_whole_networks(problem, frames(1, 25))


@pytest.mark.parametrize(
    ("per_second", "count", "why"),
    [
        (1e-300, 50, "--frame-rate 1e-300: 50 inputs take more than 1e"),
        (0.0, 50, "the rate must be positive and finite"),
        (25.0, 100_001, "--input-count 100001: at most 100000 inputs"),
    ],
)
def test_arrivals_that_cannot_be_simulated(per_second: float, count: int, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Arrivals.at_rate(per_second, count)
