"""Notes on ways without a split that are better: only where they are, and in whole sentences."""

from dataclasses import replace

import pytest

from tinysplit.settings.boards_and_links import USE_ALL
from tinysplit.split.explain.alternatives import better_alternatives
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve


def alike(n_devices: int, objective: Objective, seconds: float) -> Problem:
    layers = tuple(LayerCosts.alike(name, 1, 1, 1, (seconds,) * n_devices) for name in "ab")
    devices = tuple(DeviceLimits(f"b{k}", 2, 9, 0.3, 0.3, 0.1) for k in range(n_devices))
    table = tuple(tuple(0.0 if i == h else 1.0 for h in range(n_devices)) for i in range(n_devices))
    return Problem(layers, devices, (table,) * 2, objective=objective)


def notes(problem: Problem) -> list[str]:
    def again(other: Problem, time_limit_s: float) -> Split:
        return solve(other, time_limit_s=time_limit_s)

    return list(better_alternatives(solve(problem), again))


@pytest.mark.parametrize("n_devices", [2, 3, 5, 6, 7])
@pytest.mark.parametrize("seconds", [0.1, 0.7, 1 / 3])
def test_copies_that_are_better_by_rounding_alone_are_no_note(n_devices: int, seconds: float) -> None:
    assert not [note for note in notes(alike(n_devices, Objective.ENERGY, seconds)) if "each input" in note]


def test_copies_that_are_better_are_said() -> None:
    assert notes(alike(2, Objective.THROUGHPUT, 0.1))[-1] == (
        "note: replicating the whole network on board 1 (b0) and board 2 (b1), with each input on one of them: "
        "period 100.00 ms, this split: 200.00 ms"
    )
    assert "the whole network on 7 boards, with each input on one" in notes(alike(7, Objective.THROUGHPUT, 0.1))[-1]


def test_copies_are_permitted_without_use_all() -> None:
    problem = replace(alike(2, Objective.THROUGHPUT, 0.1), must_use_all=True)
    assert notes(problem)[-1].endswith(f"this split: 1100.00 ms; {USE_ALL(False)} permits that")


@pytest.mark.parametrize(("gain_s", "is_said"), [(0.01, True), (0.1, False)])
def test_a_gain_within_the_error_of_estimates_is_said(gain_s: float, is_said: bool) -> None:
    """The second board is faster with the second layer, by more than the transfer takes."""
    layers = (LayerCosts.alike("a", 1, 1, 1, (0.5, 2.0)), LayerCosts.alike("b", 1, 1, 1, (0.5, 0.4 - gain_s)))
    devices = tuple(DeviceLimits(f"b{k}", 2, 9, 0.3, 0.3, 0.1) for k in range(2))
    problem = Problem(layers, devices, (((0.0, 0.1), (0.1, 0.0)),) * 2)
    found = [note for note in notes(problem) if "may be wrong" in note]
    assert bool(found) is is_said
    if is_said:
        assert found[0] == (
            "note: board 1 (b0) alone: latency 1000.00 ms, this split: 990.00 ms: less than the 3% by which estimates "
            "may be wrong"
        )
