"""Geometric programs and their tightening: against a search over a grid, and against exact divisions."""

import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from divisions.random_divisions import random_division_problem
from session.profiles import cases
from tinysplit.common.errors import CheckFailedError, ToolError, UsageError
from tinysplit.papers.solvers.geometric.exact import best_division
from tinysplit.papers.solvers.geometric.posynomial import ZERO, Posynomial
from tinysplit.papers.solvers.geometric.problem import (
    CHANNELS,
    DividedLayer,
    Division,
    DivisionCosts,
    DivisionDevice,
    DivisionProblem,
    PartModel,
)
from tinysplit.papers.solvers.geometric.program import Formulation, GeometricProgram
from tinysplit.papers.solvers.geometric.rounding import rounded_keeping_sums, rounded_to_nearest
from tinysplit.papers.solvers.geometric.tightening import Settings, equal_parts, tighten
from tinysplit.papers.solvers.geometric.tightening_tables import network_table, tightening_json, tightening_table
from tinysplit.split.problem import Objective

LINEAR = Posynomial.of_powers(CHANNELS, (1, 0))
N_PROBLEMS = cases(quick=5, full=20, nightly=400)


def layer(channels: int, *parts: tuple[float, float]) -> DividedLayer:
    """A layer with parts of `slope` * channels + `constant`, which use as much flash as they have channels."""
    models = (
        PartModel(DivisionCosts(Posynomial.of_powers(CHANNELS, costs)), resources={"flash": LINEAR}) for costs in parts
    )
    return DividedLayer("conv1", channels, tuple(models))


def problem(*layers: DividedLayer, flash: tuple[float, ...] = (1000, 1000)) -> DivisionProblem:
    devices = (DivisionDevice(f"device{number}", {"flash": limit}) for number, limit in enumerate(flash))
    return DivisionProblem(tuple(devices), layers)


TWO = problem(layer(16, (3, 5), (4, 1)))


def grid(of: DivisionProblem) -> Iterator[tuple[float, float]]:
    """All pairs of parts in steps of a 50th channel."""
    channels = of.layers[0].channels
    for first in np.arange(0.02, channels, 0.02):
        for second in np.arange(0.02, channels - first + 0.01, 0.02):
            yield float(first), float(second)


def penalised(of: DivisionProblem, parts: tuple[float, float], weight: float, start: tuple[float, float]) -> float:
    """Formulas 5 and 6."""
    exponents = [channels / sum(start) for channels in start]
    shares = [channels / of.layers[0].channels for channels in parts]
    condensed = np.prod([(share / e) ** e for share, e in zip(shares, exponents, strict=True)])
    return of.layer_cost(0, parts) + weight / float(condensed)


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("start", [(8.0, 8.0), (12.0, 4.0)])
def test_no_point_of_a_grid_is_better(side_by_side: bool, start: tuple[float, float]) -> None:
    small = replace(problem(layer(4, (3, 5), (4, 1))), side_by_side=side_by_side)
    (found,) = GeometricProgram(small, Formulation()).solve([3.0], (start,))
    assert sum(found) <= 4 * (1 + 1e-6)
    best = min(grid(small), key=lambda parts: penalised(small, parts, 3.0, start))
    ours, theirs = (penalised(small, parts, 3.0, start) for parts in ((found[0], found[1]), best))
    assert theirs * (1 - 1e-3) < ours < theirs * (1 + 1e-6)


def test_weights_grow_until_the_parts_have_all_channels() -> None:
    found = tighten(TWO, Settings(weight_step=1))
    shares = [found.shares(step)[0] for step in found.steps]
    assert all(share <= 0.99 for share in shares[:-1])
    assert shares[-1] > 0.99
    assert all(a < b for a, b in pairwise(shares))
    assert [step.weights for step in found.steps] == [(number,) for number in range(1, len(found.steps) + 1)]
    assert [step.cost for step in found.steps] == [TWO.cost(step.division) for step in found.steps]
    assert sum(found.channels[0]) == 16


def test_larger_steps_first_end_at_the_same_weight() -> None:
    settings = Settings(weight_step=0.1)
    slow, fast = (
        tighten(TWO, settings),
        tighten(TWO, replace(settings, factors=(1000, 100, 10, 1))),
    )
    assert fast.accepted.weights == pytest.approx(slow.accepted.weights)
    assert fast.accepted.division[0] == pytest.approx(slow.accepted.division[0], rel=1e-3)
    assert len(slow.steps) > 10 * len(fast.steps)


def test_the_first_weight_is_a_hundredth_of_what_the_start_costs() -> None:
    assert tighten(TWO, Settings()).steps[0].weights == (0.01 * TWO.cost(equal_parts(TWO)),)


