"""Searches as published: geometric programs (Carballo-Hernández 2023) and the search in two phases (Dariol 2023).

All values are estimates; nothing runs on boards. Takes some 10 minutes in all; the geometric programs need the extra
`geometric`.
"""

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, product
from math import inf
from statistics import median
from typing import Any

from common.benchmark import ONLY, benchmark, limit, option, plot
from common.divisions import sliced_network, solve_timed
from common.networks import NETWORKS, Case, chosen, small_network
from common.plots import save_plot
from common.tables import Cell, MarkdownTable, milliseconds, percent
from splits.all_choices import all_choices
from tinysplit.boards.catalog import load_all
from tinysplit.common.choices import Slices, SliceSolver
from tinysplit.common.units import MS
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.distribution import SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.papers.reproduce.division_models import (
    FIGURE_3_LAYER,
    RESOURCES,
    ConvolutionSize,
    cpu_gpu_fpga_problem,
    gpu_fpga_problem,
)
from tinysplit.papers.reproduce.division_models import NETWORKS as PUBLISHED_NETWORKS
from tinysplit.papers.reproduce.division_tables import figure_3, figure_5, figure_9
from tinysplit.papers.solvers.geometric.exact import best_division
from tinysplit.papers.solvers.geometric.problem import DividedLayer, DivisionProblem
from tinysplit.papers.solvers.geometric.program import Formulation
from tinysplit.papers.solvers.geometric.tightening import Settings, Tightening, tighten
from tinysplit.papers.solvers.two_phase.search import two_phase_search
from tinysplit.slices.result import SliceResult
from tinysplit.slices.solvers import AXES
from tinysplit.split import clock
from tinysplit.split.solve import solve

COLORS = {"CPU": "tab:red", "FPGA": "tab:blue", "GPU": "tab:green"}
REPEATS = 20
WITHIN = 1.001  # of the optimum


@benchmark("tightening", "10 s", plot("tightening.svg"))
def tightening(options: Namespace) -> None:
    """Compute Figures 3 to 5 and 9 of Carballo-Hernández 2023, gains of remedies and times of exact divisions.

    Prints the tables of docs/develop/geometric_program.md: all steps, the division of each layer of the published
    networks, what variants of the program and its remedies change, each beside the exact optimum.
    """
    for title, found in (("Figures 3 and 4", figure_3()), ("Figure 5", figure_5())):
        print(f"{title}\n")
        _print_steps(found)
    for name, sizes in PUBLISHED_NETWORKS.items():
        print(f"\nFigure 9, {name}\n")
        numbers = ("layer", "side", "channels", "as published", "against CPU", "optimum", "side by side")
        MarkdownTable(numbers=numbers).print(_figure_9(sizes))
    print()
    variants = ("alpha", "steps", "FPGA + GPU", "ms", "optimum", "ms")
    MarkdownTable("variant", numbers=variants).print(_variants())
    print()
    remedies = ("layers", "median", "largest", "optimal", "steps", "ms")
    MarkdownTable("devices", "start", numbers=remedies).print(_remedies())
    print()
    MarkdownTable("exact, ms", numbers=("2 devices", "3", "4", "6")).print(_exact_times())
    if options.plot:
        _plot(figure_3(), figure_5())


def _print_steps(found: Tightening) -> None:
    """Print the steps of a layer: weight, channels of each device, sum of shares, cost."""
    names = [device.name for device in found.problem.devices]
    rows: list[Sequence[Cell]] = [
        (
            str(number),
            f"{step.weights[0]:.5g}",
            *(f"{part:.2f}" for part in step.division[0]),
            f"{found.shares(step)[0]:.4f}",
            f"{step.cost:.5g}",
        )
        for number, step in enumerate(found.steps, 1)
    ]
    shares = sum(found.channels[0]) / found.problem.layers[0].channels
    rows.append(("rounded", None, *found.channels[0], f"{shares:.4f}", f"{found.cost:.5g}"))
    MarkdownTable(numbers=("step", "alpha", *names, "sum of shares", found.problem.objective)).print(rows)


def _figure_9(sizes: tuple[ConvolutionSize, ...]) -> Iterator[Sequence[Cell]]:
    """Yield the published division of each layer, and the optima of the sum and side by side, on CPU + FPGA + GPU."""
    for number, size in enumerate(sizes, 1):
        found, problem = figure_9(size), cpu_gpu_fpga_problem([size])
        gain = problem.layer_cost(0, (size.channels, 0, 0)) / found.accepted.cost
        best = [best_division(replace(problem, side_by_side=side_by_side)) for side_by_side in (False, True)]
        divisions = (_sum(found.channels[0]), f"{gain:.2f}", *map(_sum, best))
        yield number, size.side, size.channels, *divisions


