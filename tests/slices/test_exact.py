"""The exact choice of distributions, proved by enumeration on random problems."""

from functools import partial
from itertools import product
from math import inf

import numpy as np
import pytest

from session.fake_clock import fake_clock
from session.profiles import cases
from tinysplit.slices.exact.labels import Labels
from tinysplit.slices.exact.problem import Arrivals, DistributionProblem, Stage, Transition
from tinysplit.slices.exact.search import best_choice, best_choices
from tinysplit.split import clock
from tinysplit.timing.topology import NETWORK_INPUT

CASES = 1000
LONG_S = 60.0


def random_problem(rng: np.random.Generator) -> DistributionProblem:
    """Return a chain or a graph of up to 5 layers with up to 4 options each on 2 or 3 boards."""
    n_boards, n_stages = int(rng.integers(2, 4)), int(rng.integers(1, 6))
    sizes = rng.integers(1, 5, n_stages)
    stages = []
    for number, size in enumerate(sizes):
        before = number - 1 if number else NETWORK_INPUT
        sources = [before]
        if number >= 2 and rng.random() < 0.4:
            sources.append(int(rng.integers(0, number - 1)))
        transitions = tuple(
            random_transition(
                rng,
                source,
                1 if source == NETWORK_INPUT else int(sizes[source]),
                int(size),
                n_boards,
                waits=before - source <= 1,
            )
            for source in sources
        )
        n_first = transitions[0].allowed.shape[0] if rng.random() < 0.2 else 1
        seconds = rng.integers(0, 9, (n_first, size, n_boards)).astype(float)
        stages.append(Stage(seconds, rng.integers(0, 5, (size, n_boards)).astype(float), transitions))
    limit = inf if rng.random() < 0.6 else float(2 * n_stages)
    return DistributionProblem(tuple(stages), np.full(n_boards, limit))


def random_transition(
    rng: np.random.Generator, source: int, n_before: int, n_after: int, n_boards: int, *, waits: bool
) -> Transition:
    shape = (n_before, n_after, n_boards, n_boards)

    def table() -> np.ndarray:
        return np.where(rng.random(shape) < 0.3, rng.integers(0, 9, shape).astype(float), -inf)

    return Transition(
        source,
        rng.random(shape[:2]) < 0.85,
        rng.integers(0, 3, shape[:3]).astype(float),
        rng.integers(0, 3, shape[:3]).astype(float),
        Arrivals(table(), table(), table(), table()) if waits else None,
    )


def value_by_hand(problem: DistributionProblem, choice: tuple[int, ...]) -> float:
    """Return the value of a choice, one number after the other."""
    boards = range(problem.n_boards)
    begin, clocks, flash = ([0.0] * problem.n_boards for _ in range(3))
    for stage, option in zip(problem.stages, choice, strict=True):
        first, last = list(clocks), list(clocks)
        chosen = [0 if each.source == NETWORK_INPUT else choice[each.source] for each in stage.transitions]
        for each, source in zip(stage.transitions, chosen, strict=True):
            if not each.allowed[source, option]:
                return inf
            for b in boards:
                first[b] += each.sending_s[source, option, b]
                last[b] += each.sending_s[source, option, b] + each.receiving_s[source, option, b]
        own = stage.seconds[chosen[0] if len(stage.seconds) > 1 else 0][option]
        last = [last[b] + own[b] for b in boards]
        for each, source in zip(stage.transitions, chosen, strict=True):
            if each.arrivals:
                at = each.arrivals
                for a, b in product(boards, boards):
                    to_begin = (
                        begin[a] + at.begin_to_begin[source, option, a, b],
                        clocks[a] + at.end_to_begin[source, option, a, b],
                    )
                    to_end = (
                        begin[a] + at.begin_to_end[source, option, a, b],
                        clocks[a] + at.end_to_end[source, option, a, b],
                    )
                    first[b], last[b] = max(first[b], *to_begin), max(last[b], *to_end)
        begin, clocks = first, last
        flash = [flash[b] + stage.flash_bytes[option, b] for b in boards]
        if any(flash[b] > problem.flash_limits[b] for b in boards):
            return inf
    return max(clocks)


def test_random_problems_are_solved_as_by_enumeration() -> None:
    rng = np.random.default_rng(13)
    n_feasible = 0
    for _ in range(CASES):
        problem = random_problem(rng)
        choices = product(*(range(stage.n_options) for stage in problem.stages))
        wanted = min(value_by_hand(problem, choice) for choice in choices)
        found = best_choice(problem, clock.now() + LONG_S)
        assert found.value == pytest.approx(wanted)
        assert found.lower_bound == pytest.approx(wanted)
        if wanted < inf:
            n_feasible += 1
            assert value_by_hand(problem, found.choice) == pytest.approx(wanted)
        else:
            assert found.choice == ()
    assert n_feasible > CASES / 2


def test_the_best_five_choices_are_those_of_enumeration() -> None:
    rng = np.random.default_rng(16)
    for _ in range(cases(quick=30, full=60, nightly=2000)):
        problem = random_problem(rng)
        choices = product(*(range(stage.n_options) for stage in problem.stages))
        wanted = sorted(value for value in map(partial(value_by_hand, problem), choices) if value < inf)[:5]
        found = best_choices(problem, clock.now() + LONG_S, 5)
        assert found.is_proved
        assert found.values == pytest.approx(wanted)
        assert len(set(found.choices)) == len(wanted)
        assert [value_by_hand(problem, choice) for choice in found.choices] == pytest.approx(wanted)
        assert found.pruned <= found.explored


def test_a_bound_without_time_is_below_the_optimum() -> None:
    rng = np.random.default_rng(14)
    for _ in range(50):
        problem = random_problem(rng)
        best, hurried = best_choice(problem, clock.now() + LONG_S), best_choice(problem, clock.now() - 1)
        assert hurried.lower_bound <= best.value * (1 + 1e-9)
        assert hurried.value >= best.value * (1 - 1e-9)


def test_a_pass_that_runs_out_of_time_leaves_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(16)
    unproved = []
    for readings in range(1, 6):
        for problem in [random_problem(rng) for _ in range(20)]:
            best = best_choice(problem, inf)
            with monkeypatch.context() as patch:
                fake_clock(patch, 1.0)
                hurried = best_choice(problem, readings)
            assert hurried.lower_bound <= best.value * (1 + 1e-9)
            if hurried.lower_bound < hurried.value:
                unproved.append(hurried.lower_bound)
    assert max(unproved) > 0


def test_merged_labels_are_nowhere_above_those_they_stand_for() -> None:
    rng = np.random.default_rng(15)
    costs = rng.integers(0, 20, (3, 60, 3)).astype(float)
    labels = Labels(costs[0], costs[1], costs[2], costs[1].max(axis=1), np.arange(60))
    kept, others = labels.best(4)
    merged = kept.merged(others)
    assert len(merged) == len(kept) == 4
    own = np.concatenate([merged.begin, merged.clock, merged.flash], axis=1)
    for row in np.concatenate([others.begin, others.clock, others.flash], axis=1):
        assert (own <= row).all(axis=1).any()
