"""Exhaustive search and label search on graphs against brute force: branches, every objective, link and limit."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from math import inf, isclose, isfinite

import numpy as np
import pytest

from session.fake_clock import fake_clock
from session.profiles import cases
from session.shared_models import RESNET, shared_model
from splits.brute_force import BruteForce
from splits.chain_problems import large_chain, random_chain, with_power
from splits.exhaustive import exhaustive_search
from splits.random_problems import Kinds, random_problem
from tinysplit.boards.catalog import load_board
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.onnx_import import import_model
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.labels import knapsack_choice, lagrangian
from tinysplit.split.solvers.labels import label_search as module
from tinysplit.split.solvers.labels.energy import target_of
from tinysplit.split.solvers.labels.fused import FusedLayerCosts
from tinysplit.split.solvers.labels.incumbent import Incumbent
from tinysplit.split.solvers.labels.knapsack import KnapsackBounds
from tinysplit.split.solvers.labels.lagrangian import BoundTables, RunGraph, Target
from tinysplit.split.solvers.labels.pruning import LabelBounds
from tinysplit.split.solvers.labels.resources import Resources
from tinysplit.split.solvers.labels.search import MOST_NODES, label_search, start_from_load
from tinysplit.split.solvers.labels.state_graph import Floats
from tinysplit.split.solvers.labels.state_graph_builder import StateGraphBuilder
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.solvers.no_split import NoSplitError
from tinysplit.timing.topology import NETWORK_INPUT

LOADED_CHAINS = Kinds(branches=False, periods=(Period.LOAD,))
N_NARROW = cases(quick=8, full=60, nightly=1500)
N_PROBLEMS = cases(quick=40, full=300, nightly=8000)
Search = Callable[[Problem], Split]


def check(problem: Problem, expected: float, search: Search) -> None:
    if not isfinite(expected):
        with pytest.raises(NoSplitError) as caught:
            search(problem)
        assert caught.value.proved
        return
    split = search(problem)
    assert isclose(split.objective, expected, rel_tol=1e-9, abs_tol=1e-12), split
    assert split.proved
    assert evaluate(problem, split.assignment).is_feasible


@pytest.mark.parametrize("block", range(4))
def test_exact_searches_agree_with_brute_force(block: int) -> None:
    n_feasible = 0
    for seed in range(block, N_PROBLEMS, 4):
        problem = random_problem(seed)
        expected = BruteForce(problem).least()
        n_feasible += isfinite(expected)
        assert lower_bound_without_transfers(problem) <= expected * (1 + 1e-9), seed
        for search in (exhaustive_search, label_search):
            check(problem, expected, search)
    assert n_feasible > N_PROBLEMS / 4 * 0.6  # the others are infeasible for all


@pytest.mark.parametrize("search", [exhaustive_search, label_search])
def test_an_interrupted_search_has_a_true_bound(search: Callable[..., Split]) -> None:
    for seed in range(cases(quick=15, full=80, nightly=1500)):
        problem = replace(random_problem(seed), must_use_all=False)
        expected = BruteForce(problem).least()
        try:
            split = search(problem, time_limit_s=0)
        except NoSplitError:
            continue
        assert split.lower_bound <= expected * (1 + 1e-9) <= split.objective * (1 + 2e-9), seed
        expected_gap = max(0.0, 1 - split.lower_bound / split.value) if split.value and not split.proved else 0.0
        assert split.gap == pytest.approx(expected_gap, abs=1e-6)


def resnet(boards: tuple[str, ...], settings: CostSettings) -> Problem:
    return make_problem(
        shipped_table(), import_model(shared_model(RESNET)), [load_board(name) for name in boards], settings
    )


def single_tensors(problem: Problem) -> list[int]:
    """Return the layers behind which nothing but their own output is needed: the places between blocks."""
    n_layers = len(problem.layers)
    return [
        layer
        for layer in range(n_layers)
        if not any(tensor < layer < reader for reader in range(n_layers) for tensor in problem.predecessors[reader])
    ]


def least_between_blocks(problem: Problem) -> float:
    """Return the least objective of the splits that keep every block on one device."""
    sizes = [last - first for first, last in pairwise([-1, *single_tensors(problem)])]
    splits = (
        tuple(device for device, size in zip(devices, sizes, strict=True) for _ in range(size))
        for devices in product(range(len(problem.devices)), repeat=len(sizes))
    )
    return min((split.value for split in (evaluate(problem, a) for a in splits) if split.is_feasible), default=inf)


def test_resnet_is_split_inside_a_block_where_that_pays() -> None:
    problem = resnet(("nucleo_g071rb",) * 2, CostSettings(objective=Objective.THROUGHPUT, baud=4_000_000))
    split = label_search(problem)
    assert split.proved
    assert len(single_tensors(problem)) < len(problem.layers) - 5  # three blocks have layers inside
    assert split.objective < 0.99 * least_between_blocks(problem)


def test_resnet_needs_a_cut_inside_a_block_where_ram_is_short() -> None:
    problem = resnet(("nucleo_g071rb",) * 2, CostSettings())
    ram_bytes = max(layer.ram_bytes[0] for layer in problem.layers)  # no byte for what else is alive
    problem = replace(
        problem, devices=tuple(replace(own, ram_bytes=ram_bytes, driver_bytes=()) for own in problem.devices)
    )
    assert least_between_blocks(problem) == inf
    split = label_search(problem)
    assert split.proved
    assert evaluate(problem, split.assignment).is_feasible


@pytest.mark.parametrize("objective", list(Objective))
def test_resnet_on_four_boards_is_proved(objective: Objective) -> None:
    boards = ("nucleo_f401re", "nucleo_l452re", "nucleo_g071rb", "nucleo_l452re")
    split = label_search(resnet(boards, CostSettings(objective=objective, baud=1_000_000)))
    assert split.proved


# A block of two branches: `add` reads what `first` and `second` give; every tensor has 8 bytes, a cut takes 1 s.
def block(n_devices: int, ram_bytes: int, seconds: tuple[tuple[float, ...], ...]) -> Problem:
    inputs = ((NETWORK_INPUT,), (0,), (0, 1))
    layers = tuple(
        LayerCosts.alike(f"l{k}", 1, 8 * (len(inputs[k]) + 1), 8, row, inputs[k]) for k, row in enumerate(seconds)
    )
    table = tuple(tuple(float(i != h) for h in range(n_devices)) for i in range(n_devices))
    devices = tuple(DeviceLimits(f"b{k}", 3, ram_bytes) for k in range(n_devices))
    return Problem(layers, devices, (table,) * 3, input_bytes=8)


def test_a_tensor_is_sent_once_to_a_device_that_reads_it_twice() -> None:
    problem = block(2, 24, ((1.0, 9.0), (9.0, 1.0), (9.0, 1.0)))
    split = label_search(problem)
    assert split.assignment == (0, 1, 1)
    assert split.objective == 1 + 1 + 1 + 1  # three layers and one cut
    assert [(cut.after_layer, cut.sender, cut.receiver) for cut in split.cuts] == [(0, 0, 1)]


def test_what_is_alive_counts_on_every_device() -> None:
    seconds = ((1.0, 9.0), (9.0, 1.0), (1.0, 9.0))
    # Layer 2 is alone on device b with its input and output, 16 bytes; a keeps the first output meanwhile.
    assert label_search(block(2, 24, seconds)).assignment == (0, 1, 0)
    small = replace(block(2, 24, seconds), devices=(DeviceLimits("a", 3, 23), DeviceLimits("b", 3, 24)))
    split = label_search(small)  # the join needs 24 bytes, which only b has
    assert split.assignment == (0, 1, 1)
    assert evaluate(small, split.assignment).ram_bytes == (16, 24)


def random_network(n_layers: int, n_devices: int, reach: int, seed: int) -> Problem:
    """A network whose layers read one or two of the `reach` layers before them, with some room in every memory."""
    rng = random.Random(seed)  # noqa: S311 (no secret)
    inputs = [{rng.randrange(max(-1, k - reach), k) for _ in range(rng.choice((1, 1, 2)))} for k in range(n_layers)]
    for k in range(n_layers - 1):
        if not any(k in read for read in inputs):
            inputs[rng.randrange(k + 1, min(n_layers, k + 1 + reach))].add(k)
    out_bytes = [rng.randint(1000, 20000) for _ in inputs]
    layers = tuple(
        LayerCosts.alike(
            f"l{k}",
            rng.randint(1000, 50000),
            sum(out_bytes[tensor] + 4 for tensor in (*read, k)),
            out_bytes[k],
            tuple(rng.uniform(0.1, 1) for _ in range(n_devices)),
            tuple(read),
        )
        for k, read in enumerate(inputs)
    )
    flash = sum(layer.flash_bytes[0] for layer in layers) // n_devices
    ram = max(layer.ram_bytes[0] for layer in layers)
    devices = tuple(DeviceLimits(f"b{k}", int(flash * 1.3), 2 * ram, 0.1, 0.05, 0.01) for k in range(n_devices))
    transfers = tuple(
        tuple(tuple(0.0 if i == h else size / 300_000 for h in range(n_devices)) for i in range(n_devices))
        for size in out_bytes
    )
    return Problem(layers, devices, transfers, input_bytes=3000)


@pytest.mark.parametrize("seed", range(2))
def test_wide_networks_have_a_true_gap_within_the_time(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_network(30, 4, 12, seed)
    clock = fake_clock(monkeypatch, tick_s=0.02)
    quick = label_search(problem, time_limit_s=1.0)
    assert clock.readings < 1.0 / 0.02 + 50  # those of a first narrow pass, which is always finished
    assert evaluate(problem, quick.assignment).is_feasible
    longer = label_search(problem, time_limit_s=2.5)
    assert quick.lower_bound <= longer.objective * (1 + 1e-9)
    assert longer.lower_bound <= longer.objective <= quick.objective * (1 + 1e-9)
    assert (quick.gap > 0) != quick.proved


def searched(problem: Problem, best: float = inf) -> LabelBounds | None:
    """Return bounds after 20 subgradient steps at the start, None where nothing is feasible."""
    resources = Resources(problem)
    graph = StateGraphBuilder(FusedLayerCosts(problem), resources).build(MOST_NODES[-1], inf, inf)
    if not graph or not graph.steps:
        return None
    bounds = LabelBounds(problem, resources, graph)
    bounds.begin(best)
    list(bounds.multipliers.fit([], 20, best, inf))
    bounds.begin(best)
    return bounds


@pytest.mark.parametrize("below_the_best", [False, True])
@pytest.mark.parametrize("definition", list(Period))
def test_no_bound_is_above_what_a_label_can_reach(definition: Period, below_the_best: bool) -> None:
    """Also those of knapsacks; `below_the_best`: runs may not take more than a slightly worse incumbent."""
    n_ways = 0
    for seed in range(100, 100 + cases(quick=10, full=40, nightly=500)):
        problem = replace(random_problem(seed), period_definition=definition, links=None, handoff=None)
        oracle = BruteForce(problem)
        best = oracle.least() * (1 + 1e-6) + 1e-9 if below_the_best else inf
        bounds = searched(problem, best)
        if bounds is None:
            continue
        every = np.arange(len(bounds.multipliers.weights))
        knapsacks = bounds.knapsacks(range(len(problem.devices)))
        labels = bounds.start()
        ways: list[tuple[int, ...]] = [()] * len(labels)
        for done in range(len(problem.layers)):
            labels = bounds.children(done, labels, inf)
            labels = bounds.bounded(done + 1, labels, every, inf)
            labels = bounds.raised(done + 1, labels, 10**9, inf, knapsacks)
            ways = [(*ways[row], int(device)) for row, device in zip(labels.parent, labels.device, strict=True)]
        for way, bound in zip(ways, labels.bounds, strict=True):
            figures = evaluate(problem, way)
            if figures.is_feasible and figures.value < best:
                n_ways += 1
                assert bound <= figures.value * (1 + 1e-9) + 1e-12, (seed, way)
    assert n_ways > (5 if below_the_best else 20)


def test_no_better_split_is_lost_where_runs_are_limited() -> None:
    """Labels that lead to the best split keep their places with an incumbent that is hardly worse."""
    for seed in range(cases(quick=15, full=60, nightly=1000)):
        problem = random_problem(seed, LOADED_CHAINS)
        best = BruteForce(problem).least()
        if not isfinite(best) or not best:
            continue
        bounds = searched(problem, best * (1 + 1e-6))
        assert bounds
        every = np.arange(len(bounds.multipliers.weights))
        knapsacks = bounds.knapsacks(range(len(problem.devices)))
        labels = bounds.start()
        for done in range(len(problem.layers)):
            labels = bounds.children(done, labels, best * (1 + 1e-6))
            labels = bounds.bounded(done + 1, labels, every, best * (1 + 1e-6))
            labels = bounds.raised(done + 1, labels, 10**9, best * (1 + 1e-6), knapsacks)
        assert len(labels), seed


def weighted(problem: Problem, weights: list[list[float]]) -> tuple[RunGraph, Target, Floats]:
    """Return graph, target and weights, which are those of the resources of a chain for latency."""
    resources = Resources(problem)
    graph = StateGraphBuilder(FusedLayerCosts(problem), resources).build(MOST_NODES[-1], inf, inf)
    assert graph
    target, _ = target_of(problem, resources)
    return RunGraph.of(graph, len(problem.devices), resources.limits), target, np.array(weights)


def test_a_knapsack_bound_gives_no_credit_for_flash_that_nothing_fits_into() -> None:
    layers = tuple(LayerCosts.alike(f"l{k}", 3, 1, 1, (1.0, 9.0)) for k in range(2))
    transfers = (((0.0, 0.5), (0.5, 0.0)),) * 2
    problem = Problem(layers, (DeviceLimits("a", 5, 1), DeviceLimits("b", 6, 1)), transfers)
    graph, target, weights = weighted(problem, [[1.0, 0.0, 0.0]])
    start, flash_of_a = np.zeros(1, dtype=np.intp), 1
    for n_cells, bound in ((100, 10.5), (1, 2.0)):  # counted in cells of 5 bytes both layers fit
        knapsack = KnapsackBounds(graph, target, weights, 0, flash_of_a, n_cells)
        found = [knapsack.of(0, start + node, start, np.zeros((1, 3)))[0, 0] for node in range(2)]
        assert min(found) == pytest.approx(bound)


@pytest.mark.parametrize("seed", range(20))
def test_multipliers_that_cancel_lift_no_bound(seed: int) -> None:
    """Flash that just suffices may cost anything: of two sums that grow with it a small difference is left."""
    problem = random_chain(6, 2, 1.5, seed)
    best = exhaustive_search(problem)
    full = tuple(
        replace(device, flash_bytes=used)
        for device, used in zip(problem.devices, best.figures.flash_bytes, strict=True)
    )
    multiplier = 1e8 * best.objective
    graph, target, weights = weighted(replace(problem, devices=full), [[1.0, multiplier, multiplier]])
    nodes = np.arange(len(graph.graph.entry))
    bounds = BoundTables(graph, target, weights).of(0, nodes, graph.graph.entry, np.zeros(1, dtype=np.intp))
    assert bounds.min() <= best.objective


@pytest.mark.parametrize("with_knapsacks", [False, True])
@pytest.mark.parametrize("width", [1, module.FIRST_WIDTH])  # 1: passes drop labels, and learn from them
def test_narrow_passes_agree_with_brute_force(
    width: int, with_knapsacks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_WIDTH", width)
    if with_knapsacks:
        monkeypatch.setattr(module, "KNAPSACK_WIDTH", 0)
        monkeypatch.setattr(knapsack_choice, "MAX_CELLS", 3 + 50 * width)  # few: rounding counts
        monkeypatch.setattr(knapsack_choice, "SAMPLE", width)
    for seed in range(N_NARROW):
        kinds = Kinds(fused=seed % 2 == 0)
        problem = random_problem(width * 10_000 + with_knapsacks * 5_000 + seed, kinds)
        check(problem, BruteForce(problem).least(), label_search)


def test_multipliers_are_not_fitted_to_complete_labels() -> None:
    problem = large_chain(4, 3, 0)
    bounds = searched(problem)
    assert bounds
    search = module._Search(bounds.graph, bounds.resources, Incumbent(problem), inf)
    labels = search.bounds.start()
    for done in range(4):
        labels = search.bounds.children(done, labels, inf)
    result = module._Pass(1, inf)
    assert len(search._narrowed(4, labels, 1, result)) == 1 < len(labels)
    assert result.is_narrowed
    assert result.lower_bound == np.sort(labels.bounds)[1]
    assert not result.dropped


def test_large_graphs_have_bounds_without_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lagrangian, "RUN_NUMBERS", 0)
    monkeypatch.setattr(module, "FIRST_WIDTH", 1)
    for seed in range(N_NARROW):
        problem = random_problem(seed)
        check(problem, BruteForce(problem).least(), label_search)


@pytest.mark.parametrize("objective", Objective)
@pytest.mark.parametrize("seed", range(2))
def test_bound_of_an_interrupted_search_is_true(objective: Objective, seed: int) -> None:
    problem = replace(with_power(large_chain(16, 3, seed), idle_w=0.01), objective=objective)
    early, late = label_search(problem, time_limit_s=0), label_search(problem)
    assert late.proved
    assert early.lower_bound <= late.objective * (1 + 1e-9)
    assert late.objective <= early.objective * (1 + 1e-9)


def test_a_larger_chain_is_proved_for_throughput() -> None:
    split = label_search(replace(large_chain(24, 4, 1), objective=Objective.THROUGHPUT), time_limit_s=120)
    assert split.proved


@pytest.mark.parametrize("idle_w", [0.0, 0.01])
def test_ends_in_time_with_a_bound(idle_w: float, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = large_chain(80, 6, 1)
    other = with_power(problem, idle_w) if idle_w else problem
    clock = fake_clock(monkeypatch, tick_s=0.05)
    split = label_search(other, time_limit_s=1)
    assert clock.readings < 1 / 0.05 + 80 + 20  # the first pass is always finished: one reading a layer
    assert evaluate(problem, split.assignment).is_feasible
    assert not split.proved
    assert 0 < split.gap <= 1


def test_nothing_found_in_time_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    # A slow board has to take one layer of 3 bytes; one label follows the fast one until it is full.
    layers = tuple(LayerCosts.alike(f"l{k}", 1 + 2 * (k > 3), 1, 1, (1.0, 9.0)) for k in range(6))
    transfers = (((0.0, 1.0), (1.0, 0.0)),) * 6
    problem = Problem(layers, (DeviceLimits("a", 4, 1), DeviceLimits("b", 6, 1)), transfers)
    monkeypatch.setattr(module, "FIRST_WIDTH", 1)
    monkeypatch.setattr(module, "FEW_STEPS", 0)
    assert label_search(problem).proved
    problem = Problem(layers, (DeviceLimits("a", 5, 1), DeviceLimits("b", 5, 1)), transfers)
    with pytest.raises(NoSplitError) as caught:
        label_search(problem, time_limit_s=0)
    assert not caught.value.proved


def test_many_boards_keep_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    tight = random_network(30, 48, 2, 1)
    needed = sum(layer.flash_bytes[0] for layer in tight.layers)
    problem = replace(tight, devices=tuple(replace(device, flash_bytes=needed // 4) for device in tight.devices))
    clock = fake_clock(monkeypatch, tick_s=0.05)
    split = label_search(problem, time_limit_s=1.0)
    assert clock.readings < 1.0 / 0.05 + 10
    assert evaluate(problem, split.assignment).is_feasible
    assert 0 < split.lower_bound <= split.objective


def test_the_old_period_starts_from_the_best_split_of_the_load() -> None:
    problem = replace(large_chain(12, 3, 1), objective=Objective.THROUGHPUT)
    by_load = label_search(problem)
    old = replace(problem, period_definition=Period.OLD)
    incumbent = Incumbent(old)
    start_from_load(old, incumbent, inf)
    assert incumbent.assignment == by_load.assignment
    assert incumbent.value <= by_load.objective
