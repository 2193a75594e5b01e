"""Fronts of latency against energy and throughput, against those of all assignments."""

from collections.abc import Iterator
from dataclasses import replace
from math import inf, isclose

import pytest
from rich.console import Console

from models.networks import tiny_cnn
from session.profiles import cases
from splits.brute_force import BruteForce
from splits.exhaustive import exhaustive_search
from splits.random_problems import random_problem
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import SecondObjective
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.pareto import STEP, Front, pareto_front
from tinysplit.split.problem import Problem
from tinysplit.split.report.front import print_front
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve
from tinysplit.split.solvers.no_split import NoSplitError

N_PROBLEMS = cases(quick=15, full=80, nightly=1500)
Pair = tuple[float, float]  # latency, other figure


def searched(problem: Problem, time_limit_s: float) -> Split:
    return solve(problem, time_limit_s=time_limit_s)


def front_of_all(problem: Problem, against: SecondObjective) -> list[Pair]:
    """Return the best compromises of all assignments and copies, sorted by latency."""
    found = [
        (outcome.latency_s, outcome.energy_j if against is SecondObjective.ENERGY else outcome.period_s)
        for _, outcome in BruteForce(problem).feasible()
    ]
    found += copies(problem) if against is SecondObjective.THROUGHPUT and found else []
    best: list[Pair] = []
    for pair in sorted(found):
        if not best or pair[1] < best[-1][1] * (1 - STEP):
            best.append(pair)
    return best


def copies(problem: Problem) -> Iterator[Pair]:
    """Yield the figures of whole networks side by side: of any number of devices the fastest are the best."""
    relaxed = replace(problem, must_use_all=False, max_period_s=inf, frame_period_s=0.0)
    n_devices, n_layers = len(problem.devices), len(problem.layers)
    alone = dict(BruteForce(relaxed).feasible())
    wholes = [alone[(d,) * n_layers] for d in range(n_devices) if (d,) * n_layers in alone]
    figures = sorted((whole.latency_s, whole.period_s) for whole in wholes)
    for count in range(2, len(figures) + 1):
        if figures[0][1] > 0 and (count == n_devices or not problem.must_use_all):
            period_s = 1 / sum(1 / own_period_s for _, own_period_s in figures[:count])
            if period_s <= min(problem.max_period_s, problem.frame_period_s or inf):
                yield figures[count - 1][0], period_s


@pytest.mark.parametrize("against", SecondObjective)
def test_the_front_is_that_of_all_assignments(against: SecondObjective) -> None:
    n_points = []
    for seed in range(N_PROBLEMS):
        problem = random_problem(seed)
        expected = front_of_all(problem, against)
        if not expected:
            with pytest.raises(InfeasibleError):
                pareto_front(problem, against, searched)
            continue
        front = pareto_front(problem, against, searched)
        got = [point.known for point in front.points]
        assert len(got) == len(expected), (seed, got, expected)
        for mine, theirs in zip(got, expected, strict=True):
            assert all(isclose(a, b, rel_tol=2e-6, abs_tol=1e-12) for a, b in zip(mine, theirs, strict=True)), seed
        assert front.complete
        assert all(point.proved for point in front.points)
        n_points.append(len(got))
    assert max(n_points) >= 2


def example(against: SecondObjective) -> Front:
    boards = [load_board(name) for name in ("nucleo_g071rb", "nucleo_h743zi", "nucleo_l4r5zi")]
    problem = make_problem(shipped_table(), tiny_cnn(), boards, CostSettings(baud=2_000_000, frame_period_s=0.2))
    return pareto_front(problem, against, lambda p, s: solve(p, time_limit_s=s))


def test_a_slow_board_may_need_less_energy() -> None:
    front = example(SecondObjective.ENERGY)
    latencies = [point.latency_s for point in front.points]
    energies = [point.energy_j for point in front.points]
    assert len(front.points) >= 2
    assert latencies == sorted(latencies)
    assert energies == sorted(energies, reverse=True)
    assert set(front.points[0].placement.devices) == {1}


def test_json_and_table() -> None:
    front = example(SecondObjective.THROUGHPUT)
    data = front.to_json()
    assert (data["against"], data["complete"]) == ("throughput", True)
    assert data["boards"] == ["nucleo_g071rb", "nucleo_h743zi", "nucleo_l4r5zi"]
    side_by_side = data["points"][-1]
    assert side_by_side["copies"] == [1, 2, 3]
    assert side_by_side["energy_j"] is None
    assert side_by_side["throughput"] == pytest.approx(1 / side_by_side["period_s"])
    console = Console(width=100)
    with console.capture() as capture:
        print_front(front, console)
    assert "copies on boards 1, 2 and 3" in capture.get()
    assert (
        f"{len(front.points)} points of latency against throughput (estimated); the front is complete" in capture.get()
    )


def test_what_is_not_proved_is_flagged() -> None:
    calls = 0

    def late(problem: Problem, _: float) -> Split:
        nonlocal calls
        calls += 1
        if calls > 2:
            raise NoSplitError(proved=False)
        return replace(exhaustive_search(problem), lower_bound=0.0)

    boards = [load_board(name) for name in ("nucleo_g071rb", "nucleo_h743zi")]
    problem = make_problem(shipped_table(), tiny_cnn(), boards, CostSettings())
    front = pareto_front(problem, SecondObjective.ENERGY, late)
    assert not front.complete
    assert not any(point.proved for point in front.points)


def test_no_split_at_all() -> None:
    problem = make_problem(shipped_table(), tiny_cnn(), [load_board("nucleo_g071rb")], CostSettings(max_latency_s=1e-6))
    with pytest.raises(CheckFailedError, match="no split meets the latency limit"):
        pareto_front(problem, SecondObjective.ENERGY, searched)