def _variants() -> Iterator[Sequence[Cell]]:
    """Yield what each variant of the program makes of the layer of Figure 3, and the exact optimum beside it."""
    published = gpu_fpga_problem(FIGURE_3_LAYER, resources=("ALM", "LAB"))
    side_by_side, with_outputs = replace(published, side_by_side=True), replace(published, counts_outputs=True)
    steps_of_10 = Settings(weight_step=10.0)
    variants = {
        "as published": (published, steps_of_10),
        "formula 8 as printed": (published, replace(steps_of_10, formulation=Formulation(is_formula_8=True))),
        "M20K limited": (gpu_fpga_problem(FIGURE_3_LAYER, resources=RESOURCES), steps_of_10),
        "S(x), k = 100": (published, replace(steps_of_10, formulation=Formulation(communication_k=100))),
        "at least 4 channels": (published, replace(steps_of_10, formulation=Formulation(min_channels=4))),
        "start renewed": (published, replace(steps_of_10, renews_start=True, keeps_sums=True)),
        "outputs counted": (with_outputs, steps_of_10),
        "side by side": (side_by_side, replace(steps_of_10, keeps_sums=True)),
    }
    for name, (problem, settings) in variants.items():
        found, best = tighten(problem, settings), best_division(problem)
        yield (
            name,
            f"{found.accepted.weights[0]:g}",
            len(found.steps),
            _sum(found.channels[0]),
            f"{found.cost:.1f}",
            _sum(best),
            f"{problem.layer_cost(0, best):.1f}",
        )


def _sum(channels: tuple[int, ...]) -> str:
    return " + ".join(map(str, channels))


def _remedies() -> Iterator[Sequence[Cell]]:
    """Yield the cost above the optimum, over all different layers of the three networks."""
    sizes = sorted({size for network in PUBLISHED_NETWORKS.values() for size in network}, key=lambda size: size.side)
    literal = Settings(Formulation(min_channels=0.1))
    for side_by_side in (False, True):
        for renews in (False, True):
            settings = replace(literal, renews_start=renews, keeps_sums=True)
            excess, steps, times = zip(*_runs(sizes, settings, side_by_side=side_by_side), strict=True)
            yield (
                "side by side" if side_by_side else "sum",
                "renewed" if renews else "fixed",
                len(sizes),
                f"{median(excess):.3f}",
                f"{max(excess):.3f}",
                sum(e < WITHIN for e in excess),
                f"{median(steps):.0f}",
                f"{MS * median(times):.0f}",
            )


def _runs(
    sizes: list[ConvolutionSize], settings: Settings, *, side_by_side: bool
) -> Iterator[tuple[float, int, float]]:
    """Yield cost over the optimum, steps and seconds of each layer."""
    for size in sizes:
        problem = replace(cpu_gpu_fpga_problem([size]), side_by_side=side_by_side)
        begin = time.perf_counter()
        found = tighten(problem, settings)
        yield found.cost / problem.layer_cost(0, best_division(problem)), len(found.steps), time.perf_counter() - begin


def _exact_times() -> Iterator[Sequence[Cell]]:
    """Yield the median time of the exact division against channels and devices."""
    for channels in (64, 256, 512, 1024):
        cells = (f"{MS * _exact_s(_repeated(channels, devices)):.2f}" for devices in (2, 3, 4, 6))
        yield f"{channels} channels", *cells


def _repeated(channels: int, devices: int) -> DivisionProblem:
    """Return a layer on `devices` devices, CPUs, FPGAs and GPUs in turn."""
    problem = cpu_gpu_fpga_problem([ConvolutionSize(14, channels, 3, 512)])
    layer = problem.layers[0]
    repeated = DividedLayer(layer.name, channels, (layer.parts * devices)[:devices])
    return DivisionProblem((problem.devices * devices)[:devices], (repeated,), side_by_side=True)


def _exact_s(problem: DivisionProblem) -> float:
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        best_division(problem)
        times.append(time.perf_counter() - begin)
    return median(times)


def _plot(two: Tightening, three: Tightening) -> None:
    """Draw channels by step on two devices, their latency, and channels by step on three."""

    def draw(panels: Sequence[Any]) -> None:
        bars, line, more_bars = panels
        for panel, found, title in ((bars, two, "Figure 3"), (more_bars, three, "Figure 5")):
            weights = [step.weights[0] for step in found.steps]
            parts = zip(*(step.division[0] for step in found.steps), strict=True)
            names = [device.name for device in found.problem.devices]
            panel.stackplot(weights, *parts, labels=names, colors=[COLORS[name] for name in names])
            panel.axhline(found.problem.layers[0].channels, color="black", linewidth=0.8)
            panel.set(title=title, xlabel="penalty weight alpha", ylabel="channels")
            panel.legend(loc="upper left")
        line.plot([step.weights[0] for step in two.steps], [step.cost for step in two.steps], "D-", color="tab:purple")
        line.set(title="Figure 4", xlabel="penalty weight alpha", ylabel="ms without penalty")

    save_plot("tightening", 3, (10, 3), draw)


