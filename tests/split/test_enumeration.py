"""The search against enumeration by `evaluate`, and properties: more of anything is never worse.

Layers may be fused, links take RAM and flash of the boards that have them, and boards have few UARTs.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise, product
from math import inf, isclose
from random import Random

import pytest

from session.profiles import cases
from splits.random_problems import Kinds, random_problem
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Objective, Period, Problem
from tinysplit.split.solvers.labels.fused import FusedLayerCosts
from tinysplit.split.solvers.labels.pruning import LabelBounds
from tinysplit.split.solvers.labels.resources import Resources
from tinysplit.split.solvers.labels.search import MOST_NODES, label_search
from tinysplit.split.solvers.labels.state_graph_builder import StateGraphBuilder
from tinysplit.split.solvers.no_split import NoSplitError
from tinysplit.split.solvers.symmetry import earlier_interchangeable

N_PROBLEMS = cases(quick=40, full=300, nightly=4000)
KINDS = Kinds(links=False, fused=True, host=False)

LOADED = replace(KINDS, periods=(Period.LOAD,))  # others may grow with more boards or faster links


def with_link_memory(problem: Problem, rng: Random) -> Problem:
    """Let links take RAM and flash, often as much as a board has left."""
    scale = rng.choice((0.0, 0.2, 1.0))
    devices = tuple(
        replace(
            device,
            ram_bytes=device.ram_bytes + int(scale * rng.randint(300, 1400)),
            link_flash_bytes=rng.choice((0, 3)),
            driver_bytes=(rng.choice((548, 300)), 52),
        )
        for device in problem.devices
    )
    return replace(problem, devices=devices)


def instances(count: int, kinds: Kinds) -> Iterator[tuple[int, Problem, tuple[int, ...]]]:
    """Yield seeds, problems, and the UARTs of their boards."""
    for seed in range(count):
        rng = Random(seed)  # noqa: S311 (no secret)
        problem = random_problem(30_000 + seed, kinds)
        if rng.random() < 0.7:
            problem = with_link_memory(problem, rng)
        n_others = len(problem.devices) - 1
        few = rng.random() < 0.5
        yield seed, problem, tuple(rng.randint(1, 2) if few else n_others for _ in problem.devices)


def has_uarts(problem: Problem, assignment: Assignment, counts: tuple[int, ...]) -> bool:
    pairs = {frozenset((cut.sender, cut.receiver)) for cut in evaluate(problem, assignment).cuts}
    return all(sum(device in pair for pair in pairs) <= count for device, count in enumerate(counts))


def enumerated(problem: Problem, counts: tuple[int, ...]) -> float:
    """Return the least objective of all assignments, infinite where none is feasible."""
    every = product(range(len(problem.devices)), repeat=len(problem.layers))
    found = (evaluate(problem, assignment) for assignment in every)
    return min((f.value for f in found if f.is_feasible and has_uarts(problem, f.assignment, counts)), default=inf)


def searched(problem: Problem, counts: tuple[int, ...]) -> float:
    """Return the objective that the search proves, infinite where it proves that there is none."""
    try:
        split = label_search(problem, link_counts=counts)
    except NoSplitError as error:
        if not error.proved:
            raise
        return inf
    assert split.proved
    assert split.figures.is_feasible
    assert has_uarts(problem, split.assignment, counts)
    return split.objective


def test_equal_to_enumeration_with_the_memory_and_the_uarts_of_links() -> None:
    n_feasible = n_tight = 0
    for seed, problem, counts in instances(N_PROBLEMS, KINDS):
        expected = enumerated(problem, counts)
        assert isclose(searched(problem, counts), expected, rel_tol=1e-9, abs_tol=1e-12), seed
        n_feasible += expected < inf
        free = tuple(replace(device, driver_bytes=()) for device in problem.devices)
        n_tight += enumerated(replace(problem, devices=free), counts) < expected * (1 - 1e-9)
    assert n_feasible > 0.5 * N_PROBLEMS
    assert n_tight > 0.02 * N_PROBLEMS


def all_labels(problem: Problem, counts: tuple[int, ...]) -> set[Assignment]:
    """Return the assignments of all labels behind the last layer, without bounds and dominance."""
    costs = FusedLayerCosts(problem)
    resources = Resources(costs.least)
    graph = StateGraphBuilder(costs, resources).build(MOST_NODES[-1], inf, inf)
    if not graph or not graph.steps:
        return set()
    bounds = LabelBounds(problem, resources, graph, counts)
    labels = bounds.start()
    ways: list[Assignment] = [()] * len(labels)
    for done in range(len(problem.layers)):
        labels = bounds.children(done, labels, inf)
        ways = [(*ways[row], int(device)) for row, device in zip(labels.parent, labels.device, strict=True)]
    assert len(set(ways)) == len(ways)
    return set(ways)


def test_labels_are_the_assignments_that_fit_memories_and_uarts() -> None:
    n_assignments = n_excluded = 0
    for seed, given, counts in instances(N_PROBLEMS, KINDS):
        problem = replace(given.without_limits(), objective=Objective.LATENCY, frame_period_s=0.0)
        if any(earlier_interchangeable(problem, counts)):
            continue  # only one of several alike
        every = list(product(range(len(problem.devices)), repeat=len(problem.layers)))
        split = {each for each in every if len(set(each)) > 1}
        fitting = {each for each in split if evaluate(problem, each).is_feasible and has_uarts(problem, each, counts)}
        assert {each for each in all_labels(problem, counts) if len(set(each)) > 1} == fitting, seed
        n_assignments, n_excluded = n_assignments + len(fitting), n_excluded + len(split) - len(fitting)
    assert min(n_assignments, n_excluded) > 2 * N_PROBLEMS


def with_flash(problem: Problem) -> Problem:
    return replace(problem, devices=tuple(replace(d, flash_bytes=d.flash_bytes + 5) for d in problem.devices))


def with_ram(problem: Problem) -> Problem:
    return replace(problem, devices=tuple(replace(d, ram_bytes=d.ram_bytes + 400) for d in problem.devices))


def with_faster_links(problem: Problem) -> Problem:
    table = tuple(tuple(tuple(s / 2 for s in row) for row in rows) for rows in problem.transfer_seconds)
    return replace(problem, transfer_seconds=table)


def with_weaker_limits(problem: Problem) -> Problem:
    return replace(
        problem,
        max_latency_s=problem.max_latency_s * 1.5,
        max_period_s=problem.max_period_s * 1.5,
        max_energy_j=problem.max_energy_j * 1.5,
    )


def with_another_board(problem: Problem) -> Problem:
    """Return the problem with a copy of its first board, which may be left out."""
    devices = [*range(len(problem.devices)), 0]

    def seconds(row: tuple[float, ...], sender: int) -> tuple[float, ...]:
        return tuple(
            0.0 if sender == h else row[device] if devices[sender] != device else max(row)
            for h, device in enumerate(devices)
        )

    table = tuple(
        tuple(seconds(rows[device], sender) for sender, device in enumerate(devices))
        for rows in problem.transfer_seconds
    )
    return replace(
        problem,
        layers=tuple(layer.on(devices) for layer in problem.layers),
        fused=tuple(pair.on(devices) for pair in problem.fused),
        devices=tuple(problem.devices[device] for device in devices),
        transfer_seconds=table,
        handoff=None,
    )


@pytest.mark.parametrize("relaxed", [with_flash, with_ram, with_faster_links, with_weaker_limits, with_another_board])
def test_more_of_anything_is_never_worse(relaxed: Callable[[Problem], Problem]) -> None:
    n_better = 0
    for seed, given, counts in instances(cases(quick=25, full=120, nightly=2000), LOADED):
        problem = replace(given, must_use_all=False)
        more = relaxed(problem)
        before, after = searched(problem, counts), searched(more, (*counts, 3)[: len(more.devices)])
        assert after <= before * (1 + 1e-9) or before == inf, seed
        n_better += after < before * (1 - 1e-9)
    assert n_better


def test_another_uart_is_never_worse() -> None:
    n_better = 0
    for seed, problem, counts in instances(cases(quick=60, full=200, nightly=2000), LOADED):
        found = [searched(problem, tuple(min(count, most) for count in counts)) for most in (1, 2, 3)]
        assert all(after <= before * (1 + 1e-9) for before, after in pairwise(found)), seed
        n_better += found[-1] < found[0] * (1 - 1e-9)
    assert n_better


@pytest.mark.parametrize("objective", Objective)
def test_more_time_is_never_worse(objective: Objective) -> None:
    for _, given, counts in instances(cases(quick=10, full=60, nightly=600), LOADED):
        if objective is Objective.ENERGY and not given.devices[0].run_w:
            continue
        problem = replace(given, objective=objective)
        try:
            early = label_search(problem, link_counts=counts, time_limit_s=0)
        except NoSplitError:
            continue
        late = searched(problem, counts)
        assert early.lower_bound * (1 - 1e-9) <= late <= early.objective * (1 + 1e-9)
