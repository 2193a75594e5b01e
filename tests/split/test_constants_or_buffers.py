"""RAM beside an arena holds copies of constants or buffers of transfers: what gets it, and what the other loses."""

from dataclasses import replace
from itertools import product
from math import inf
from random import Random

import pytest

from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.program import Firmware
from tinysplit.split.problem import ConstantsInRam, DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solve import solve

ARENA_BYTES, COPY_BYTES, OUT_BYTES = 40, 40, 30
SAVED_S = 0.5
COPY, NONE = ConstantsInRam(COPY_BYTES, SAVED_S), ConstantsInRam(0, 0.0)
SPLIT = (0, 1)


def problem(ram_bytes: int, wire_s: float) -> Problem:
    """Two layers of a second on two devices; the first one copies its constants, and sends its output."""
    first = LayerCosts("first", (0, 0), (ARENA_BYTES,) * 2, OUT_BYTES, (1.0, 1.0), constants=(COPY, COPY))
    second = LayerCosts("second", (0, 0), (0, 0), 0, (1.0, 1.0), constants=(NONE, NONE))
    lines = ((0.0, wire_s), (wire_s, 0.0))
    return Problem(
        (first, second),
        (DeviceLimits("a", 0, ram_bytes), DeviceLimits("b", 0, ram_bytes)),
        (lines, lines),
        objective=Objective.THROUGHPUT,
        period_definition=Period.FIRMWARE,
    )


def test_with_room_for_both_nothing_is_lost() -> None:
    figures = evaluate(problem(ARENA_BYTES + COPY_BYTES + OUT_BYTES + 2, wire_s=1.0), SPLIT)
    assert (figures.period_s, figures.l_s) == (1.0, 2.0)
    assert not [step for step in figures.blocking if step.device == 0 and step.transfer >= 0]


@pytest.mark.parametrize(
    ("wire_s", "period_s", "l_s", "waits"),
    [
        pytest.param(1.0, 1.0 + SAVED_S, 2.0 + SAVED_S, False, id="a slow line: the buffer is worth more"),
        pytest.param(0.1, 1.0 + 0.1, 2.0, True, id="a fast line: the copy is worth more"),
    ],
)
def test_throughput_takes_what_gives_the_shorter_period(
    wire_s: float, period_s: float, l_s: float, waits: bool
) -> None:
    figures = evaluate(problem(ARENA_BYTES + COPY_BYTES, wire_s), SPLIT)
    assert figures.period_s == pytest.approx(period_s)
    assert figures.l_s == pytest.approx(l_s)
    assert any(step.device == 0 and step.transfer >= 0 for step in figures.blocking) == waits


@pytest.mark.parametrize("objective", [Objective.LATENCY, Objective.ENERGY])
def test_other_objectives_keep_the_copies(objective: Objective) -> None:
    asked = replace(problem(ARENA_BYTES + COPY_BYTES, wire_s=1.0), objective=objective)
    figures = evaluate(asked, SPLIT)
    assert (figures.period_s, figures.l_s) == (2.0, 2.0)
    assert Firmware.of(asked, SPLIT).constants_bytes == (ARENA_BYTES + COPY_BYTES, 0)


def test_a_copy_that_never_fits_keeps_nothing_from_buffers() -> None:
    figures = evaluate(problem(ARENA_BYTES + OUT_BYTES + 2, wire_s=1.0), SPLIT)
    assert figures.period_s == pytest.approx(1.0 + SAVED_S)
    assert Firmware.of(figures.problem, SPLIT).lost_seconds == {0: SAVED_S}


@pytest.mark.parametrize("objective", [Objective.LATENCY, Objective.ENERGY])
def test_within_a_limit_of_the_period_the_search_finds_what_buffers_allow(objective: Objective) -> None:
    """At the shortest period of all assignments, which throughput finds with buffers first: by enumeration."""
    n_needed = 0
    for seed in range(16):
        free = random_problem(Random(seed))  # noqa: S311 (no secret)
        assignments = list(product(range(2), repeat=len(free.layers)))
        fast = [evaluate(replace(free, objective=Objective.THROUGHPUT), each) for each in assignments]
        period_s = min((each.period_s for each in fast if each.is_feasible), default=inf)
        if period_s == inf:
            continue
        asked = replace(free, objective=objective, max_period_s=period_s)
        feasible = [figures for each in assignments if (figures := evaluate(asked, each)).is_feasible]
        found = solve(asked)
        assert found.objective == pytest.approx(min(each.value for each in feasible))
        assert found.proved
        n_needed += any(found.figures.firmware.lost_seconds)
    assert n_needed >= 2


def random_problem(rng: Random) -> Problem:
    """Four layers on two devices with little RAM."""
    copies = ((0, 0.0), (20, 0.2), (40, 0.2), (40, 0.5))
    layers = tuple(
        LayerCosts(
            str(number),
            (1, 1),
            (rng.choice([20, 40]), rng.choice([20, 40])),
            rng.choice([10, 30]),
            (rng.choice([1.0, 2.0]), rng.choice([1.0, 1.5])),
            constants=(ConstantsInRam(*rng.choice(copies)), ConstantsInRam(*rng.choice(copies))),
        )
        for number in range(4)
    )
    wire_s = rng.choice([0.1, 0.5, 1.0])
    lines = ((0.0, wire_s), (wire_s, 0.0))
    devices = tuple(DeviceLimits(name, rng.choice([2, 9]), rng.choice([60, 80, 110]), 0.3, 0.3, 0.1) for name in "ab")
    return Problem(layers, devices, (lines,) * 4, period_definition=Period.FIRMWARE)