GEOMETRIC_CASES = tuple(
    Case(network, ("nucleo_g071rb",) * n_boards, 3_000_000)
    for network, n_boards in product(("Tiny-CNN", "KWS", "ResNet-8"), (2, 4))
)
SLICES = option("--slices", type=Slices, default=Slices.AUTO, help="rows, channels or auto: whichever is better")


@benchmark("geometric", "3 minutes", ONLY, SLICES, limit(10.0))
def geometric(options: Namespace) -> None:
    """Compare layers divided by the published geometric program with the exact solver: latency, time and steps.

    Each case is a network on boards of one type. Latencies are those of the generated firmware, estimated
    (docs/develop/geometric_program.md).
    """
    _solved(GEOMETRIC_CASES[0], SliceSolver.GEOMETRIC, Slices.ROWS, options.limit)  # imports cvxpy, loads tables
    program = ("steps", "largest error", "geometric, s", "geometric, ms", "exact, s", "exact, ms", "above exact")
    table = MarkdownTable("network", "boards", "divided by", numbers=("whole layers, ms", *program))
    table.print(_geometric_cells(case, options) for case in chosen(GEOMETRIC_CASES, options.only))


def _geometric_cells(case: Case, options: Namespace) -> Sequence[Cell]:
    (own, own_s), (exact, exact_s) = (
        _solved(case, solver, options.slices, options.limit) for solver in (SliceSolver.GEOMETRIC, SliceSolver.EXACT)
    )
    steps = own.report.data.get("tightening", {})
    errors = [fit["largest_error"] for fit in steps.get("fits", ()) if fit["what"] == "compute"]
    is_known = own.best and exact.best
    return (
        case.network,
        case.boards_text,
        steps.get("axis", ""),
        milliseconds(whole_layers_s(case)),
        len(steps.get("steps", ())),
        f"{100 * max(errors, default=0):.1f} %",
        f"{own_s:.1f}",
        _latency(own),
        f"{exact_s:.1f}",
        _latency(exact),
        percent(_value(own) / _value(exact) - 1) if is_known else None,
    )


def _solved(case: Case, solver: SliceSolver, slices: Slices, limit_s: float) -> tuple[SliceResult, float]:
    return solve_timed(solver, sliced_network(case.graph(), case.boards, case.baud), AXES[slices], limit_s)


def _value(found: SliceResult) -> float:
    """Return the estimated latency in seconds, infinite if nothing is feasible."""
    return found.best.figures.value if found.best else inf


def _latency(found: SliceResult) -> str | None:
    return milliseconds(_value(found)) if found.best else "infeasible"


def whole_layers_s(case: Case) -> float:
    """Return the estimated latency of the best split of whole layers."""
    return solve(
        make_problem(shipped_table(), case.graph(), load_all(case.boards), CostSettings(baud=case.baud))
    ).objective


LIMIT_S = 60.0
RANDOM_NETWORKS = range(6)  # seeds
BAUDS = (3_000_000, 1_000_000)
BOARDS = ("nucleo_g071rb",) * 2


@benchmark("two-phase", "5 minutes", ONLY)
def two_phase(options: Namespace) -> None:
    """Compare the search in two phases with all choices, each by the event timeline of the firmware.

    As Dariol 2023 compares its searches with exhaustive ones: is the best choice among the 50 that the analytical model
    keeps, and which share of all choices is the answer better than? The networks are small ones on two boards, with
    links of two baud rates in turn.
    """
    work = ("baud", "all choices", "clusterings", "all, s", "two phases, s", "best, ms", "answer, ms", "best kept")
    answers = ("better than choices", "better than clusterings", "rank in phase 1", "rank correlation")
    graphs = (NETWORKS["Tiny-CNN"].graph(), *map(small_network, RANDOM_NETWORKS))
    cases = zip(graphs, cycle(BAUDS), strict=False)
    table = MarkdownTable("network", numbers=(*work, *answers))
    table.print(_two_phase_cells(graph, baud) for graph, baud in cases if options.only in graph.name)


def _two_phase_cells(graph: Graph, baud: int) -> Sequence[Cell]:
    network = sliced_network(graph, BOARDS, baud)
    start = time.perf_counter()
    every = all_choices(network, tuple(SliceAxis))
    all_s = time.perf_counter() - start
    found = two_phase_search(network, tuple(SliceAxis), clock.now() + LIMIT_S)
    counts = (graph.name, baud, len(every.values), len(every.clusterings), f"{all_s:.1f}")
    times = f"{found.phase_1_s:.2f} + {found.phase_2_s:.1f}", milliseconds(every.values[every.best])
    if found.best is None:
        return *counts, *times, *(None for _ in range(6))
    value = found.best.figures.value
    return (
        *counts,
        *times,
        milliseconds(value),
        "yes" if every.keeps_best(found) else "no",
        f"{100 * every.share_of_worse(value):.2f} %",
        f"{100 * every.share_of_worse_clusterings(value):.2f} %",
        found.rank_of_best,
        f"{found.rank_correlation:.2f}",
    )
