"""Predictions beside virtual boards: cycles of layers, and L, T, I, period and energy of whole splits.

Neither the layers nor the splits are among those that the calibration uses. Takes some two hours in all.
"""

import statistics
import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import count, groupby, product
from pathlib import Path
from typing import Any

import numpy as np

from common.bare_network import BOARDS, run_bare
from common.benchmark import JSON, ONLY, benchmark, option, plot
from common.networks import NETWORKS, Case, calibrated, chosen, chosen_networks
from common.plots import save_plot
from common.runs import run_stream
from common.tables import MarkdownTable, percent, print_json
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.calibration.conditions import table_for
from tinysplit.calibration.networks import UNSEEN_NETWORKS, random_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable, Work
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.integer_reference import quantize_input
from tinysplit.network.layers import Layer
from tinysplit.network.layers.window import layer_window
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.split.problem import Objective
from tinysplit_hil.results.run_report import RunReport

SMALL_CYCLES = 10_000  # layers with fewer cycles are reported separately


@dataclass(frozen=True, eq=False)
class MeasuredLayer:
    """One layer on one core; `number` counts from 1."""

    network: str
    number: int
    core: str
    bits: int
    source: LayerSource
    cycles: int

    @property
    def layer(self) -> Layer:
        """Description of the layer."""
        return self.source.quantized.layer

    @property
    def kind(self) -> str:
        """The key of the layer in the cost table."""
        return self.source.kernel.cost_kind(self.layer)

    @property
    def work(self) -> Work:
        """Executions of each part of the kernel."""
        return self.source.kernel.quantized_work(self.layer, self.source.quantized)

    def error(self, table: CycleTable) -> float:
        """Return the relative error of the estimate."""
        return self.estimate(table) / self.cycles - 1

    def estimate(self, table: CycleTable) -> float:
        """Return the cycles that the cost table predicts."""
        return table.kernel(self.core, self.bits, self.kind).of(self.work)


def unseen_layers(table: CycleTable, only: str) -> Iterator[MeasuredLayer]:
    """Yield the layers of `NETWORKS`, and of random networks, that are not used for the fit, each computed once."""
    for bits in (8, 16):
        for quantized, x in _unseen_networks(bits, only):
            for core, board in BOARDS.items():
                run = run_bare(table, quantized, board, x)
                for number, (source, cycles) in enumerate(zip(run.kernels, run.cycles, strict=True), 1):
                    yield MeasuredLayer(quantized.graph.name, number, core, bits, source, cycles)


def _unseen_networks(bits: int, only: str) -> Iterator[tuple[QuantizedGraph, IntArray]]:
    for network in chosen_networks(only).values():
        quantized, x = calibrated(network, network.graph(), bits)
        yield quantized, quantize_input(quantized, x)
    for seed in UNSEEN_NETWORKS:
        graph = random_network(seed)
        if only in graph.name:
            yield quantize_randomly(graph, bits)


@benchmark(
    "layers",
    "20 minutes",
    ONLY,
    option("--layers", action="store_true", help="also print the error of every layer"),
    option("--cost-table", type=Path, metavar="FILE", help="of `tinysplit calibrate`, in place of the table shipped"),
)
def layers(options: Namespace) -> None:
    """Compare the cost table's cycles with those of layers that the calibration did not use.

    The kernels run alone, without firmware and with ideal memory: this checks the calibration by another measurement.
    """
    table = table_for((), options.cost_table)
    unseen = list(unseen_layers(table, options.only))
    groups = [list(group) for _, group in groupby(unseen, lambda layer: (layer.network, layer.core, layer.bits))]
    numbers = ("bits", "cycles", "error %", "worst layer %", "small layer %")
    MarkdownTable("network", "core", numbers=numbers).print(_network_cells(group, table) for group in groups)
    for group in groups if options.layers else []:
        _print_layers(table, group)
    print()
    _print_percentiles(table, unseen)


def _network_cells(layers: Sequence[MeasuredLayer], table: CycleTable) -> Sequence[str | int | None]:
    first, cycles = layers[0], sum(layer.cycles for layer in layers)
    error = sum(layer.estimate(table) for layer in layers) / cycles - 1
    worst = (_worst(layers, table, is_small=is_small) for is_small in (False, True))
    return first.network, first.core, first.bits, cycles, f"{100 * error:+.1f}", *worst


def _worst(layers: Sequence[MeasuredLayer], table: CycleTable, *, is_small: bool) -> str | None:
    errors = [layer.error(table) for layer in layers if (layer.cycles < SMALL_CYCLES) is is_small]
    return f"{100 * max(errors, key=abs):+.1f}" if errors else None


