"""Latency and throughput in all definitions of the period, with limits: exact solvers against an own brute force."""

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import inf, isclose, isfinite

import pytest

from brute_force import BruteForce
from profiles import cases
from random_problems import CHAINS, random_problem
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.costs.problem_builder import CostSettings, make_problem
from tinysplit.network.graph import Graph
from tinysplit.reproduce.adaptive_dichotomic import adaptive_dichotomic_search
from tinysplit.reproduce.branch_and_bound import branch_and_bound
from tinysplit.reproduce.dichotomic import dichotomic_search
from tinysplit.reproduce.networks import mobilenet_v1, yamnet_256
from tinysplit.reproduce.stage_dp import stage_search
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.replication import replicate
from tinysplit.split.problem import Assignment, DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solvers.enumerate import full_search
from tinysplit.split.solvers.period_bounds import PeriodBounds, fluid, least_value

N_INSTANCES = cases(quick=80, full=400, nightly=8000)
N_OTHER_CHAINS = cases(quick=40, full=200, nightly=4000)  # with energy, links of their own and host transfers
PUBLISHED = [  # seed 000, Table 4: boards, answers a second
    (mobilenet_v1(0.25), ("nucleo_h743zi", "nucleo_l4r5zi"), "4.0342"),
    (mobilenet_v1(0.30), ("nucleo_h743zi", "nucleo_f401re"), "0.5438"),
    (mobilenet_v1(0.35), ("nucleo_h743zi", "nucleo_l4r5zi"), "2.3792"),
    (yamnet_256(), ("nucleo_h743zi", "nucleo_l4r5zi"), "0.2781"),
]


def chain(seconds: tuple[tuple[float, ...], ...], sending: tuple[float, ...]) -> Problem:
    """Layers of one byte on boards with room for all; a cut behind a layer takes its `sending`."""
    n_devices = len(seconds[0])
    layers = tuple(LayerCosts.alike(f"l{k}", 1, 1, 1, row) for k, row in enumerate(seconds))
    transfers = tuple(
        tuple(tuple(0.0 if i == h else s for h in range(n_devices)) for i in range(n_devices)) for s in sending
    )
    devices = tuple(DeviceLimits(f"b{k}", len(layers), 1) for k in range(n_devices))
    return Problem(layers, devices, transfers)


