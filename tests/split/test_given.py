"""Assignments that are given: as text, their figures, and why they cannot run."""

from dataclasses import replace
from itertools import product
from math import inf, isfinite

import pytest
from hypothesis import given, settings

from session.profiles import cases
from splits.chain_problems import by_hand, chains
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.given import assignment_text, given_split, parse_assignment
from tinysplit.split.problem import Problem
from tinysplit.timing.topology import Links


@pytest.mark.parametrize("assignment", [(0,), (0, 0, 1), (1, 0, 0, 2, 0)])
def test_text_and_back(assignment: tuple[int, ...]) -> None:
    assert parse_assignment(assignment_text(assignment), len(assignment), 3) == assignment


def test_text_of_runs() -> None:
    assert assignment_text((0,) * 6 + (1,)) == "1-6:1,7:2"
    assert parse_assignment("1-2:1, 3:1,4:2", 4, 2) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "'' is not LAYERS:BOARD, as in 1-6:1,7:2"),
        ("1-3", "'1-3' is not LAYERS:BOARD"),
        ("1-3:1", "layer 4 has no board: name all 4 layers"),
        ("1-2:1,4:2", "layer 3 has no board before layer 4"),
        ("1-3:1,3-4:2", "layer 3 comes twice or late"),
        ("3-4:2,1-2:1", "layer 1 has no board before layer 3"),
        ("1-4:3", "there is no board 3: give boards from 1 to 2"),
        ("1-4:0", "there is no board 0"),
        ("2-1:1", "2-1:1 is no run of layers"),
        ("1-5:1", "1-5:1 is no run of layers: there are layers 1 to 4"),
    ],
)
def test_refused_text(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_assignment(text, 4, 2)
    assert says in str(caught.value)


def why_not(problem: Problem, assignment: tuple[int, ...], link_counts: tuple[int, ...] = (1, 1)) -> str:
    with pytest.raises(CheckFailedError) as caught:
        given_split(problem, assignment, link_counts)
    return str(caught.value).removeprefix(f"the assignment {assignment_text(assignment)} cannot run: ")


def test_why_it_cannot_run() -> None:
    problem = by_hand()
    short = "board 1 (fast) needs 110 bytes of flash for its layers and has 100: 10 bytes short"
    assert why_not(problem, (0, 0, 1)) == short
    small = replace(problem, devices=(problem.devices[0], replace(problem.devices[1], ram_bytes=9)))
    assert why_not(small, (0, 1, 1)) == "board 2 (slow) needs 10 bytes of RAM for its layers and has 9: 1 bytes short"
    assert "board 1 (fast) has no layer" in why_not(replace(problem, must_use_all=True), (1, 1, 1))
    assert "no cut between layers 1 and 2" in why_not(replace(problem, joined=frozenset({0})), (0, 1, 1))
    assert "latency 8000 ms is above the limit of 7500 ms" in why_not(replace(problem, max_latency_s=7.5), (0, 1, 1))
    assert "board 1 (fast) needs 1 link, with UARTs for 0" in why_not(problem, (0, 1, 1), (0, 1))
    direct = tuple(tuple(tuple(inf for _ in row) for row in table) for table in problem.transfer_seconds)
    links = Links(direct, ((True, True),) * 3)
    apart = replace(problem, links=links, transfer_seconds=links.transfer_seconds)
    assert "the output of layer 1 has no route from board 1 (fast) to board 2 (slow)" in why_not(apart, (0, 1, 1))
    nowhere = replace(problem.layers[0], seconds=(inf, 1.0))
    cannot = replace(problem, layers=(nowhere, *problem.layers[1:]))
    assert why_not(cannot, (0, 1, 1)) == "layer 1 'a' cannot run on board 1 (fast)"


def test_figures_and_bound() -> None:
    found = given_split(by_hand(), (0, 1, 1), (1, 1))
    assert (found.figures.l_s, found.figures.t_s, found.objective) == (7.0, 1.0, 8.0)
    assert found.lower_bound == 3.0
    assert not found.proved


@settings(max_examples=cases(quick=20, full=60, nightly=1000))
@given(chains())
def test_it_is_refused_where_it_is_not_feasible_and_only_there(problem: Problem) -> None:
    devices = range(len(problem.devices))
    counts = tuple(len(devices) for _ in devices)
    for assignment in list(product(devices, repeat=len(problem.layers)))[:64]:
        figures = evaluate(problem, assignment)
        if figures.is_feasible:
            found = given_split(problem, assignment, counts)
            assert found.objective == figures.value
            assert isfinite(found.lower_bound)
            assert found.lower_bound <= found.objective
        else:
            assert why_not(problem, assignment, counts)