def test_a_network_is_the_program_of_each_layer_if_nothing_joins_them() -> None:
    layers = (layer(16, (3, 5), (4, 1)), layer(32, (1, 5), (2, 1)))
    together = tighten(problem(*layers), Settings(weight_step=0.1, factors=(10, 1)))
    alone = [tighten(problem(each), Settings(weight_step=0.1, factors=(10, 1))) for each in layers]
    assert together.accepted.weights == pytest.approx([found.accepted.weights[0] for found in alone])
    for found, parts in zip(alone, together.accepted.division, strict=True):
        assert parts == pytest.approx(found.accepted.division[0], rel=1e-3)


def test_layers_share_the_memory_of_a_device() -> None:
    layers = (layer(16, (1, 0), (9, 0)), layer(16, (1, 0), (9, 0)))
    found = tighten(problem(*layers, flash=(20, 1000)), Settings(keeps_sums=True))
    assert sum(parts[0] for parts in found.accepted.division) == pytest.approx(20, rel=1e-3)
    assert [sum(parts) for parts in found.channels] == [16, 16]
    assert found.problem.is_within_limits(found.channels)


@pytest.mark.slow
def test_a_start_that_is_renewed_is_no_worse_and_often_best() -> None:
    rng = random.Random(1)  # noqa: S311 (no secret)
    n_best = n_better = 0
    for _ in range(N_PROBLEMS):
        random_problem = random_division_problem(rng, largest=40, is_limited=False)
        settings = Settings(Formulation(min_channels=0.1), keeps_sums=True)
        fixed, renewed = (tighten(random_problem, replace(settings, renews_start=renews)) for renews in (False, True))
        optimum = random_problem.layer_cost(0, best_division(random_problem))
        assert optimum * (1 - 1e-9) <= min(fixed.cost, renewed.cost)
        n_best += renewed.cost < optimum * 1.02
        n_better += renewed.cost <= fixed.cost * (1 + 1e-9)
    assert n_best > N_PROBLEMS / 2  # the others are better without a part on some device
    assert n_better == N_PROBLEMS


def test_the_penalty_pulls_to_its_start() -> None:
    starts: list[Division] = [((8.0, 8.0),), ((12.0, 4.0),), ((14.0, 2.0),)]
    first = [tighten(TWO, Settings(start=start)).accepted.division[0][0] for start in starts]
    assert first[0] + 1 < first[1] < first[2] - 1


def test_parts_are_not_below_the_bound() -> None:
    cheap = problem(layer(16, (1, 0), (1, 100)))
    settings = Settings(renews_start=True)
    assert tighten(cheap, replace(settings, formulation=Formulation(min_channels=2))).accepted.division[0][1] > 1.999
    other = problem(layer(16, (1, 0), (9, 0)))
    assert tighten(other, settings).accepted.division[0][1] < 0.1


def with_link(slope: float) -> DivisionProblem:
    """Two alike devices, one of them behind a link of `slope` a channel and direction."""
    link = Posynomial.of_powers(CHANNELS, (slope, 0))
    near = PartModel(DivisionCosts(LINEAR))
    far = PartModel(DivisionCosts(LINEAR, inputs=link, outputs=link))
    return DivisionProblem((DivisionDevice("near"), DivisionDevice("far")), (DividedLayer("conv1", 16, (near, far)),))


def test_outputs_travel_back_if_they_are_counted() -> None:
    to, back = (replace(with_link(2), counts_outputs=counts) for counts in (False, True))
    assert to.layer_cost(0, (8, 8)) == 16 + 2 * 8
    assert back.layer_cost(0, (8, 8)) == 16 + 4 * 8
    far = [tighten(each, Settings(weight_step=0.1)).accepted.division[0][1] for each in (to, back)]
    assert far[0] > far[1] + 0.5


def test_the_communication_weight_charges_no_real_division() -> None:
    charged, weighted = (tighten(with_link(9), Settings(Formulation(communication_k=k))) for k in (None, 100))
    assert charged.accepted.division[0][1] < 4
    assert weighted.accepted.division[0] == pytest.approx((8, 8), rel=0.02)  # as if there were no link


def test_energies_are_added_even_if_devices_compute_side_by_side() -> None:
    part = TWO.layers[0].parts
    watts = (2.0, 0.5)
    parts = tuple(replace(p, energy=DivisionCosts(p.latency.compute * w)) for p, w in zip(part, watts, strict=True))
    energy = replace(TWO, layers=(replace(TWO.layers[0], parts=parts),), objective=Objective.ENERGY, side_by_side=True)
    assert energy.layer_cost(0, (10, 6)) == 2 * 35 + 0.5 * 25
    assert best_division(energy) == (0, 16)
    with pytest.raises(UsageError, match="device device0 has no model of the energy of conv1"):
        tighten(replace(TWO, objective=Objective.ENERGY), Settings())


