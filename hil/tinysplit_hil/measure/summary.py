"""What a measurement prints: one screen, whatever the number of boards; `tables` has the rest, for a file."""

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from tinysplit.boards.less_sure import less_sure
from tinysplit.build.report import BuildReport
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MILLI, MS
from tinysplit.split.report.split import Use
from tinysplit_hil.measure.energy_report import Energy
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.measure.tables import (
    difference_text,
    print_failures,
    print_limit,
    print_outputs,
    rig_title,
)
from tinysplit_hil.measure.timeline.report import print_timeline_report

MOST_BOARDS = 10  # rows of a screen


def print_summary(report: MeasureReport, build: BuildReport | None, console: Console) -> None:
    """Print the latency, whether outputs are right, a line for each board, L, T and I, the period, and energies."""
    console.print(_answer(report), highlight=False, style="bold")
    print_outputs(report, console)
    console.print(_board_table(report, build))
    if len(report.project.boards) > 1:
        console.print(_latency_table(report))
    for line in (*_period(report), *_energies(report)):
        console.print(line, highlight=False)
    if report.stream:
        print_limit(report.stream, console)
    if report.timeline:
        print_timeline_report(report.timeline, console)
    if report.failures:
        print_failures(report, console)
    if rules := report.measurement.rig.timing:
        console.print(f"note: rules of time of {rules}", highlight=False, markup=False, soft_wrap=True)
    for note in less_sure(report.virtual_boards):
        console.print(note, highlight=False, soft_wrap=True)


def _answer(report: MeasureReport) -> str:
    estimated_s, measured_s = report.estimated.i_s, report.measured.i_s
    difference = f" ({difference_text(estimated_s, measured_s)})" if estimated_s else ""
    times = f"{measured_s * MS:.2f} ms on {rig_title(report)}, {estimated_s * MS:.2f} ms estimated{difference}"
    return f"latency {times}: {counted(len(report.measurement.samples), 'sample')} of {report.project.model.name}"


def _board_table(report: MeasureReport, build: BuildReport | None) -> Table:
    memories = ("flash KB", "RAM KB") if build else ()
    table = plain_table("board", numbers=("L ms", "est. ms", "diff.", *memories, "stack"))
    built = {each.board.number: each.sizes for each in build.boards} if build else {}
    boards = report.project.boards
    for board in boards[:MOST_BOARDS]:
        estimated_s = sum(each.estimated_s for each in report.project.layers if each.board == board.number)
        measured_s = report.board_l_s(board.number)
        times = (f"{MS * measured_s:.2f}", f"{MS * estimated_s:.2f}", difference_text(estimated_s, measured_s))
        cells: list[str] = []
        if sizes := built.get(board.number):
            ram_bytes = sum(use.memory.size_bytes for use in sizes.ram)
            own = Use(sizes.flash.used_bytes, sizes.flash.memory.size_bytes, sizes.ram_bytes, ram_bytes)
            cells.extend(own.cells)
        stack = report.stacks.get(board.number)
        used = f"{stack.used_bytes} of {stack.stack_bytes}" if stack else "-"
        table.add_row(f"{board.number} {board.name}", *times, *cells, used)
    if len(boards) > MOST_BOARDS:
        table.add_row(f"and {counted(len(boards) - MOST_BOARDS, 'board')} more")
    return table


def _latency_table(report: MeasureReport) -> Table:
    """Return L, T and I by the boards' clocks, beside the estimate."""
    table = plain_table("ms", numbers=("L", "T", "I" if report.project.overlaps else "I = L + T"))
    estimated, measured = report.estimated.values, report.measured.values
    table.add_row("estimated", *(f"{MS * value:.2f}" for value in estimated))
    table.add_row("measured", *(f"{MS * value:.2f}" for value in measured))
    if not report.project.overlaps:
        table.add_row("from START to DONE", "", "", f"{MS * report.measurement.i_s.mean:.2f}")
    return table


def _period(report: MeasureReport) -> Iterator[str]:
    """Yield the period of a stream."""
    stream, project = report.stream, report.project
    if stream is None:
        return
    estimated_s = project.estimated_period_s
    alone = ""
    if project.one_board_period_s is not None:
        alone = f"; best single board {MS * project.one_board_period_s:.2f} ms, estimated"
    if stream.period_s is None:
        yield f"period not measured: too few outputs between failures; {MS * estimated_s:.2f} ms estimated{alone}"
        return
    difference = difference_text(estimated_s, stream.period_s)
    rate = f"{1 / stream.period_s:.2f} inferences/s"
    yield f"period {MS * stream.period_s:.2f} ms, {rate}, {MS * estimated_s:.2f} ms estimated ({difference}){alone}"


def _energies(report: MeasureReport) -> Iterator[str]:
    """Yield the energy of an inference of each kind, measured where it is, or why there is none."""
    if not report.project.estimated_alone:
        return
    for title, energy in report.energies:
        if reason := energy.why_not or energy.why_not_measured:
            yield reason
        texts = [f"{text} {how}" for how in ("measured", "estimated") if (text := _energy(energy, how))]
        if texts:
            yield f"energy of an inference, {title}: {', '.join(texts)} (MCUs only)"


def _energy(energy: Energy, how: str) -> str:
    joules = energy.energy_j(energy.measured if how == "measured" else energy.estimated)
    return "" if joules is None else f"{MILLI * joules:.3f} mJ"
