"""Layers divided over boards: estimated and measured latency, and the solvers that find the divisions.

Networks have 8 bits. Takes some 30 minutes in all.
"""

import tempfile
import time
from argparse import Namespace
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from common.benchmark import JSON, ONLY, benchmark, limit, option, plot
from common.divisions import BITS, sliced_network, solve_timed
from common.networks import NETWORKS, QUIET, Case, chosen, chosen_networks, random_samples
from common.plots import save_plot
from common.runs import run_case
from common.tables import Cell, MarkdownTable, grouped, milliseconds, print_json
from divisions.every_placement import SmallCase
from tinysplit.boards.catalog import load_all, load_board
from tinysplit.boards.link_rates import SHORT_WIRES_BAUD, agree
from tinysplit.build.folder import build_folder
from tinysplit.calibration.networks import random_network
from tinysplit.common.choices import Slices, SliceSolver
from tinysplit.common.errors import InputError
from tinysplit.common.units import MS
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.pipeline import describe_split, generate_folder, place, split_network
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact.search import best_choice
from tinysplit.slices.links import with_links
from tinysplit.slices.part_costs import PartCosts
from tinysplit.slices.settings import Search
from tinysplit.split import clock
from tinysplit.split.explain.reasons import placement_text
from tinysplit.split.problem import is_better
from tinysplit.split.solution import Considered, Split
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.results.run_report import RunReport

G0 = "nucleo_g071rb"
SEED, CALIBRATION = 13, 8


@dataclass(frozen=True)
class MeasuredCase(Case):
    """A network on boards of one type; `target` is the wanted share of the latency of one of them."""

    target: float


MEASURED_CASES = (
    MeasuredCase("KWS", (G0,) * 2, 3_000_000, 0.53),
    MeasuredCase("ResNet-8", (G0,) * 2, 3_000_000, 0.46),
    MeasuredCase("ResNet-8", (G0,) * 4, 3_000_000, 0.25),
    MeasuredCase("ResNet-8", (G0,) * 4, 1_000_000, 0.31),
    MeasuredCase("Tiny-CNN", (G0,) * 2, 3_000_000, 0.68),
)


@dataclass(frozen=True)
class Row:
    """What was estimated and measured, in seconds."""

    network: str
    boards: str
    baud: int
    one_board_i_s: float
    estimated_i_s: float
    measured_i_s: float
    target: float

    @property
    def share(self) -> float:
        """Measured latency over that of one board."""
        return self.measured_i_s / self.one_board_i_s

    @property
    def error_percent(self) -> float:
        """Estimate over measurement."""
        return 100 * (self.estimated_i_s / self.measured_i_s - 1)


def measure_case(case: MeasuredCase) -> Row:
    """Return the figures of a case."""
    report = _run(case, Slices.ROWS)
    return Row(
        network=case.network,
        boards=case.boards_text,
        baud=case.baud,
        one_board_i_s=_one_board_s(case.network, case.boards[0]),
        estimated_i_s=report.measurement.project.estimated_i_s,
        measured_i_s=report.measurement.measurement.i_s.mean,
        target=case.target,
    )


@cache
def _one_board_s(network: str, board: str) -> float:
    return _run(Case(network, (board,), SHORT_WIRES_BAUD), Slices.NONE).measurement.measurement.i_s.mean


def _run(case: Case, slices: Slices) -> RunReport:
    shape = (CALIBRATION, *case.graph().sample_shape)
    x = np.random.default_rng(SEED).normal(size=shape).astype(np.float32)
    return run_case(case, CostSettings(), x, MeasureSettings(sample_count=1), Search(slices=slices))


@benchmark("measured", "5 minutes", ONLY, JSON)
def measured(options: Namespace) -> None:
    """Measure the latency of layers divided by rows on virtual boards, beside estimates and that of one board.

    The inputs are random: cycles hardly depend on them. "share" is that of one board's latency.
    """
    rows = map(measure_case, chosen(MEASURED_CASES, options.only))
    if options.json:
        shares = ({"share": row.share, "error_percent": row.error_percent} | asdict(row) for row in rows)
        print_json({"rows": list(shares)})
        return
    numbers = ("baud", "one board, ms", "estimated, ms", "measured, ms", "error", "share", "wanted")
    MarkdownTable("network", "boards", numbers=numbers).print(map(_measured_cells, rows))


def _measured_cells(row: Row) -> Sequence[Cell]:
    times = map(milliseconds, (row.one_board_i_s, row.estimated_i_s, row.measured_i_s))
    return (
        row.network,
        row.boards,
        row.baud,
        *times,
        f"{row.error_percent:+.1f} %",
        f"{row.share:.3f}",
        f"{row.target:.2f}",
    )


