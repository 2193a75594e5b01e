"""Limits that cannot be kept: which one, or which two, and by how much."""

import pickle
from dataclasses import replace
from typing import Any

import pytest

from models.networks import tiny_cnn
from session.fake_clock import fake_clock
from splits.brute_force import BruteForce
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import Objective, Problem
from tinysplit.split.solve import solve

BOARDS = [load_board(name) for name in ("nucleo_g071rb", "nucleo_h743zi")]
PROBLEM = make_problem(shipped_table(), tiny_cnn(), BOARDS, CostSettings(baud=1_000_000))


@pytest.fixture(autouse=True)
def _slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time limits count work: a busy machine explains as much as an idle one."""
    fake_clock(monkeypatch, tick_s=1e-4)


def reason(problem: Problem) -> str:
    with pytest.raises(InfeasibleError) as caught:
        solve(problem)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def least(problem: Problem, objective: Objective) -> float:
    return BruteForce(replace(problem, objective=objective)).least()


@pytest.mark.parametrize(
    ("limit", "objective", "says"),
    [
        (
            {"max_latency_s": 1e-4},
            Objective.LATENCY,
            "no split meets the latency limit of 0.1 ms: the shortest latency found is",
        ),
        (
            {"max_period_s": 1e-4},
            Objective.THROUGHPUT,
            "no split meets the period limit of 0.1 ms: the shortest period found is",
        ),
        (
            {"frame_period_s": 1e-4},
            Objective.THROUGHPUT,
            "no split meets the period limit of 0.1 ms: the shortest period found is",
        ),
        (
            {"max_energy_j": 1e-6},
            Objective.ENERGY,
            "no split meets the energy limit of 0.001 mJ: the least energy found is",
        ),
    ],
)
def test_a_limit_out_of_reach(limit: dict[str, Any], objective: Objective, says: str) -> None:
    text = reason(replace(PROBLEM, **limit))
    assert text.startswith(f"{says} {least(PROBLEM, objective) * 1000:.6g} m")


def test_a_long_name_of_a_layer_that_fits_nowhere_is_shortened() -> None:
    first, *others = PROBLEM.layers
    layer = replace(first, name="model/" * 20 + "conv", ram_bytes=(10**9, 10**9))
    text = reason(replace(PROBLEM, layers=(layer, *others)))
    assert text.startswith("layer 1 '…odel/model/model/")
    assert "model/conv' alone needs 1000000000 bytes of RAM" in text
    assert text.count("model/") < 7


def test_latency_and_energy_contradict_each_other() -> None:
    """A fast board that draws so much that it needs more energy than the slow one."""
    slow, fast = PROBLEM.devices
    thirsty = replace(PROBLEM, devices=(slow, replace(fast, run_w=10 * fast.run_w)))
    fastest, frugal = (least(thirsty, objective) for objective in (Objective.LATENCY, Objective.ENERGY))
    both = replace(thirsty, max_latency_s=fastest * 1.01, max_energy_j=frugal * 1.01)
    needed = least(replace(both, max_energy_j=1e9), Objective.ENERGY)
    assert reason(both) == (
        "the limits contradict each other: of the splits that meet the latency limit of "
        f"{both.max_latency_s * 1000:.6g} ms, the least energy found is "
        f"{needed * 1000:.6g} mJ, not {both.max_energy_j * 1000:.6g} mJ"
    )


def test_the_pace_and_energy_contradict_each_other() -> None:
    frugal = least(PROBLEM, Objective.ENERGY)
    paced = replace(PROBLEM, frame_period_s=0.02)
    needed = least(paced, Objective.ENERGY)
    assert needed > frugal * 1.05
    text = reason(replace(paced, max_energy_j=frugal * 1.01))
    assert text.startswith("no split meets the energy limit of")
    assert f"{needed * 1000:.6g} mJ" in text


def test_copies_that_would_keep_the_pace_are_named() -> None:
    twins = make_problem(shipped_table(), tiny_cnn(), [BOARDS[0]] * 2, CostSettings())
    whole_s = evaluate(twins, (0,) * 7).period_s
    assert reason(replace(twins, max_period_s=whole_s * 0.501)).endswith(
        "the whole network on board 1 (nucleo_g071rb) and board 2 (nucleo_g071rb), with each input on one of them, "
        f"has a period of {whole_s * 500:.6g} ms"
    )


def test_the_error_survives_a_process() -> None:
    with pytest.raises(CheckFailedError) as caught:
        solve(replace(PROBLEM, max_latency_s=1e-4))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 (our own bytes)
