"""Figures 3, 4, 5, 7, 8 and 9 and Table 1 of Carballo-Hernández 2023, computed for comparison."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from math import sqrt

from tinysplit.common.errors import CheckFailedError
from tinysplit.common.units import MS, PERCENT
from tinysplit.papers.reproduce.division_figures import (
    FORMULA_8,
    GAINS,
    GPU_ALONE,
    KNOWN_DIFFERENCES,
    LITERATURE,
    M20K,
    MEASURED_BY_OTHERS,
    NO_ENERGY,
    NO_NUMBER,
    TOO_LARGE,
    ZHAO_IN_THE_TEXT,
)
from tinysplit.papers.reproduce.division_models import (
    FIGURE_3_LAYER,
    NETWORKS,
    RESOURCES,
    ConvolutionSize,
    cpu_gpu_fpga_problem,
    gpu_fpga_problem,
)
from tinysplit.papers.reproduce.reproduction import Convention, Row
from tinysplit.papers.solvers.geometric.exact import best_division
from tinysplit.papers.solvers.geometric.program import Formulation, GeometricProgram
from tinysplit.papers.solvers.geometric.tightening import Settings, Tightening, equal_parts, tighten

CARBALLO = "Carballo-Hernández 2023"  # docs/reference/references.md
LIMITED = ("ALM", "LAB")  # M20K would exclude what is published
WEIGHT_STEP = 10.0
STEPS_AFTER = 10  # steps of Figure 4 after the accepted one
ONE_LAYER = Settings(weight_step=WEIGHT_STEP)
WHOLE_NETWORK = Settings(Formulation(min_channels=0.1), weight_step=WEIGHT_STEP, factors=(1000, 100, 10, 1))
CPU, FPGA, GPU = range(3)
FIGURE_3 = (Convention.TIGHTENED, Convention.NO_M20K)
MODELS = (Convention.UNLIMITED, Convention.SIDES)
FIGURE_9 = (Convention.TIGHTENED, Convention.THIRDS, *MODELS)
MOSTLY = 80  # %, of the input image on the FPGA


def division_rows() -> tuple[Row, ...]:
    """Return all rows. Raises ToolError if cvxpy is not installed."""
    figures = (_abstract(), _figure_3(), _figure_4(), _figure_5(), _figure_7(), _figure_8(), _figure_9(), _table_1())
    return tuple(row for figure in figures for row in figure)


@cache
def figure_3() -> Tightening:
    """Return the tightening of Figures 3 and 4: a layer on FPGA and GPU."""
    return tighten(gpu_fpga_problem(FIGURE_3_LAYER, resources=LIMITED), ONE_LAYER)


@cache
def figure_5() -> Tightening:
    """Return the tightening of Figure 5: the same layer on CPU, FPGA and GPU."""
    return tighten(cpu_gpu_fpga_problem([FIGURE_3_LAYER], resources=LIMITED), ONE_LAYER)


@cache
def figure_9(size: ConvolutionSize, *, side_by_side: bool = False) -> Tightening:
    """Return the tightening of a layer of Figure 9 on CPU, FPGA and GPU."""
    return tighten(replace(cpu_gpu_fpga_problem([size]), side_by_side=side_by_side), WHOLE_NETWORK)


def _row(
    table: str, row: str, quantity: str, published: str, ours: str, *conventions: Convention, why: str = ""
) -> Row:
    reason = (
        "" if published == ours else why or (KNOWN_DIFFERENCES.get((row, quantity), "") if published else NO_NUMBER)
    )
    return Row(CARBALLO, table, row, quantity, published, ours, conventions if ours else (), reason)


def _abstract() -> Iterator[Row]:
    tightening = figure_3()
    saved = 1 - tightening.cost / tightening.problem.cost(equal_parts(tightening.problem))
    row = "against equal parts"
    yield _row("Abstract", row, "latency saved, %", "20", f"{PERCENT * saved:.0f}", *FIGURE_3)
    yield _row("Abstract", row, "energy saved, %", "15", "", why=NO_ENERGY)


def _figure_3() -> Iterator[Row]:
    tightening, row = figure_3(), "C = 16"
    yield _row("Figure 3", row, "alpha", "170", f"{tightening.accepted.weights[0]:g}", *FIGURE_3)
    yield _row("Figure 3", row, "step", "17", str(len(tightening.steps)), *FIGURE_3)
    yield _row("Figure 3", row, "FPGA + GPU", "14 + 2", _parts(tightening.channels[0]), *FIGURE_3)
    yield _row("Figure 3", row, "ms", "", f"{tightening.cost:.1f}", *FIGURE_3)
    printed = tighten(tightening.problem, replace(ONE_LAYER, formulation=Formulation(is_formula_8=True)))
    yield _row("Figure 3", "by formula 8", "alpha", "", f"{printed.accepted.weights[0]:g}", *FIGURE_3, why=FORMULA_8)
    limited = tighten(gpu_fpga_problem(FIGURE_3_LAYER, resources=RESOURCES), ONE_LAYER)
    for quantity, ours in (("alpha", f"{limited.accepted.weights[0]:g}"), ("FPGA + GPU", _parts(limited.channels[0]))):
        yield _row("Figure 3", "M20K limited", quantity, "", ours, Convention.TIGHTENED, why=M20K)
    renewed = tighten(tightening.problem, replace(ONE_LAYER, renews_start=True, keeps_sums=True))
    yield _row("Figure 3", "condensed anew", "FPGA + GPU", "", _parts(renewed.channels[0]), *FIGURE_3)
    exact = best_division(tightening.problem)
    yield _row("Figure 3", "optimum", "FPGA + GPU", "", _parts(exact), Convention.NO_M20K)
    yield _row("Figure 3", "optimum", "ms", "", f"{tightening.problem.layer_cost(0, exact):.1f}", Convention.NO_M20K)


def _figure_4() -> Iterator[Row]:
    tightening = figure_3()
    costs = [step.cost for step in tightening.steps]
    rises = all(a <= b for a, b in pairwise(costs))
    after = [tightening.problem.cost(division) for division in _after(tightening)]
    row = "ms without penalty"
    yield _row("Figure 4", row, "steps 1 to 17", "rising", "rising" if rises else "", *FIGURE_3)
    yield _row("Figure 4", row, "after step 17", "higher", "higher" if min(after) > costs[-1] else "", *FIGURE_3)
    yield _row("Figure 4", row, "step 1", "", f"{costs[0]:.1f}", *FIGURE_3)
    yield _row("Figure 4", row, "step 17", "", f"{costs[-1]:.1f}", *FIGURE_3)


def _after(tightening: Tightening) -> Iterator[tuple[tuple[float, ...], ...]]:
    """Yield the divisions of the steps after the accepted one."""
    program = GeometricProgram(tightening.problem, ONE_LAYER.formulation)
    for step in range(1, STEPS_AFTER + 1):
        yield program.solve([tightening.accepted.weights[0] + step * WEIGHT_STEP], equal_parts(tightening.problem))


def _figure_5() -> Iterator[Row]:
    tightening, row = figure_5(), "C = 16, with CPU"
    channels = tightening.channels[0]
    largest = tightening.problem.devices[channels.index(max(channels))].name
    yield _row("Figure 5", row, "most channels on", "FPGA", largest, *FIGURE_3)
    yield _row("Figure 5", row, "alpha", "", f"{tightening.accepted.weights[0]:g}", *FIGURE_3)
    yield _row("Figure 5", row, "CPU + FPGA + GPU", "", _parts(channels), *FIGURE_3)
    exact = best_division(tightening.problem)
    yield _row("Figure 5", "optimum", "CPU + FPGA + GPU", "", _parts(exact), Convention.NO_M20K)


def _figure_7() -> Iterator[Row]:
    for k in (1, 10, 100):
        for share in (0.5, 0.9, 1.0):
            yield _row("Figure 7", f"k = {k}", f"S({share:g})", "", f"{share ** (2 * k):.2g}")


def _figure_8() -> Iterator[Row]:
    yield _row("Figure 8", "k = 100", "norm of H - S", "0.12", f"{1 / sqrt(4 * 100 + 1):.2f}")


def _figure_9() -> Iterator[Row]:
    for name, sizes in NETWORKS.items():
        first = PERCENT * figure_9(sizes[0]).accepted.division[0][FPGA] / sizes[0].channels
        ours = f"over {MOSTLY} %" if first > MOSTLY else f"{first:.0f} %"
        yield _row("Figure 9", name, "input image on FPGA", f"over {MOSTLY} %", ours, *FIGURE_9)
        if name == "ResNet18":
            wide = figure_9(sizes[1], side_by_side=True).channels[0][FPGA]
            yield _row("Figure 9", name, "layer 2, FPGA of 64", "61", str(wide), *FIGURE_9, Convention.MAXIMUM)
            last = str(figure_9(sizes[-1]).channels[0][GPU])
            yield _row("Figure 9", name, "last layers, GPU of 512", "352", last, *FIGURE_9)
        published = sum(figure_9(size).accepted.cost for size in sizes)
        yield _row("Figure 9", name, "s, as published", "", _seconds(published), *FIGURE_9)
        yield from _not_split(name, sizes)
        yield _row(
            "Figure 9", name, "all resources limited", "", _within_limits(sizes), Convention.SIDES, why=TOO_LARGE
        )


def _not_split(name: str, sizes: tuple[ConvolutionSize, ...]) -> Iterator[Row]:
    """Yield the seconds of a network on each device alone, and at the optimum of each layer."""
    problem = cpu_gpu_fpga_problem(sizes)
    for number, device in enumerate(problem.devices):
        alone = problem.cost([_alone(size.channels, number) for size in sizes])
        yield _row("Figure 9", name, f"s, {device.name} alone", "", _seconds(alone), *MODELS)
    for quantity, side_by_side in (("s, optimum of the sum", False), ("s, optimum side by side", True)):
        best = sum(_optimum(size, side_by_side=side_by_side) for size in sizes)
        yield _row("Figure 9", name, quantity, "", _seconds(best), *MODELS)
    limited = sum(_optimum(size, resources=RESOURCES) for size in sizes)
    yield _row("Figure 9", name, "s, optimum, limited", "", _seconds(limited), Convention.SIDES, why=GPU_ALONE)


def _within_limits(sizes: tuple[ConvolutionSize, ...]) -> str:
    """Return whether formula 14 has a solution with all its resources limited."""
    try:
        tighten(cpu_gpu_fpga_problem(sizes, resources=RESOURCES), Settings())
    except CheckFailedError:
        return "no solution"
    return "a solution"


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / MS:.0f}"


def _alone(channels: int, device: int) -> tuple[float, ...]:
    return tuple(channels if number == device else 0 for number in range(3))


def _optimum(size: ConvolutionSize, *, side_by_side: bool = False, resources: Iterable[str] = ()) -> float:
    problem = replace(cpu_gpu_fpga_problem([size], resources=resources), side_by_side=side_by_side)
    return problem.layer_cost(0, best_division(problem))


def _table_1() -> Iterator[Row]:
    for name, printed in GAINS.items():
        gains = [_gain(figure_9(size)) for size in NETWORKS[name][1:]]
        for quantity, published, ours in zip(
            ("least gain", "largest gain"), printed, (min(gains), max(gains)), strict=True
        ):
            yield _row("1", name, quantity, published, f"{ours:.1f}", *FIGURE_9, Convention.NOT_THE_FIRST)
    for work, network, gain in LITERATURE:
        why = ZHAO_IN_THE_TEXT if work.startswith("Zhao") else MEASURED_BY_OTHERS
        yield _row("1", work, f"{network}, gain", gain, "", why=why)


def _gain(tightening: Tightening) -> float:
    """Return how many times as long as its parts the whole layer takes on the CPU."""
    return (
        tightening.problem.layer_cost(0, _alone(tightening.problem.layers[0].channels, CPU)) / tightening.accepted.cost
    )


def _parts(channels: tuple[int, ...]) -> str:
    return " + ".join(map(str, channels))