KBAUD = 1000
COLORS = {"KWS": "tab:blue", "ResNet-8": "tab:red", "Tiny-CNN": "tab:green"}
COUNTS, BAUD = (1, 2, 3, 4), 3_000_000
TWO, BAUDS = 2, (115_200, 230_400, 460_800, 921_600, 1_000_000, 2_000_000, 3_000_000, 4_000_000)
MEASURED_BAUDS = (460_800, 1_000_000, 3_000_000)
SHOWN_BAUDS = (115_200, 230_400, 460_800, 1_000_000, 2_000_000, 4_000_000)  # on the axis, not too close
LOWEST_BAUDS = (9_600, 19_200, 38_400, 57_600, *BAUDS)


@dataclass(frozen=True)
class Point:
    """Latency I in seconds of a network on boards of one type; measured on virtual boards, or None."""

    network: str
    n_boards: int
    baud: int
    estimated_i_s: float
    estimated_speed_up: float
    measured_i_s: float | None = None
    measured_speed_up: float | None = None


@cache
def split_of(network: str, n_boards: int, baud: int, slices: Slices) -> Split:
    """Return the split with the least estimated latency."""
    boards, settings = (G0,) * n_boards, CostSettings(baud=baud)
    context = Context.load(NETWORKS[network].model, boards, settings, QUIET).of_quantized_file()
    return split_network(context, Search(slices=slices))


@cache
def point_of(network: str, n_boards: int, baud: int, *, is_measured: bool) -> Point:
    """Return the latency and the speed-up at a point."""
    one_s = split_of(network, 1, BAUD, Slices.NONE).objective
    estimated_s = split_of(network, n_boards, baud, Slices.ROWS).objective
    estimated = Point(network, n_boards, baud, estimated_s, one_s / estimated_s)
    if not is_measured:
        return estimated
    row = measure_case(MeasuredCase(network, (G0,) * n_boards, baud, target=1 / n_boards))
    return Point(**asdict(estimated) | {"measured_i_s": row.measured_i_s, "measured_speed_up": 1 / row.share})


def pays(network: str, baud: int) -> bool:
    """Return whether two boards with divided layers are estimated to be faster than the best split of whole layers."""
    split = split_of(network, TWO, baud, Slices.ROWS)
    return split.distributions is not None and len(set(split.assignment)) > 1


def lowest_baud(network: str) -> int | None:
    """Return the lowest of LOWEST_BAUDS from which dividing pays, by bisection, as a faster link never harms."""
    found = bisect_left(LOWEST_BAUDS, x=True, key=lambda baud: pays(network, baud))
    return LOWEST_BAUDS[found] if found < len(LOWEST_BAUDS) else None


def links_make(baud: int) -> bool:
    """Return whether the UARTs of two boards make a rate."""
    uart = load_board(G0).link_uarts[0]
    return agree(uart, uart, baud)


@benchmark(
    "growth",
    "5 minutes, 20 with --measure",
    ONLY,
    JSON,
    plot("slices_growth.svg"),
    option("--measure", action="store_true", help="also measure some points on virtual boards"),
)
def growth(options: Namespace) -> None:
    """Estimate the speed-up by dividing layers against the number of boards and the baud rate, and measure it.

    The speed-up is the latency of one NUCLEO-G071RB over that of several, whose layers are divided by rows where that
    is estimated to be better than the best split of whole layers.
    """
    networks = [network for network in chosen_networks(options.only) if network in COLORS]
    by_boards = [point_of(each, n, BAUD, is_measured=options.measure) for each in networks for n in COUNTS]
    by_baud = [
        point_of(each, TWO, baud, is_measured=options.measure and baud in MEASURED_BAUDS)
        for each in networks
        for baud in BAUDS
        if links_make(baud)
    ]
    lowest = {network: lowest_baud(network) for network in networks}
    if options.json:
        print_json({"boards": by_boards, "baud": by_baud, "lowest_baud": lowest})
    else:
        for points in (by_boards, by_baud):
            numbers = ("boards", "baud", "estimated, ms", "speed-up", "measured, ms", "speed-up")
            MarkdownTable("network", numbers=numbers).print(map(_point_cells, points))
            print()
        for network, baud in lowest.items():
            print(f"{network}: dividing layers over {TWO} boards pays from {grouped(baud) if baud else 'no'} baud")
    if options.plot:
        _plot(by_boards, by_baud)


def _point_cells(point: Point) -> Sequence[Cell]:
    estimated = (milliseconds(point.estimated_i_s), f"{point.estimated_speed_up:.2f}")
    speed_up = None if point.measured_speed_up is None else f"{point.measured_speed_up:.2f}"
    return point.network, point.n_boards, point.baud, *estimated, milliseconds(point.measured_i_s), speed_up


