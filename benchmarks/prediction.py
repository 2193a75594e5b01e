"""Predicted and measured L, T, I, period and energy of splits on virtual boards with real memory.

    .venv/bin/python benchmarks/prediction.py [--json] [--only TEXT] [--plot]

The networks are Tiny-CNN of examples/ and those of ../shared/models, none of which the calibration uses. Every pair of
boards gets every network with each of the three drivers of links, which hand tensors off as a whole, and with DMA row
by row; sets of three and four boards are split for throughput, without polling. Baud rates change from case to case.
The inputs are random: cycles hardly depend on them. L is that of each board, T that of each cut, both of whole
hand-offs; I, period and energy are those of the split. Energy is by the virtual boards' account of run and sleep
cycles, which proves cycles and not currents: of an inference alone, and in a stream. --plot also draws
docs/prediction.svg (extra `plots`). All of it takes more than an hour.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import count, product
from pathlib import Path

from rich.console import Console

from periods import NETWORKS, run_stream
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.split.problem import Objective
from tinysplit_hil.results.run_report import RunReport

PLOT = Path(__file__).parents[1] / "docs" / "prediction.svg"
G0, F4, F446, L412, L433, L4, L4R5, H7, H723 = (
    *("nucleo_g071rb", "nucleo_f401re", "nucleo_f446re", "nucleo_l412kb", "nucleo_l433rc_p", "nucleo_l452re"),
    *("nucleo_l4r5zi", "nucleo_h743zi", "nucleo_h723zg"),
)
PAIRS = ((G0, G0), (F4, F4), (L4, L4), (G0, F4), (L4R5, G0), (F446, L433), (L412, L4), (H7, F4), (H723, L4R5))
PIPELINES = ((G0, G0, G0), (L4, G0, F4), (F4, G0, L4, G0), (L4, L4, L4, L4))
WHOLE, STREAMED = HandOffMode.WHOLE, HandOffMode.STREAMED
BAUDS = {  # drivers other than DMA do not keep up with higher ones
    (LinkDriver.POLLING, WHOLE): (9_600, 38_400, 115_200),
    (LinkDriver.INTERRUPT, WHOLE): (57_600, 115_200, 19_200),
    (LinkDriver.DMA, WHOLE): (4_000_000, 921_600, 2_000_000, 3_000_000),
    (LinkDriver.DMA, STREAMED): (921_600, 2_000_000, 460_800),
}
TARGETS = {"L": 0.02, "T": 0.01, "I": 0.02, "period": 0.02, "energy": 0.03}
UNITS = {"energy": "J"}  # of all others: s


@dataclass(frozen=True)
class Case:
    """A network on boards, whose links have one baud rate and one driver."""

    network: str
    boards: tuple[str, ...]
    baud: int
    driver: LinkDriver
    mode: HandOffMode
    objective: Objective

    @property
    def title(self) -> str:
        """The case in messages."""
        return f"{self.network} on {', '.join(self.boards)}, {self.baud} baud, {self.hand_off}"

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


def cases() -> Iterator[Case]:
    """Yield all cases, the baud rates of a driver in turn."""
    turn = {how: count() for how in BAUDS}
    for network in NETWORKS:
        for boards, ((driver, mode), bauds) in product((*PAIRS, *PIPELINES), BAUDS.items()):
            objective = Objective.LATENCY if boards in PAIRS else Objective.THROUGHPUT
            if objective is Objective.LATENCY or (mode is WHOLE and driver is not LinkDriver.POLLING):
                baud = bauds[next(turn[driver, mode]) % len(bauds)]
                yield Case(network, boards, baud, driver, mode, objective)


def run_case(case: Case, messages: Console) -> RunReport:
    """Split, generate, build and measure a case. The errors are those of `pipeline.run`."""
    settings = CostSettings(
        baud=case.baud, link_driver=case.driver, hand_off=case.mode, objective=case.objective, use_all=True
    )
    return run_stream(case.network, case.boards, settings, messages)


def rows_of(case: Case, report: RunReport) -> Iterator[Row]:
    """Yield the quantities of a case."""
    found, project = report.measurement, report.measurement.project
    row = Row(case.network, case.boards, case.baud, case.hand_off, "", 0, 0.0, 0.0)
    for board in project.boards if case.mode is WHOLE else ():
        estimated_s = sum(layer.estimated_s for layer in project.layers if layer.board == board.number)
        measured_s = found.board_l_s(board.number)
        if measured_s:
            yield replace(row, quantity="L", of=board.number, estimated=estimated_s, measured=measured_s)
    for cut, sent in zip(project.cuts, found.measurement.cuts, strict=True):
        if not cut.is_streamed:
            yield replace(row, quantity="T", of=cut.number, estimated=cut.estimated_s, measured=sent.seconds.mean)
    yield replace(row, quantity="I", estimated=found.estimated.i_s, measured=found.measurement.i_s.mean)
    if found.stream and found.stream.period_s:
        yield replace(row, quantity="period", estimated=project.estimated_period_s, measured=found.stream.period_s)
    for _, energy in found.energies:
        estimated_j, measured_j = energy.energy_j(energy.estimated), energy.energy_j(energy.measured)
        if estimated_j and measured_j:
            yield replace(row, quantity="energy", estimated=estimated_j, measured=measured_j)


def lines(row: Row) -> str:
    """Return the row of the Markdown table; times in ms, energy in mJ."""
    name = f"{row.quantity} {row.of}" if row.of else row.quantity
    figures = (f"{1000 * row.estimated:.3f}", f"{1000 * row.measured:.3f}", f"{100 * row.error:+.2f} %")
    boards = ", ".join(row.boards)
    return f"| {row.network} | {boards} | {row.baud} | {row.hand_off} | {name} | {' | '.join(figures)} |"


def summary(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a table of the errors by quantity: mean, standard deviation, worst, and how many meet the target."""
    yield "| quantity | number | mean error | standard deviation | mean, without sign | worst | target | within it |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for quantity, target in TARGETS.items():
        errors = [row.error for row in rows if row.quantity == quantity]
        if errors:
            sizes = [abs(error) for error in errors]
            figures = (statistics.mean(errors), statistics.pstdev(errors), statistics.mean(sizes), max(errors, key=abs))
            cells = (*(f"{100 * each:+.2f} %" for each in figures), f"{100 * target:.0f} %")
            met = sum(size <= target for size in sizes)
            yield f"| {quantity} | {len(errors)} | {' | '.join(cells)} | {met} |"


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw predicted against measured on logarithmic axes, a colour a quantity."""
    import matplotlib.pyplot as plt  # noqa: PLC0415 (an optional extra)

    plt.rcParams["svg.fonttype"] = "none"
    plt.rcParams["svg.hashsalt"] = "prediction"
    figure, (values, errors) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for quantity in TARGETS:
        own = [row for row in rows if row.quantity == quantity]
        measured = [row.measured for row in own]
        values.loglog(measured, [row.estimated for row in own], ".", label=f"{quantity}, {UNITS.get(quantity, 's')}")
        errors.semilogx(measured, [100 * row.error for row in own], ".")
    ends = (min(row.measured for row in rows), max(row.measured for row in rows))
    values.loglog(ends, ends, "-", color="grey", linewidth=0.5)
    values.set(xlabel="measured", ylabel="predicted")
    values.legend()
    errors.set(xlabel="measured", ylabel="error, %")
    errors.axhline(0, color="grey", linewidth=0.5)
    figure.savefig(path, metadata={"Date": None})


def rows_or_why_not(case: Case) -> Sequence[Row]:
    """Return the rows of a case; none, and say why, where it cannot be measured."""
    try:
        return list(rows_of(case, run_case(case, Console(quiet=True))))
    except TinysplitError as error:
        Console(stderr=True).print(f"{case.title}: {error}", highlight=False, soft_wrap=True)
        return ()


def main() -> None:
    """Print a row a quantity as cases are done, then the errors by quantity, or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose title contains it")
    parser.add_argument("--plot", action="store_true", help="also draw docs/prediction.svg")
    options = parser.parse_args()
    chosen = [case for case in cases() if options.only in case.title and NETWORKS[case.network].exists()]
    rows: list[Row] = []
    with suppress(KeyboardInterrupt):  # then the rest is of the cases that are done
        for case in chosen:
            found = rows_or_why_not(case)
            rows += found
            if found and not options.json:
                print("\n".join(map(lines, found)), flush=True)
    if options.json:
        print(json.dumps({"rows": [asdict(row) | {"error": row.error} for row in rows]}, indent=2))
    else:
        print("\n" + "\n".join(summary(rows)))
    if options.plot and rows:
        plot(rows, PLOT)


if __name__ == "__main__":
    main()