def _print_layers(table: CycleTable, layers: Sequence[MeasuredLayer]) -> None:
    print(f"\n{layers[0].network}, {layers[0].core}, {layers[0].bits} bits\n")
    MarkdownTable("kind", "input", "output", "window", numbers=("#", "cycles", "error %")).print(
        (
            layer.kind,
            str(layer.layer.in_shape),
            str(layer.layer.out_shape),
            str(layer_window(layer.layer) or ""),
            layer.number,
            layer.cycles,
            f"{100 * layer.error(table):+.1f}",
        )
        for layer in layers
    )


def _print_percentiles(table: CycleTable, measured: Iterable[MeasuredLayer]) -> None:
    """Print the median and the 95th percentile of the errors of all but small layers, by core and bits."""
    errors: dict[tuple[str, int], list[float]] = defaultdict(list)
    for layer in measured:
        if layer.cycles >= SMALL_CYCLES:
            errors[layer.core, layer.bits].append(100 * abs(layer.error(table)))
    MarkdownTable("core", numbers=("bits", "layers", "median %", "95th percentile %", "worst %")).print(
        (core, bits, len(own), *(f"{each:.1f}" for each in (*np.percentile(own, (50, 95)), max(own))))
        for (core, bits), own in sorted(errors.items())
    )


G0 = "nucleo_g071rb"
F4 = "nucleo_f401re"
F446 = "nucleo_f446re"
L412 = "nucleo_l412kb"
L433 = "nucleo_l433rc_p"
L4 = "nucleo_l452re"
L4R5 = "nucleo_l4r5zi"
H7 = "nucleo_h743zi"
H723 = "nucleo_h723zg"
PAIRS = ((G0, G0), (F4, F4), (L4, L4), (G0, F4), (L4R5, G0), (F446, L433), (L412, L4), (H7, F4), (H723, L4R5))
PIPELINES = ((G0, G0, G0), (L4, G0, F4), (F4, G0, L4, G0), (L4, L4, L4, L4))
WHOLE, STREAMED = HandOffMode.WHOLE, HandOffMode.STREAMED
BAUDS = {  # drivers other than DMA do not keep up with higher ones
    (LinkDriver.POLLING, WHOLE): (9_600, 38_400, 115_200),
    (LinkDriver.INTERRUPT, WHOLE): (57_600, 115_200, 19_200),
    (LinkDriver.DMA, WHOLE): (4_000_000, 921_600, 2_000_000, 3_000_000),
    (LinkDriver.DMA, STREAMED): (921_600, 2_000_000, 460_800),
}
TARGETS = {  # median and 95th percentile of the errors without sign
    "L": (0.008, 0.025),
    "T": (0.004, 0.02),
    "I": (0.01, 0.03),
    "period": (0.01, 0.04),
    "energy": (0.02, 0.06),
}
SHORT_S = 1e-3  # L of boards that compute for less is left out of the summary
UNITS = {"energy": "J"}  # of all others: s


@dataclass(frozen=True)
class SplitCase(Case):
    """A network on boards, whose links have one baud rate and one driver."""

    driver: LinkDriver
    mode: HandOffMode
    objective: Objective

    @property
    def title(self) -> str:
        """The case in messages."""
        return f"{super().title}, {self.baud} baud, {self.hand_off}"

    @property
    def hand_off(self) -> str:
        """How tensors cross: the driver of the links, and whether it is row by row."""
        return f"{self.driver}, streamed" if self.mode is STREAMED else str(self.driver)


@dataclass(frozen=True)
class Row:
    """A quantity of a case in seconds, or joules; `of` is the number of the board or cut, from 1, else 0."""

    network: str
    boards: tuple[str, ...]
    baud: int
    hand_off: str
    quantity: str
    of: int
    estimated: float
    measured: float

    @property
    def error(self) -> float:
        """Of the estimate, relative to what was measured."""
        return self.estimated / self.measured - 1


def cases() -> Iterator[SplitCase]:
    """Yield all cases, the baud rates of a driver in turn."""
    turn = {how: count() for how in BAUDS}
    for network in NETWORKS:
        for boards, ((driver, mode), bauds) in product((*PAIRS, *PIPELINES), BAUDS.items()):
            objective = Objective.LATENCY if boards in PAIRS else Objective.THROUGHPUT
            if objective is Objective.LATENCY or (mode is WHOLE and driver is not LinkDriver.POLLING):
                baud = bauds[next(turn[driver, mode]) % len(bauds)]
                yield SplitCase(network, boards, baud, driver, mode, objective)


def run_split(case: SplitCase) -> RunReport:
    """Split, generate, build and measure a case. The errors are those of `run_stream`."""
    settings = CostSettings(link_driver=case.driver, hand_off=case.mode, objective=case.objective, use_all=True)
    return run_stream(case, settings)