def _plot(by_boards: Sequence[Point], by_baud: Sequence[Point]) -> None:
    """Draw the speed-up against boards and against the baud rate."""

    def draw(panels: Sequence[Any]) -> None:
        left, right = panels
        _draw(left, {point: point.n_boards for point in by_boards})
        left.plot(COUNTS, COUNTS, ":", color="gray")
        left.set(xlabel="boards (links at 3 Mbaud)", ylabel="speed-up over one NUCLEO-G071RB")
        left.set(xticks=COUNTS, ylim=(0, None))
        _draw(right, {point: point.baud / KBAUD for point in by_baud})
        right.axhline(TWO, linestyle=":", color="gray", label="number of boards")
        right.set(xlabel="baud rate in kbaud (2 boards)", xscale="log")
        right.set_xticks([baud / KBAUD for baud in SHOWN_BAUDS], [f"{baud / KBAUD:g}" for baud in SHOWN_BAUDS])
        right.minorticks_off()
        right.plot([], [], color="black", label="estimated")
        right.plot([], [], "o", color="black", label="measured on virtual boards")
        right.legend(loc="upper left")

    save_plot("slices_growth", 2, (10, 4), draw, sharey=True)


def _draw(panel: Any, positions: Mapping[Point, float]) -> None:  # noqa: ANN401 (matplotlib is not always there)
    """Draw a line of estimates for each network, and a marker for each measurement."""
    panel.grid(alpha=0.3)
    for network, color in COLORS.items():
        own = [(x, point) for point, x in positions.items() if point.network == network]
        panel.plot([x for x, _ in own], [point.estimated_speed_up for _, point in own], color=color, label=network)
        measured = [(x, point.measured_speed_up) for x, point in own if point.measured_speed_up is not None]
        panel.plot([x for x, _ in measured], [y for _, y in measured], "o", color=color)


CASES = (
    Case("Tiny-CNN", (G0,) * 2, 3_000_000),
    Case("KWS", (G0,) * 2, 3_000_000),
    Case("KWS", (G0,) * 4, 3_000_000),
    Case("ResNet-8", (G0,) * 2, 3_000_000),
    Case("ResNet-8", (G0,) * 4, 3_000_000),
    Case("ResNet-8", (G0,) * 4, 1_000_000),
    Case("MobileNet v1 0.25", ("nucleo_f401re",) * 4, 2_000_000),
)
RANDOM_NETWORKS = (*range(200, 208), 209, 210)  # seeds; 208 does not fit


@benchmark("exact", "a minute", ONLY, limit(2.0))
def exact(options: Namespace) -> None:
    """Measure the exact search: options, seconds of costs and of the search, and how far it is proved.

    Each case is a network on boards of one type, divided by rows and channels. Value and bound are those of the
    search's model (docs/understand/slices.md).
    """
    numbers = ("baud", "options a tensor", "costs, s", "search, s", "value, ms", "gap")
    table = MarkdownTable("network", "boards", numbers=numbers)
    table.print(_exact_cells(case, options.limit) for case in chosen(CASES, options.only))


def _exact_cells(case: Case, limit_s: float) -> Sequence[Cell]:
    graph, boards = case.graph(), load_all(case.boards)
    order = tuple(range(len(boards)))
    settings = with_links(CostSettings(baud=case.baud, bits=BITS), boards, order, 0)
    start = time.perf_counter()
    costs = PartCosts(shipped_table(), graph, boards, settings, BitWidths.of(graph, BITS))
    problem = DistributionModel.of(costs, order, tuple(SliceAxis), 0, 0).problem
    costs_s = time.perf_counter() - start
    found = best_choice(problem, clock.now() + limit_s)
    search_s = time.perf_counter() - start - costs_s
    gap = 1 - found.lower_bound / found.value
    n_options = max(stage.n_options for stage in problem.stages)
    proof = "proved" if gap <= 0 else f"{100 * gap:.2f} %"
    times = (f"{costs_s:.2f}", f"{search_s:.2f}", milliseconds(found.value))
    return case.network, case.boards_text, case.baud, n_options, *times, proof


@benchmark("solvers", "10 minutes", ONLY, limit(20.0))
def solvers(options: Namespace) -> None:
    """Compare the solvers for divided layers: value in ms, seconds, gap.

    Each case is a network on boards of one type, minimal latency by the event timeline of the firmware; ten networks
    are random. The gap is that to the solver's own lower bound, if it has one: by a model that leaves out some of what
    the firmware does, among its options (docs/understand/slices.md), so that it is not 0, and below 0 for a division
    that is no option.
    """
    table = MarkdownTable("network", "boards", numbers=("baud",), last=tuple(SliceSolver))
    table.print(
        (
            case.network,
            case.boards_text,
            case.baud,
            *(_answer(solver, graph, case, options.limit) for solver in SliceSolver),
        )
        for graph, case in compared(options.only)
    )


