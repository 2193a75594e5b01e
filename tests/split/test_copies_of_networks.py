"""Copies of the whole network: the answer where no split is better, unless one pipeline is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import inf
from random import Random

import pytest

from splits.pipelines import program_of
from tinysplit.common.choices import Copies
from tinysplit.common.errors import CheckFailedError
from tinysplit.split.copies import solve_with_copies
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.replication import best_replication
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve
from tinysplit.timing.simulation import simulate


def network(line_s: float, objective: Objective = Objective.THROUGHPUT) -> Problem:
    """Two layers of 2 s on a and 4 s on b."""
    layers = tuple(LayerCosts.alike(name, 1, 1, 1, (2.0, 4.0)) for name in "xy")
    devices = tuple(DeviceLimits(name, 2, 9, 0.3, 0.3, 0.1) for name in "ab")
    table = ((0.0, line_s), (line_s, 0.0))
    return Problem(layers, devices, (table,) * 2, objective=objective, period_definition=Period.FIRMWARE)


def answer(problem: Problem, copies: Copies = Copies.IF_BETTER) -> Split:
    return solve_with_copies(problem, lambda asked, limit_s: solve(asked, time_limit_s=limit_s), 10.0, copies)


def test_copies_beat_pipelines_on_slow_lines() -> None:
    # Alone a takes 4 s, b 8 s, together 1 / (1/4 + 1/8); a pipeline takes 4 s at best, for b has a layer.
    split = answer(network(3.0))
    assert split.copies == (0, 1)
    assert split.objective == pytest.approx(8 / 3)
    assert split.proved
    assert split.assignment == (1, 1)  # the slowest: its I is the latency
    assert split.figures.i_s == 8.0
    assert split.figures.flash_bytes == (2, 2)
    assert split.cuts == ()
    assert [(run.device, run.first, run.last) for run in split.runs_on(0)] == [(0, 0, 1)]


def test_one_pipeline_where_it_is_asked_for_or_copies_are_excluded() -> None:
    for problem, copies in (
        (network(3.0), Copies.NEVER),
        (replace(network(3.0), must_use_all=True), Copies.IF_BETTER),
        (network(3.0, Objective.LATENCY), Copies.IF_BETTER),
        (network(3.0, Objective.ENERGY), Copies.IF_BETTER),
    ):
        assert answer(problem, copies).copies == ()


def test_copies_where_no_pipeline_keeps_the_pace() -> None:
    paced = replace(network(9.0, Objective.ENERGY), max_period_s=3.0)
    with pytest.raises(InfeasibleError):
        answer(paced, Copies.NEVER)
    assert answer(paced).copies == (0, 1)


def test_copies_on_demand_keep_the_limits() -> None:
    latency = network(3.0, Objective.LATENCY)
    assert answer(latency, Copies.ALWAYS).objective == 8.0
    only_fast = answer(replace(latency, max_latency_s=5.0), Copies.ALWAYS)
    assert only_fast.copies == (0,)
    assert only_fast.period_s == pytest.approx(4.0)
    for limited in (
        replace(latency, max_latency_s=1.0),
        replace(latency, max_period_s=1.0),
        replace(latency, max_latency_s=5.0, must_use_all=True),
    ):
        with pytest.raises(CheckFailedError, match="no replication is feasible"):
            answer(limited, Copies.ALWAYS)


def test_a_pipeline_that_is_better_stays() -> None:
    """Neither board has the memory for all layers but a, so that copies are one board."""
    problem = network(0.5)
    small = replace(problem, devices=(problem.devices[0], replace(problem.devices[1], flash_bytes=1)))
    split = answer(small)
    assert split.copies == ()
    assert split.objective == evaluate(small, split.assignment).period_s


def test_the_host_deals_inputs_to_the_copy_that_is_free() -> None:
    programs = [program_of(network(3.0), (device, device)) for device in (0, 1)]
    passages = simulate(programs, (0.0,) * 6).passages
    # Two inputs for a in each 8 s, one for b; each has a buffer for the next one.
    assert sorted(passage.end_s for passage in passages)[:3] == [4.0, 8.0, 8.0]


def on_boards(boards: Sequence[tuple[float, float]], objective: Objective, limits: Mapping[str, float]) -> Problem:
    """Two layers on boards that take so many seconds for each and so many watts; nothing passes their lines."""
    layers = tuple(LayerCosts.alike(name, 1, 1, 1, tuple(seconds for seconds, _ in boards)) for name in "xy")
    devices = tuple(DeviceLimits(f"board{k}", 2, 9, watts, watts, 0.0) for k, (_, watts) in enumerate(boards))
    line = tuple(tuple(0.0 if a == b else inf for a in range(len(boards))) for b in range(len(boards)))
    problem = Problem(layers, devices, (line,) * 2, objective=objective, period_definition=Period.FIRMWARE)
    period_s, energy_j = (limits.get(name, inf) for name in ("max_period_s", "max_energy_j"))
    return replace(problem, max_period_s=period_s, max_energy_j=energy_j)


@pytest.mark.parametrize("objective", list(Objective))
@pytest.mark.parametrize("limit", ["max_period_s", "max_energy_j"])
def test_copies_are_on_the_best_set_of_boards(objective: Objective, limit: str) -> None:
    """By the sums over all sets, and never worse with another board."""
    rng = Random(7)  # noqa: S311 (no secret)
    for _ in range(12):
        boards = [(rng.choice([1.0, 2.0, 3.5]), rng.choice([0.1, 0.4, 1.0])) for _ in range(5)]
        allowed = {limit: rng.choice([0.7, 1.0, 2.0, 4.0])}
        before = inf
        for count in (2, 3, 4, 5):
            least = least_of_sets(boards[:count], objective, allowed)
            try:
                split = answer(on_boards(boards[:count], objective, allowed))
            except CheckFailedError:
                assert least == inf
                continue
            assert split.objective == pytest.approx(least)
            assert split.objective <= before * (1 + 1e-9)
            assert split.lower_bound <= least * (1 + 1e-9)
            before = split.objective


def least_of_sets(boards: Sequence[tuple[float, float]], objective: Objective, limits: Mapping[str, float]) -> float:
    """Return the least objective over all sets of boards with a copy on each, by hand: the host deals at full rate."""
    least = inf
    for count in range(1, len(boards) + 1):
        for chosen in combinations(boards, count):
            period_s = 1 / sum(1 / (2 * seconds) for seconds, _ in chosen)
            energy_j = sum(watts * period_s for _, watts in chosen)
            within = period_s <= limits.get("max_period_s", inf) and energy_j <= limits.get("max_energy_j", inf)
            values = {
                Objective.LATENCY: 2 * max(seconds for seconds, _ in chosen),
                Objective.THROUGHPUT: period_s,
                Objective.ENERGY: energy_j,
            }
            least = min(least, values[objective] if within else inf)
    return least


def test_a_pipeline_beside_a_copy_is_no_option_so_that_nothing_is_proved() -> None:
    """The third board could compute every fifth input: 0.8 s, where the pipeline of the first two takes 1 s."""
    layers = tuple(
        LayerCosts.alike(name, 1, 1, 1, own) for name, own in (("x", (1.0, 9.0, 2.0)), ("y", (9.0, 1.0, 2.0)))
    )
    devices = tuple(DeviceLimits(name, 2, 9, 0.3, 0.3, 0.1) for name in "abc")
    free = ((0.0,) * 3,) * 3
    problem = Problem(layers, devices, (free,) * 2, objective=Objective.THROUGHPUT, period_definition=Period.FIRMWARE)
    split = answer(problem)
    assert split.objective == pytest.approx(1.0)
    assert not split.proved
    assert 0 < split.lower_bound <= 0.8
    assert answer(problem, Copies.NEVER).proved


def test_copies_on_demand_leave_out_boards_that_break_a_limit() -> None:
    wasteful = on_boards([(1.0, 0.1), (1.0, 0.1), (1.0, 9.0)], Objective.THROUGHPUT, {"max_energy_j": 0.3})
    assert answer(wasteful, Copies.ALWAYS).copies == (0, 1)
    assert answer(replace(wasteful, max_energy_j=inf), Copies.ALWAYS).copies == (0, 1, 2)


def test_many_kinds_of_boards_are_compared_in_time() -> None:
    """Of 2^20 sets, the fastest boards come first."""
    boards = [(1 + k / 7, 0.1 + k / 3) for k in range(20)]
    copies = best_replication(on_boards(boards, Objective.ENERGY, {"max_period_s": 1.2}))
    assert copies
    assert copies.devices == (0, 1)