def test_constant_power_changes_nothing() -> None:
    parts = tuple(replace(p, energy=DivisionCosts(p.latency.compute * 7)) for p in TWO.layers[0].parts)
    energy = replace(TWO, layers=(replace(TWO.layers[0], parts=parts),), objective=Objective.ENERGY)
    joules, seconds = tighten(energy, Settings()), tighten(TWO, Settings())
    assert joules.accepted.division[0] == pytest.approx(seconds.accepted.division[0], rel=1e-4)


def test_rounding() -> None:
    halves: Division = ((5.5, 5.5, 4.9),)
    three = problem(layer(16, (1, 0), (3, 0), (2, 0)), flash=(5, 1000, 1000))
    assert rounded_to_nearest(halves) == ((6, 6, 5),)
    assert rounded_keeping_sums(three, halves) == ((5, 5, 6),)
    assert rounded_keeping_sums(three, ((4.0, 8.0, 3.9),)) == ((5, 8, 3),)
    assert rounded_keeping_sums(three, ((4.0, 8.0, 4.0),)) == ((4, 8, 4),)
    with pytest.raises(CheckFailedError, match="no device has room for channel 16 of 16 of conv1"):
        rounded_keeping_sums(
            replace(three, devices=tuple(DivisionDevice(d.name, {"flash": 5}) for d in three.devices)), halves
        )


def test_the_table_has_each_step() -> None:
    found = tighten(TWO, Settings())
    text = StringIO()
    Console(file=text, width=100).print(tightening_table(found))
    lines = text.getvalue().splitlines()
    assert len(lines) == 1 + len(found.steps) + 1
    assert lines[0].split() == ["step", "alpha", "device0", "device1", "sum", "of", "shares", "latency"]
    assert lines[-1].split()[:4] == ["rounded", *map(str, found.channels[0]), "1.0000"]


def test_what_has_no_solution_is_named() -> None:
    with pytest.raises(
        CheckFailedError, match="no division of conv1 leaves every device a part of at least 2 channels"
    ):
        tighten(problem(layer(16, (1, 0), (1, 0)), flash=(1, 1000)), Settings(Formulation(min_channels=2)))
    with pytest.raises(CheckFailedError, match=r"after 7 steps the devices hold less than 0.99 .* conv1 0\.\d+: their"):
        tighten(problem(layer(16, (1, 0), (1, 0)), flash=(1, 2)), Settings(max_steps=7))
    with pytest.raises(UsageError, match="minimise latency or energy, not the period"):
        replace(TWO, objective=Objective.THROUGHPUT)
    with pytest.raises(UsageError, match="layer conv1 has 3 models for 2 devices"):
        problem(layer(16, (1, 0), (1, 0), (1, 0)))


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ToolError, match=r"need cvxpy: .* -m pip install 'cvxpy"):
        tighten(TWO, Settings())


def test_a_part_without_channels_costs_and_uses_nothing() -> None:
    assert TWO.layer_cost(0, (16, 0)) == 53
    assert TWO.used(1, "flash", [(16, 0)]) == 0
    assert replace(TWO, side_by_side=True).layer_cost(0, (10, 6)) == 35
    assert TWO.transfers(0, 0) == ZERO


def test_layers_may_have_the_same_shares() -> None:
    free = problem(layer(16, (3, 5), (4, 1)), layer(8, (1, 1), (4, 1)))
    tied = replace(free, same_shares=((0, 1),))
    start = ((8.0, 8.0), (4.0, 4.0))
    for of, same in ((free, False), (tied, True)):
        first, second = GeometricProgram(replace(of, side_by_side=True), Formulation()).solve((1000, 1000), start)
        assert (second[0] / 8 == pytest.approx(first[0] / 16, rel=1e-4)) is same


def test_parts_of_one_layer_may_have_a_lower_bound() -> None:
    bounded = replace(TWO.layers[0], min_channels=7.0)
    found = tighten(replace(TWO, layers=(bounded, TWO.layers[0])), Settings(factors=(10,), keeps_sums=True))
    assert min(found.channels[0]) >= 7
    assert min(found.channels[1]) < 7


def test_a_tightening_ends_with_its_time() -> None:
    found = tighten(TWO, Settings(keeps_sums=True, renews_start=True, deadline_s=0.0))
    assert len(found.steps) == 1
    assert found.shares(found.accepted)[0] < Settings.threshold
    assert sum(found.channels[0]) == 16


def test_the_steps_of_a_network_are_a_line_each() -> None:
    found = tighten(replace(TWO, layers=TWO.layers * 2), Settings(factors=(10,), keeps_sums=True))
    console = Console(width=100, file=StringIO())
    console.print(network_table(found, "ms"))
    heading, *lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert "least sum of shares" in heading
    assert "latency, ms" in heading
    assert len(lines) == len(found.steps) + 1
    assert lines[-1].split()[:3] == ["rounded", "1.0000", "1.0000"]
    data = tightening_json(found)
    assert [len(step["weights"]) for step in data["steps"]] == [2] * len(found.steps)
    assert [sum(each["parts"]) for each in data["layers"]] == [16, 16]
