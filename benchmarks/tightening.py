"""Geometric programs of Carballo-Hernández 2023: Figures 3 to 5 and 9, gains of the remedies, times of exact divisions.

python benchmarks/tightening.py             # prints the tables of docs/geometric_program.md
python benchmarks/tightening.py --plot      # also draws docs/tightening.svg (extra `plots`)
"""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

from rich.console import Console
from rich.table import Table

from tinysplit.common.tables import plain_table
from tinysplit.common.units import MS
from tinysplit.papers.reproduce.division_models import (
    FIGURE_3_LAYER,
    NETWORKS,
    RESOURCES,
    ConvolutionSize,
    cpu_gpu_fpga_problem,
    gpu_fpga_problem,
)
from tinysplit.papers.reproduce.division_tables import figure_3, figure_5, figure_9
from tinysplit.papers.solvers.geometric.exact import best_division
from tinysplit.papers.solvers.geometric.problem import DividedLayer, DivisionProblem
from tinysplit.papers.solvers.geometric.program import Formulation
from tinysplit.papers.solvers.geometric.report import tightening_table
from tinysplit.papers.solvers.geometric.tightening import Settings, Tightening, tighten

PLOT = Path(__file__).parents[1] / "docs" / "tightening.svg"
COLORS = {"CPU": "tab:red", "FPGA": "tab:blue", "GPU": "tab:green"}
REPEATS = 20
WITHIN = 1.001  # of the optimum


def main() -> None:
    """Print the tables, and draw if asked."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--plot", action="store_true", help=f"draw {PLOT.name}")
    console = Console(width=100)
    plotted = parser.parse_args().plot
    for title, found in (("Figures 3 and 4", figure_3()), ("Figure 5", figure_5())):
        console.print(title, style="bold", highlight=False)
        console.print(tightening_table(found))
    for name, sizes in NETWORKS.items():
        console.print(f"Figure 9, {name}", style="bold", highlight=False)
        console.print(_figure_9(sizes))
    console.print(_variants())
    console.print(_remedies())
    console.print(_exact_times())
    if plotted:
        _plot(figure_3(), figure_5())


def _figure_9(sizes: tuple[ConvolutionSize, ...]) -> Table:
    """Return the published division of each layer, and the optima of the sum and side by side, on CPU + FPGA + GPU."""
    table = plain_table(numbers=("layer", "side", "channels", "as published", "against CPU", "optimum", "side by side"))
    for number, size in enumerate(sizes, 1):
        found, problem = figure_9(size), cpu_gpu_fpga_problem([size])
        gain = problem.layer_cost(0, (size.channels, 0, 0)) / found.accepted.cost
        best = [best_division(replace(problem, side_by_side=side_by_side)) for side_by_side in (False, True)]
        divisions = (_sum(found.channels[0]), f"{gain:.2f}", *map(_sum, best))
        table.add_row(str(number), str(size.side), str(size.channels), *divisions)
    return table


def _variants() -> Table:
    """Return what each variant of the program makes of the layer of Figure 3, and the exact optimum beside it."""
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
    table = plain_table("variant", numbers=("alpha", "steps", "FPGA + GPU", "ms", "optimum", "ms"))
    for name, (problem, settings) in variants.items():
        found, best = tighten(problem, settings), best_division(problem)
        table.add_row(
            *(name, f"{found.accepted.weights[0]:g}", str(len(found.steps)), _sum(found.channels[0])),
            *(f"{found.cost:.1f}", _sum(best), f"{problem.layer_cost(0, best):.1f}"),
        )
    return table


def _sum(channels: tuple[int, ...]) -> str:
    return " + ".join(map(str, channels))


def _remedies() -> Table:
    """Return the cost above the optimum, over all different layers of the three networks."""
    sizes = sorted({size for network in NETWORKS.values() for size in network}, key=lambda size: size.side)
    literal = Settings(Formulation(min_channels=0.1))
    table = plain_table("devices", "start", numbers=("layers", "median", "largest", "optimal", "steps", "ms"))
    for side_by_side in (False, True):
        for renews in (False, True):
            settings = replace(literal, renews_start=renews, keeps_sums=True)
            excess, steps, times = zip(*_runs(sizes, settings, side_by_side=side_by_side), strict=True)
            table.add_row(
                *("side by side" if side_by_side else "sum", "renewed" if renews else "fixed"),
                *(str(len(sizes)), f"{median(excess):.3f}", f"{max(excess):.3f}", str(sum(e < WITHIN for e in excess))),
                *(f"{median(steps):.0f}", f"{MS * median(times):.0f}"),
            )
    return table


def _runs(
    sizes: list[ConvolutionSize], settings: Settings, *, side_by_side: bool
) -> Iterator[tuple[float, int, float]]:
    """Yield cost over the optimum, steps and seconds of each layer."""
    for size in sizes:
        problem = replace(cpu_gpu_fpga_problem([size]), side_by_side=side_by_side)
        begin = perf_counter()
        found = tighten(problem, settings)
        yield found.cost / problem.layer_cost(0, best_division(problem)), len(found.steps), perf_counter() - begin


def _exact_times() -> Table:
    """Return the median time of the exact division against channels and devices."""
    table = plain_table("exact, ms", numbers=("2 devices", "3", "4", "6"))
    for channels in (64, 256, 512, 1024):
        cells = (f"{MS * _exact_s(_repeated(channels, devices)):.2f}" for devices in (2, 3, 4, 6))
        table.add_row(f"{channels} channels", *cells)
    return table


def _repeated(channels: int, devices: int) -> DivisionProblem:
    """Return a layer on `devices` devices, CPUs, FPGAs and GPUs in turn."""
    problem = cpu_gpu_fpga_problem([ConvolutionSize(14, channels, 3, 512)])
    layer = problem.layers[0]
    repeated = DividedLayer(layer.name, channels, (layer.parts * devices)[:devices])
    return DivisionProblem((problem.devices * devices)[:devices], (repeated,), side_by_side=True)


def _exact_s(problem: DivisionProblem) -> float:
    times = []
    for _ in range(REPEATS):
        begin = perf_counter()
        best_division(problem)
        times.append(perf_counter() - begin)
    return median(times)


def _plot(two: Tightening, three: Tightening) -> None:
    """Draw channels by step on two devices, their latency, and channels by step on three, or say what is missing."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415 (an optional extra)
    except ImportError:
        print("not drawn: pip install 'tinysplit[plots]'", file=sys.stderr)
        return
    plt.rcParams["svg.fonttype"] = "none"  # text is not converted to paths: smaller files
    plt.rcParams["svg.hashsalt"] = "tightening"  # reproducible output
    figure, (bars, line, more_bars) = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
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
    figure.savefig(PLOT, metadata={"Date": None})


if __name__ == "__main__":
    main()