def random_instance(seed: int) -> Problem:
    """A chain of up to 243 candidates: every objective, period and switch, ties, infinities, memory that just fits."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    d = rng.choice((1, 2, 2, 3, 3))
    n = rng.randint(1, {1: 4, 2: 7, 3: 5}[d])
    identical = rng.random() < 0.2
    ties: tuple[float, ...] = (0.0, 1.0, 2.0, 3.0) if rng.random() < 0.8 else (1.0, 2.0, 3.0, 3.0, 2.0, inf)
    is_tied = rng.random() < 0.5

    def time() -> float:
        return rng.choice(ties) if is_tied else rng.uniform(0.01, 3)

    def layer(k: int) -> LayerCosts:
        seconds = (time(),) * d if identical else tuple(time() for _ in range(d))
        sizes = [tuple(rng.randint(0, 9) for _ in range(d)) for _ in range(2)]
        flash, ram = ((size[0],) * d if identical else size for size in sizes)
        return LayerCosts(f"l{k}", flash, ram, 1, seconds)

    layers = tuple(map(layer, range(n)))
    total = sum(layer.flash_bytes[0] for layer in layers)
    limits = [
        (max(1, int(total * rng.uniform(0.5, 1.4) / (1 if d == 1 else 1.2))), rng.choice((9, 9, 9, 9, 9, 7)))
        for _ in range(d)
    ]
    devices = tuple(DeviceLimits(f"b{k}", *limits[0 if identical else k]) for k in range(d))
    costs = [time() * rng.choice((0.1, 1.0)) for _ in range(n)]
    transfers = tuple(
        tuple(tuple(0.0 if i == h else cost if identical else time() for h in range(d)) for i in range(d))
        for cost in costs
    )
    problem = Problem(
        layers,
        devices,
        transfers,
        objective=rng.choice((Objective.LATENCY, Objective.THROUGHPUT)),
        must_use_all=n >= d and rng.random() < 0.3,
        keep_last_two=rng.random() < 0.2,
        period_definition=rng.choice(tuple(Period)),
    )
    feasible = [figures for candidate in candidates(problem) if (figures := figures_of(problem, candidate))]
    latency_s, period_s = rng.choice(feasible or [(1.0, 1.0)])
    return replace(
        problem,
        max_latency_s=rng.choice((inf, inf, latency_s or inf)),
        max_period_s=rng.choice((inf, inf, period_s or inf)),
    )


def candidates(problem: Problem) -> Iterator[Assignment]:
    return product(range(len(problem.devices)), repeat=len(problem.layers))


def figures_of(problem: Problem, candidate: Assignment) -> tuple[float, float] | None:
    """I and period, or None if a memory or rule is broken: the definitions once more, sharing nothing."""
    d = len(problem.devices)
    events: list[tuple[int, float, float]] = []  # device, computing, sending
    for k, device in enumerate(candidate):
        computing = problem.layers[k].seconds[device]
        is_last = k + 1 == len(candidate)
        sending = (
            0.0 if is_last or candidate[k + 1] == device else problem.transfer_seconds[k][device][candidate[k + 1]]
        )
        events.append((device, computing, sending))
    used = set(candidate)
    for device in used:
        own = [layer for layer, owner in zip(problem.layers, candidate, strict=True) if owner == device]
        limits = problem.devices[device]
        if sum(layer.flash_bytes[device] for layer in own) > limits.flash_bytes:
            return None
        if max(layer.ram_bytes[device] for layer in own) > limits.ram_bytes:
            return None
    if (problem.must_use_all and len(used) < d) or (problem.keep_last_two and len(set(candidate[-2:])) > 1):
        return None
    latency = sum(computing + sending for _, computing, sending in events)
    if not isfinite(latency):
        return None
    computes = {i: sum(c for device, c, _ in events if device == i) for i in used}
    busy = {i: sum(c + s for device, c, s in events if device == i) for i in used}
    span = {}
    for i in used:
        places = [k for k, device in enumerate(candidate) if device == i]
        span[i] = sum(c + s for _, c, s in events[places[0] : places[-1] + 1])
    busiest = [i for i in used if isclose(busy[i], max(busy.values()), rel_tol=1e-10)]
    slowest = [i for i in used if isclose(computes[i], max(computes.values()), rel_tol=1e-10)]
    period = {
        Period.LOAD: max(busy.values()),
        Period.SPAN: max(span.values()),
        Period.PAPER: max(span[i] for i in busiest),
        Period.OLD: max(busy[i] for i in slowest),
    }[problem.period_definition]
    return latency, period


def brute_force(problem: Problem) -> float:
    best = inf
    for candidate in candidates(problem):
        figures = figures_of(problem, candidate)
        if not figures:
            continue
        latency, period = figures
        if latency <= problem.max_latency_s * (1 + 1e-9) and period <= problem.max_period_s * (1 + 1e-9):
            best = min(best, latency if problem.objective is Objective.LATENCY else period)
    return best


@pytest.mark.parametrize("block", range(8))
def test_exact_solvers_agree_with_brute_force(block: int) -> None:
    n_feasible = 0
    for seed in range(block, N_INSTANCES, 8):
        problem = random_instance(seed)
        expected = brute_force(problem)
        n_feasible += isfinite(expected)
        for solver in (full_search, branch_and_bound):
            if not isfinite(expected):
                with pytest.raises(CheckFailedError):
                    solver(problem)
                continue
            split = solver(problem)
            assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), (seed, solver, split)
            assert split.proved, seed
            assert evaluate(problem, split.assignment).is_feasible, seed
    assert n_feasible > N_INSTANCES / 8 * 0.3  # the others are infeasible for both


@pytest.mark.parametrize("block", range(4))
def test_chains_of_every_kind(block: int) -> None:
    for seed in range(block, N_OTHER_CHAINS, 4):
        problem = random_problem(seed, CHAINS)
        expected = BruteForce(problem).least()
        for solver in (branch_and_bound, dichotomic_search, adaptive_dichotomic_search, stage_search):
            try:
                split = solver(problem)
            except CheckFailedError:
                assert solver is not branch_and_bound or not isfinite(expected), seed
                continue
            except UsageError:
                assert solver is stage_search
                continue
            assert evaluate(problem, split.assignment).is_feasible, seed
            assert split.objective >= expected * (1 - 1e-9), seed
            assert split.lower_bound <= expected * (1 + 1e-9), seed
            assert solver is not branch_and_bound or split.proved, seed


def test_chain_solvers_refuse_branches() -> None:
    layers = tuple(replace(layer, inputs=(-1,) if k < 2 else (0, 1)) for k, layer in enumerate(THERE_AND_BACK.layers))
    problem = replace(THERE_AND_BACK, layers=layers, objective=Objective.THROUGHPUT)
    for solver in (branch_and_bound, stage_search):
        with pytest.raises(UsageError, match="this network has branches: take --solver graph"):
            solver(problem)


def test_bounds_are_admissible() -> None:
    for seed in range(cases(quick=20, full=100, nightly=2000)):
        problem = replace(random_instance(seed), objective=Objective.THROUGHPUT)
        expected = brute_force(problem)
        if isfinite(expected):
            assert least_value(problem) <= expected * (1 + 1e-9), seed


def test_bounds_of_partial_assignments_are_admissible() -> None:
    rng = random.Random(1)  # noqa: S311 (no secret)
    for seed in range(cases(quick=10, full=60, nightly=1000)):
        problem = replace(random_instance(seed), objective=Objective.THROUGHPUT, period_definition=Period.LOAD)
        bounds = PeriodBounds(problem)
        for candidate in candidates(problem):
            figures = figures_of(problem, candidate)
            if not figures or rng.random() < 0.8:
                continue
            n_done = rng.randint(1, len(candidate))
            loads = [0.0] * len(problem.devices)
            free = [device.flash_bytes for device in problem.devices]
            for k, device in enumerate(candidate[:n_done]):
                loads[device] += problem.layers[k].seconds[device]
                free[device] -= problem.layers[k].flash_bytes[device]
                if k:
                    loads[candidate[k - 1]] += problem.transfer_seconds[k - 1][candidate[k - 1]][device]
            assert bounds.of(n_done, candidate[n_done - 1], loads, free) <= figures[1] * (1 + 1e-9)


# Board a computes 1 s of layer 1 and 2 s of layer 3, board b 4 s of layer 2; it takes 0.5 s to send from a to b and
# 0.25 s back. a is busy 1 + 0.5 + 2 = 3.5 s, b 4 + 0.25 = 4.25 s; from its first layer to its last a needs
# 1 + 0.5 + 4 + 0.25 + 2 = 7.75 s, b 4.25 s.
THERE_AND_BACK = chain(((1.0, 9.0), (9.0, 4.0), (2.0, 9.0)), (0.5, 0.25, 0.0))


@pytest.mark.parametrize(
    ("definition", "period_s"), [(Period.LOAD, 4.25), (Period.SPAN, 7.75), (Period.PAPER, 4.25), (Period.OLD, 4.25)]
)
def test_periods_by_hand(definition: Period, period_s: float) -> None:
    problem = replace(THERE_AND_BACK, period_definition=definition, objective=Objective.THROUGHPUT)
    assert evaluate(problem, (0, 1, 0)).period_s == evaluate(problem, (0, 1, 0)).value == period_s
    assert evaluate(replace(problem, objective=Objective.LATENCY), (0, 1, 0)).value == 7.75
    assert evaluate(problem, (0, 0, 0)).period_s == 1 + 9 + 2


def test_paper_takes_the_span_of_the_busiest_board_and_old_the_load_of_the_slowest() -> None:
    # With 2 s to send from a to b, a is busy 1 + 2 + 2 = 5 s and b 4.25: the busiest is a, whose span is 9.25 s. b
    # still computes most.
    problem = chain(((1.0, 9.0), (9.0, 4.0), (2.0, 9.0)), (2.0, 0.25, 0.0))
    periods = {period: evaluate(replace(problem, period_definition=period), (0, 1, 0)).period_s for period in Period}
    assert periods == {Period.LOAD: 5.0, Period.SPAN: 9.25, Period.PAPER: 9.25, Period.OLD: 4.25}


def test_equally_busy_boards_count_with_their_longest_period() -> None:
    problem = replace(chain(((1.0, 9.0), (9.0, 2.0), (1.0, 9.0)), (0.0, 0.0, 0.0)), period_definition=Period.PAPER)
    swapped = replace(problem, layers=tuple(replace(layer, seconds=layer.seconds[::-1]) for layer in problem.layers))
    assert evaluate(problem, (0, 1, 0)).period_s == evaluate(swapped, (1, 0, 1)).period_s == 4.0


def test_fluid_by_hand() -> None:
    # A fast and a slow device take 6 units of work at 1 and 2 s each: 4 s. With the slow one busy for 7 s already, the
    # fast one does all of it in 6 s.
    assert fluid([0.0, 0.0], [1.0, 2.0], 6.0) == pytest.approx(4.0)
    assert fluid([0.0, 7.0], [1.0, 2.0], 6.0) == pytest.approx(6.0)
    assert fluid([0.0, 1.0], [1.0, 2.0], 0.0) == 0.0


@pytest.mark.parametrize(("graph", "pair", "answers"), PUBLISHED, ids=[graph.name for graph, _, _ in PUBLISHED])
def test_throughputs_of_table_4(graph: Graph, pair: tuple[str, str], answers: str) -> None:
    settings = CostSettings(paper=True, objective=Objective.THROUGHPUT)
    problem = make_problem(graph, [load_board(name) for name in pair], settings)
    assert problem.period_definition is Period.PAPER
    split = branch_and_bound(problem)
    assert split.proved
    assert f"{1 / split.objective:.4f}" == answers


def test_limits_shape_the_best_split() -> None:
    problem = THERE_AND_BACK  # fastest (0, 1, 0) with 7.75 s and a period of 4.25 s
    for solver in (full_search, branch_and_bound):
        assert solver(problem).assignment == (0, 1, 0)
        with pytest.raises(CheckFailedError, match=r"no split answers within 5000 ms: the shortest latency .* 7750 ms"):
            solver(replace(problem, max_latency_s=5.0))
        with pytest.raises(CheckFailedError, match=r"no split answers every 4000 ms: the shortest period .* 4250 ms"):
            solver(replace(problem, max_period_s=4.0))
        assert solver(replace(problem, max_period_s=4.25)).objective == 7.75


def test_limits_that_contradict_each_other() -> None:
    # All on one board: 4 s, one answer every 4 s. On both: a period of 2 s, but 5 s with the transfer.
    problem = chain(((2.0, 2.0), (2.0, 2.0)), (1.0, 0.0))
    for solver in (full_search, branch_and_bound):
        assert solver(replace(problem, max_period_s=3.0)).objective == 5.0
        assert solver(replace(problem, max_latency_s=4.0, objective=Objective.THROUGHPUT)).objective == 4.0
        with pytest.raises(CheckFailedError) as caught:
            solver(replace(problem, max_latency_s=4.5, max_period_s=3.5))
        assert str(caught.value) == (
            "the limits contradict each other: of the splits that answer within 4500 ms, the shortest period found is "
            "4000 ms, not 3500 ms"
        )


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_limits_that_are_none(limit: float) -> None:
    with pytest.raises(UsageError, match=r"a largest period of .* s leaves no split: name one above zero"):
        replace(THERE_AND_BACK, max_period_s=limit)


def test_memory_is_the_reason_before_a_limit_is() -> None:
    small = tuple(replace(device, flash_bytes=2) for device in THERE_AND_BACK.devices[:1])
    problem = replace(chain(((1.0,), (9.0,), (2.0,)), (0.0,) * 3), devices=small, max_latency_s=0.1)
    with pytest.raises(CheckFailedError, match="needs 3 bytes of flash"):
        branch_and_bound(problem)


@pytest.mark.parametrize("definition", list(Period))
def test_an_interrupted_search_has_a_true_bound(definition: Period) -> None:
    rng = random.Random(3)  # noqa: S311 (no secret)
    seconds = tuple(tuple(rng.uniform(0.1, 2) for _ in range(3)) for _ in range(11))
    problem = chain(seconds, tuple(rng.uniform(0, 0.3) for _ in range(11)))
    problem = replace(problem, objective=Objective.THROUGHPUT, period_definition=definition)
    best = full_search(problem)
    early = branch_and_bound(problem, time_limit_s=0)
    assert best.proved
    assert early.lower_bound <= best.objective <= early.objective
    assert early.gap == pytest.approx(1 - early.lower_bound / early.objective)


def test_published_branch_and_bound_knows_latency_alone() -> None:
    with pytest.raises(UsageError, match="knows neither throughput, energy nor limits"):
        branch_and_bound(replace(THERE_AND_BACK, objective=Objective.THROUGHPUT), as_published=True)


def test_copies_of_the_whole_network() -> None:
    # 12 s on board a, 22 s on b: a third copy of nothing; together 1 / (1/12 + 1/22).
    copies = replicate(replace(THERE_AND_BACK, must_use_all=True))
    assert copies is not None
    assert copies.devices == (0, 1)
    assert copies.period_s == pytest.approx(1 / (1 / 12 + 1 / 22))
    only_fast = replicate(replace(THERE_AND_BACK, max_latency_s=20.0))
    assert only_fast is not None
    assert only_fast.devices == (0,)
    assert only_fast.period_s == pytest.approx(12.0)
    assert replicate(replace(THERE_AND_BACK, max_latency_s=5.0)) is None