def compared(only: str) -> Iterator[tuple[Graph, Case]]:
    """Yield the chosen ones of published networks, and of random ones on two and on four boards in turn."""
    yield from ((case.graph(), case) for case in chosen(CASES, only))
    for seed in RANDOM_NETWORKS:
        graph = random_network(seed)
        case = Case(graph.name, (G0,) * (2 + 2 * (seed % 2)), 3_000_000)
        if only in case.title:
            yield graph, case


def _answer(solver: SliceSolver, graph: Graph, case: Case, limit_s: float) -> str:
    """Return what a solver answers: its value, the time that it took, and its gap."""
    answer, seconds = solve_timed(solver, sliced_network(graph, case.boards, case.baud), tuple(SliceAxis), limit_s)
    if answer.best is None:
        return f"none; {seconds:.1f} s"
    value = answer.best.figures.value
    gap = (f"{100 * (1 - answer.lower_bound / value):.1f} %",) if answer.lower_bound else ()
    return "; ".join((f"{1000 * value:.2f}", f"{seconds:.1f} s", *gap))


@benchmark(
    "enumeration",
    "8 seconds a case",
    option("--first", type=int, default=0, help="number of the first case"),
    option("--count", type=int, default=50, help="cases"),
)
def enumeration(options: Namespace) -> None:
    """Compare the default answers of `split` with all placements, by the figures of the generated programs.

    Networks have two or three layers, which two boards have whole, divided between any two rows, or at half of their
    channels, with input and output on any board. Prints the cases in which a placement is better, and their number.
    """
    worse = 0
    for seed in range(options.first, options.first + options.count):
        case = SmallCase.of(seed)
        found, best = case.found(), case.best_of_all()
        if is_better(best, found.value):
            worse += 1
            late = ", at the time limit" * found.ended_by_time
            print(f"{seed}: {case.title}: {100 * (found.value / best - 1):.2f} % worse{late}", flush=True)
    print(f"{options.count} cases: {worse} worse than the best of all placements")


F4 = "nucleo_f401re"
ORDERED = (
    *(Case(network, pair, 3_000_000) for network in ("Tiny-CNN", "KWS") for pair in ((G0, G0), (G0, F4), (F4, F4))),
    *(Case("ResNet-8", pair, 1_000_000) for pair in ((G0, G0), (G0, F4), (F4, F4))),
    Case("MobileNet v1 0.25", (F4, F4), 1_000_000),
)
N_NEXT = 4


@benchmark("order", "20 minutes", ONLY)
def order(options: Namespace) -> None:
    """Measure the placement that `split` takes and the four next ones that it knows, on virtual boards.

    "behind" is by how much the taken one is slower than the fastest measured of the five.
    """
    table = MarkdownTable("network", "boards", numbers=("baud", "taken, ms", "next, ms", "behind"))
    table.print(map(_order_cells, chosen(ORDERED, options.only)))


def _order_cells(case: Case) -> Sequence[Cell]:
    context = Context.load(NETWORKS[case.network].model, case.boards, CostSettings(baud=case.baud), QUIET)
    split = split_network(context, Search())
    known = {placement_text(each.placement): each for each in sorted(split.considered, key=lambda each: each.value)}
    known.pop(placement_text(split.placement), None)
    first_s = _measured_s(context, split)
    next_s = [each_s for each in list(known.values())[:N_NEXT] if (each_s := _considered_s(context, each))]
    behind = f"{100 * (first_s / min([first_s, *next_s]) - 1):.1f} %"
    return (
        case.network,
        case.boards_text,
        case.baud,
        milliseconds(first_s),
        ", ".join(f"{MS * each:.2f}" for each in next_s),
        behind,
    )


def _considered_s(context: Context, considered: Considered) -> float | None:
    """Return the measured latency of a placement in seconds, None where its programs do not fit the boards."""
    links = context.settings.links if considered.links is None else considered.links
    wired = replace(context, settings=replace(context.settings, links=links))
    try:
        return _measured_s(wired, place(wired, considered.placement))
    except InputError:
        return None


def _measured_s(context: Context, split: Split) -> float:
    """Return the measured latency of a split in seconds."""
    file = describe_split(context, split)
    settings = replace(context.settings, baud=file.settings.baud, links=file.settings.links)
    context = replace(context, settings=settings)
    network = next(each for each in NETWORKS.values() if each.model == context.model)
    with tempfile.TemporaryDirectory() as name:
        folder, samples = Path(name) / "out", Path(name) / "samples.npz"
        np.savez(samples, x=random_samples(network, context.graph, CALIBRATION, SEED).x)
        project = generate_folder(context, file, samples, folder)
        build_folder(project, folder, QUIET).check()
        report = measure_folder(project, folder, samples, MeasureSettings(sample_count=1), QUIET)
    report.check()
    return report.measurement.i_s.mean