def rows_of(case: SplitCase, report: RunReport) -> Iterator[Row]:
    """Yield the quantities of a case."""
    found, project = report.measurement, report.measurement.project
    row = Row(case.network, case.boards, case.baud, case.hand_off, "", 0, 0.0, 0.0)
    for board in project.boards if case.mode is WHOLE else ():
        estimated_s = sum(layer.estimated_s for layer in project.layers if layer.board == board.number)
        measured_s = found.board_l_s(board.number)
        if measured_s:
            yield replace(row, quantity="L", of=board.number, estimated=estimated_s, measured=measured_s)
    for sent in found.measurement.cuts:
        cut = sent.cut
        if not cut.is_streamed:
            yield replace(row, quantity="T", of=cut.number, estimated=cut.estimated_s, measured=sent.seconds.mean)
    yield replace(row, quantity="I", estimated=found.estimated.i_s, measured=found.measurement.i_s.mean)
    if found.stream and found.stream.period_s:
        yield replace(row, quantity="period", estimated=project.estimated_period_s, measured=found.stream.period_s)
    for _, energy in found.energies:
        estimated_j, measured_j = energy.energy_j(energy.estimated), energy.energy_j(energy.measured)
        if estimated_j and measured_j:
            yield replace(row, quantity="energy", estimated=estimated_j, measured=measured_j)


@benchmark("splits", "more than an hour", ONLY, JSON, plot("prediction.svg"))
def splits(options: Namespace) -> None:
    """Compare predicted L, T, I, period and energy of splits with those of virtual boards with real memory.

    Every pair of boards gets every network with each of the three drivers of links, which hand tensors off as a whole,
    and with DMA row by row; sets of three and four boards are split for throughput, without polling. Baud rates change
    from case to case. The inputs are random: cycles hardly depend on them. L is that of each board, T that of each cut,
    both of whole hand-offs; I, period and energy are those of the split. Energy is by the virtual boards' account of
    run and sleep cycles, which proves cycles and not currents: of an inference alone, and in a stream. Times in ms,
    energy in mJ; a row a quantity as cases are done, then the errors by quantity, L from 1 ms on. Ctrl-C leaves out the
    other cases.
    """
    rows: list[Row] = []

    def measured() -> Iterator[Row]:
        with suppress(KeyboardInterrupt):
            for case in chosen(cases(), options.only):
                for row in rows_or_why_not(case):
                    rows.append(row)
                    yield row

    if options.json:
        print_json({"rows": [asdict(row) | {"error": row.error} for row in measured()]})
    else:
        numbers = ("baud", "link", "quantity", "predicted", "measured", "error")
        MarkdownTable("network", "boards", numbers=numbers).print(map(_split_cells, measured()))
        print()
        errors = ("mean error", "median, without sign", "95th percentile", "worst")
        MarkdownTable("quantity", numbers=("number", *errors, "target")).print(summary(rows))
    if options.plot and rows:
        _plot(rows)


def _split_cells(row: Row) -> Sequence[str | int]:
    name = f"{row.quantity} {row.of}" if row.of else row.quantity
    figures = (f"{1000 * row.estimated:.3f}", f"{1000 * row.measured:.3f}", percent(row.error, 2))
    return row.network, ", ".join(row.boards), row.baud, row.hand_off, name, *figures


def summary(rows: Sequence[Row]) -> Iterator[Sequence[str | int]]:
    """Yield the errors of each quantity: mean with sign; median, 95th percentile and worst, beside the targets."""
    for quantity, (median, most) in TARGETS.items():
        own = [row for row in rows if row.quantity == quantity and (quantity != "L" or row.measured >= SHORT_S)]
        errors = [row.error for row in own]
        if errors:
            sizes = np.abs(errors)
            mean, worst = (percent(each, 2) for each in (statistics.mean(errors), max(errors, key=abs)))
            typical, large = (f"{100 * each:.2f} %" for each in np.percentile(sizes, (50, 95)))
            yield quantity, len(errors), mean, typical, large, worst, f"{median:.1%} / {most:.1%}"


def _plot(rows: Sequence[Row]) -> None:
    """Draw predicted against measured on logarithmic axes, a colour a quantity."""

    def draw(panels: Sequence[Any]) -> None:
        values, errors = panels
        for quantity in TARGETS:
            own = [row for row in rows if row.quantity == quantity]
            measured, unit = [row.measured for row in own], UNITS.get(quantity, "s")
            values.loglog(measured, [row.estimated for row in own], ".", label=f"{quantity}, {unit}")
            errors.semilogx(measured, [100 * row.error for row in own], ".")
        ends = (min(row.measured for row in rows), max(row.measured for row in rows))
        values.loglog(ends, ends, "-", color="grey", linewidth=0.5)
        values.set(xlabel="measured", ylabel="predicted")
        values.legend()
        errors.set(xlabel="measured", ylabel="error, %")
        errors.axhline(0, color="grey", linewidth=0.5)

    save_plot("prediction", 2, (9, 4), draw)


def rows_or_why_not(case: SplitCase) -> Sequence[Row]:
    """Return the rows of a case; none, and say why, where it cannot be measured."""
    try:
        return list(rows_of(case, run_split(case)))
    except TinysplitError as error:
        print(f"{case.title}: {error}", file=sys.stderr)
        return ()
