"""Splits in which no board has more neighbours than link UARTs, against all sets of links."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf, isclose, isfinite
from random import Random
from typing import Any

import pytest

from session.fake_clock import fake_clock
from session.profiles import cases
from splits.brute_force import BruteForce
from splits.chain_problems import large_chain
from splits.random_problems import Kinds, random_problem
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.split import link_limits
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.problem import DeviceLimits, LayerCosts, Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.labels.search import label_search
from tinysplit.timing.topology import Links

N_PROBLEMS = cases(quick=60, full=160, nightly=3000)
KINDS = Kinds(periods=(Period.LOAD,))


def neighbours_of(problem: Problem, assignment: tuple[int, ...]) -> list[set[int]]:
    """Return with whom each device talks in `assignment`, over the ways that brute force finds."""
    oracle = BruteForce(problem)
    neighbours: list[set[int]] = [set() for _ in problem.devices]
    for layer, owner in enumerate(assignment):
        for receiver in {assignment[k] for k, inputs in enumerate(oracle.inputs) if layer in inputs} - {owner}:
            for a, b in pairwise(oracle.ways[layer][owner, receiver]):
                neighbours[a].add(b)
                neighbours[b].add(a)
    return neighbours


def keeps_limits(problem: Problem, assignment: tuple[int, ...], counts: Sequence[int]) -> bool:
    neighbours = neighbours_of(problem, assignment)
    return all(len(others) <= count for others, count in zip(neighbours, counts, strict=True))


def least(problem: Problem, counts: Sequence[int]) -> float:
    """Return the least objective over all sets of links that may be left out."""
    d = len(problem.devices)
    pairs = [(i, h) for h in range(d) for i in range(h)]
    best = inf
    for bits in range(2 ** len(pairs) if problem.links else 1):
        kept = problem
        if problem.links:
            links = problem.links.without({pair for k, pair in enumerate(pairs) if bits >> k & 1})
            kept = replace(problem, links=links, transfer_seconds=links.transfer_seconds)
        oracle = BruteForce(kept)
        values = (oracle.value(found) for a, found in oracle.feasible() if keeps_limits(kept, a, counts))
        best = min(best, *values, inf)
    return best


def test_the_best_split_within_the_links_is_found() -> None:
    n_limited = n_best = n_linked = 0
    for seed in range(N_PROBLEMS):
        problem = random_problem(seed, KINDS)
        rng = Random(seed)  # noqa: S311 (no secret)
        counts = [rng.randint(1, 2) for _ in problem.devices]
        if len(problem.devices) < 3 or (len(problem.devices) == 4 and problem.links):
            continue  # no limit, or too many sets of links
        expected = least(problem, counts)
        if isfinite(expected):
            split = solve_within_links(problem, counts, "auto")
            is_best = isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12)
            if problem.links:  # another way of what a link carried may be the better one
                n_linked, n_best = n_linked + 1, n_best + is_best
                assert split.objective >= expected * (1 - 1e-9), seed
                assert split.lower_bound <= expected * (1 + 1e-9) or split.problem.links == problem.links, seed
            else:
                assert is_best, seed
                assert split.proved, seed
            assert keeps_limits(split.problem, split.assignment, counts), seed
        else:
            with pytest.raises(CheckFailedError):
                solve_within_links(problem, counts, "auto")
        n_limited += expected > BruteForce(problem).least() * (1 + 1e-9)
    assert n_limited > 0
    assert n_best >= 0.8 * n_linked


def star(direct: tuple[tuple[float, ...], ...]) -> Problem:
    """Three layers that fit on a board each, board 1 the fastest for the first, 2 for the second, 3 for the last."""
    layers = tuple(
        LayerCosts.alike(f"l{k}", 1, 1, 1, tuple(1.0 if i == k else 9.0 for i in range(3))) for k in range(3)
    )
    links = Links((direct,) * 3, ((True,) * 3,) * 3)
    return Problem(layers, tuple(DeviceLimits(f"b{k}", 3, 9) for k in range(3)), links.transfer_seconds, links=links)


def test_what_a_forbidden_link_carried_is_passed_on() -> None:
    # The ring 1-2-3-1 of three links; with one UART at board 2 what goes from 1 to 2 to 3 needs board 3 in
    # between, or from 2 to 3 board 1.
    problem = star(((0.0, 0.1, 0.5), (0.1, 0.0, 0.1), (0.5, 0.1, 0.0)))
    assert solve_within_links(problem, (2, 2, 2), "auto").objective == pytest.approx(3.2)
    split = solve_within_links(problem, (2, 1, 2), "auto")
    assert split.assignment == (0, 1, 2)
    assert split.objective == pytest.approx(3 + (0.5 + 0.1) + 0.1)
    assert sorted(len(split.route(cut)) for cut in split.cuts) == [2, 3]


def test_no_set_of_links_is_searched_behind_a_split_without_transfers(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = star(((0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 0.0)))
    alone = [replace(layer, seconds=(1.0, 9.0, 9.0)) for layer in problem.layers]
    roomy = tuple(replace(device, flash_bytes=9) for device in problem.devices)
    searched: list[Problem] = []

    def counted(own: Problem, **options: Any) -> Split:  # noqa: ANN401 (those of label_search)
        searched.append(own)
        return label_search(own, **options)

    monkeypatch.setattr(link_limits, "label_search", counted)
    found = solve_within_links(replace(problem, layers=tuple(alone), devices=roomy), [1, 1, 2], "auto")
    assert found.assignment == (0, 0, 0)
    assert found.proved
    assert len(searched) == 2  # without limits, and with the first set


def test_no_split_within_the_uarts_is_one_line() -> None:
    problem = star(((0.0, 0.1, 0.5), (0.1, 0.0, 0.1), (0.5, 0.1, 0.0)))
    full = replace(problem, devices=tuple(replace(device, flash_bytes=1) for device in problem.devices))
    with pytest.raises(CheckFailedError, match=r"no split is feasible .* UARTs \(board 1 \(b0\) has 1, board 2"):
        solve_within_links(full, (1, 1, 1), "auto")


@pytest.mark.parametrize("counts", [(1, 1, 1), (2, 2, 2)])
def test_old_names_of_solvers_are_told_with_any_uarts(counts: tuple[int, ...]) -> None:
    problem = star(((0.0, 0.1, 0.5), (0.1, 0.0, 0.1), (0.5, 0.1, 0.0)))
    with pytest.raises(UsageError, match="solver highs is now auto"):
        solve_within_links(problem, counts, "highs")


def test_too_few_uarts_for_all_boards_are_said_at_once() -> None:
    problem = replace(star(((0.0, 0.1, 0.5), (0.1, 0.0, 0.1), (0.5, 0.1, 0.0))), must_use_all=True)
    why = (
        "no split is feasible with the boards' link UARTs: connecting 3 boards takes at least 2 links .* 4 UARTs, .* 3:"
    )
    with pytest.raises(InfeasibleError, match=why):
        solve_within_links(problem, (1, 1, 1), "auto")


def test_many_boards_with_few_uarts_have_a_split_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    base = large_chain(24, 6, 1)
    roomy = tuple(replace(device, flash_bytes=2 * device.flash_bytes) for device in base.devices)
    fast = tuple(tuple(tuple(s / 20 for s in row) for row in table) for table in base.transfer_seconds)
    problem = replace(base, devices=roomy, transfer_seconds=fast, must_use_all=True)
    counts = (2, 1, 3, 2, 1, 1)
    clock = fake_clock(monkeypatch, tick_s=0.02)
    split = solve_within_links(problem, counts, "auto", time_limit_s=3.0)
    assert clock.readings < 3.0 / 0.02 + 50
    assert keeps_limits(problem, split.assignment, counts)
    assert evaluate(problem, split.assignment).is_feasible
    assert 0 < split.lower_bound <= split.objective
    assert split.gap < 0.3


def test_boards_with_other_numbers_of_uarts_do_not_change_places() -> None:
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, (1.0,) * 3) for k in range(3))
    table = tuple(tuple(float(i != h) for h in range(3)) for i in range(3))
    problem = Problem(layers, tuple(DeviceLimits(f"b{k}", 1, 1) for k in range(3)), (table,) * 3)
    split = solve_within_links(problem, (2, 1, 1), "auto")
    assert split.assignment[1] == 0  # between its two neighbours
    assert split.proved
