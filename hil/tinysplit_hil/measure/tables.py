"""The tables of a measurement: layers, cuts, failures, outputs; L, T, I as in Santamaria 2021, Table 5; the period."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from tinysplit.common.tables import PlainTable, plain_table
from tinysplit.common.units import MS
from tinysplit.project.manifest import ProjectCut, ProjectLayer
from tinysplit.settings.fixed_point import BITS
from tinysplit_hil.measure.energy_report import print_energy
from tinysplit_hil.measure.report import MeasureReport
from tinysplit_hil.measure.stream import Stream
from tinysplit_hil.measure.timeline.layer_parts import PartTimes
from tinysplit_hil.measure.timeline.report import print_timeline_report

TIMES = ("est. ms", "meas. ms", "diff.")

# Santamaria 2021, Table 5: Tiny-CNN in float32 on two STM32G071RB; L, T, I in seconds.
PUBLISHED_BOARDS = ("nucleo_g071rb", "nucleo_g071rb")
PUBLISHED_MACC = 809_146
PUBLISHED_ROWS = (
    ("Santamaria 2021, Table 5, Model", 3.88, 0.22, 4.10),
    ("Santamaria 2021, Table 5, Experimental", 3.56, 0.25, 3.81),
)
LARGE_L2R = 0.5
LARGE_SHARE = 0.9
MOST_FAILURES = 10  # that are printed; the files have all
SHORT_BITS = 8

NOT_COMPARED = "-"
STREAMED_NOTE = "Streamed: estimated on the wire, measured from the first row to the last, while boards compute."
PUBLISHED_NOTE = "Santamaria 2021: float32, X-CUBE-AI 7.1, real boards; Model counts 8 bit times per byte."


def print_measurement(report: MeasureReport, console: Console) -> None:
    """Print all tables: a row for each layer, cut, part and board; `summary` prints what fits a screen."""
    project = report.project
    console.print(f"Measured on {report.measurement.rig.note}.", "", highlight=False, sep="\n")
    _print(f"Computation: L of {project.model.name} by layer and board", _layer_table(report), console)
    if report.parts:
        _print("What each board does for each layer, in ms; one inference", _part_table(report), console)
    if project.cuts:
        note = f"\n{STREAMED_NOTE}" if project.has_streamed_cuts else ""
        _print(f"Communication: T by cut{note}", _cut_table(report), console)
    if report.timeline:
        print_timeline_report(report.timeline, console)
        console.print()
    if report.failures:
        print_failures(report, console)
    print_outputs(report, console)
    console.print()
    _print("Over all samples, in ms; I from START to DONE", _statistics_table(report), console)
    published = f"\n{PUBLISHED_NOTE}" if _is_published_case(report) else ""
    _print(f"Latency of one inference{_of_slowest(report)}{published}", _latency_table(report), console)
    if report.stream:
        copies = f", on {len(project.copies)} copies of the network" if len(project.copies) > 1 else ""
        how = f"{len(report.stream.samples)} inferences in a stream{copies}, {project.input_source.text}"
        _print(f"Period of {how}", _period_table(report, report.stream), console)
        print_limit(report.stream, console)
    for number, stack in report.stacks.items():
        line = f"{project.board(number).title}: {stack.used_bytes} of {stack.stack_bytes} bytes of the stack used"
        console.print(line, highlight=False)
    if project.estimated_alone:
        console.print()
        print_energy(report.energies, console)


def _print(title: str, table: PlainTable, console: Console) -> None:
    console.print(title, style="bold", highlight=False)
    console.print(table, "")


def _layer_table(report: MeasureReport) -> PlainTable:
    """Return a table with a row per layer and per board."""
    project = report.project
    measured = report.measurement.layers
    table = plain_table("#", "layer", "kind", numbers=("board", "cycles", "c/MACC", *TIMES))
    for time in measured:
        layer = time.layer
        table.add_row(
            str(layer.number),
            _layer_name(layer),
            layer.kind,
            str(layer.board),
            *_cycles(time.cycles.mean, layer.macc),
            *_times(layer.estimated_s, time.seconds.mean),
        )
    for board in project.boards:
        own = [time for time in measured if time.layer.board == board.number]
        table.add_row(
            *("", "all", "", str(board.number)),
            *_cycles(sum(time.cycles.mean for time in own), sum(time.layer.macc for time in own)),
            *_times(sum(time.layer.estimated_s for time in own), report.board_l_s(board.number)),
        )
    return table


def _tensor(cut: ProjectCut) -> str:
    """Return the layer that computes a tensor; of a part, also what it is of its output."""
    return f"{cut.part.layer}: {cut.part}" if cut.part else str(cut.after_layer)


def _layer_name(layer: ProjectLayer) -> str:
    """Return the name of a layer; of a part, its number in the whole network and what it is of its output."""
    return f"{layer.part.layer}: {layer.part}" if layer.part else layer.name


def _part_table(report: MeasureReport) -> PlainTable:
    """Return a table with a row per layer of the whole network and board, and with the sums of each board."""
    table = plain_table(*("#", "layer", "board", "part"), numbers=("est.", "computing", "waiting", "transfers", "all"))
    for row in report.parts:
        name = row.name
        table.add_row(str(row.layer or ""), name, str(row.board), str(row.part or ""), *_part_times([row]))
    for board in report.project.boards:
        rows = [row for row in report.parts if row.board == board.number]
        table.add_row("", "all", str(board.number), "", *_part_times(rows))
    return table


def _part_times(rows: Sequence[PartTimes]) -> Iterator[str]:
    """Yield the sums of each column."""
    for of_rows in (
        [row.estimated_s for row in rows],
        [row.computing_s for row in rows],
        [row.waiting_s for row in rows],
        [row.transfers_s for row in rows],
        [row.seconds for row in rows],
    ):
        yield f"{MS * sum(of_rows):.2f}"


def _cut_table(report: MeasureReport) -> PlainTable:
    """Return a table with a row per cut."""
    table = plain_table("cut", "after layer", "boards", numbers=("bytes", *TIMES, "min", "max", "retries"))
    for time in report.measurement.cuts:
        cut = time.cut
        table.add_row(
            str(cut.number),
            _tensor(cut),
            f"{cut.from_board}->{cut.to_board}",
            _grouped(cut.payload_bytes),
            *_times(cut.estimated_s, time.seconds.mean, is_comparable=not cut.is_streamed),
            f"{MS * time.seconds.smallest:.2f}",
            f"{MS * time.seconds.largest:.2f}",
            str(time.repeats),
        )
    return table


def print_outputs(report: MeasureReport, console: Console) -> None:
    """Print how many outputs are right, and the accuracy of the integers."""
    outputs = report.outputs
    good = outputs.samples - len(outputs.differing)
    style = "green" if outputs.bit_exact else "red"
    exact = (f"{good} of {outputs.samples} bit-exact", style)
    console.print(Text.assemble(f"Outputs of the {rig_title(report)}: ", exact, " with the integer reference"))
    for name, output in outputs.outputs.items():
        of_output = f", output {name}" if len(outputs.outputs) > 1 else ""
        share = "" if output.agreement is None else f"agreement with float {100 * output.agreement:.2f} %; "
        accuracy = "" if output.top1 is None else f"{output.top1:.4f}, float {output.float_top1:.4f}, "
        top1 = f"top-1 {accuracy}" if accuracy or share else ""
        console.print(
            f"Integer reference of {outputs.reference_samples}{of_output}: {top1}{share}l2r {output.l2r:.4f}",
            highlight=False,
            markup=False,
        )
    if (l2r := outputs.worst.l2r) > LARGE_L2R:
        hint = f"try {BITS} 16" if report.project.bits == SHORT_BITS else "check the calibration samples"
        console.print(f"warning: large quantization error (l2r {l2r:.2f}): {hint}", style="red")


def _latency_table(report: MeasureReport) -> PlainTable:
    """Return L, T and I as in Santamaria 2021, Table 5, with its figures if network and boards are the same."""
    latency = "I (s)" if report.project.overlaps else "I = L + T (s)"  # boards compute during T
    table = plain_table("case", numbers=("L (s)", "T (s)", latency))
    if _is_published_case(report):
        for case, *seconds in PUBLISHED_ROWS:
            table.add_row(case, *(f"{value:.2f}" for value in seconds), style="dim")
    estimated, measured = report.estimated.values, report.measured.values
    table.add_row(f"tinysplit, {report.project.bits} bits, estimated", *(f"{value:.4f}" for value in estimated))
    table.add_row(
        f"tinysplit, {report.project.bits} bits, {rig_title(report)}",
        *(f"{value:.4f}" for value in measured),
        style="bold",
    )
    differences = [difference_text(a, b) for a, b in zip(estimated, measured, strict=True)]
    if report.project.has_streamed_cuts:
        differences[1] = NOT_COMPARED
    table.add_row("difference", *differences)
    table.add_row("from START to DONE", "", "", f"{report.measurement.i_s.mean:.4f}")
    return table


def _statistics_table(report: MeasureReport) -> PlainTable:
    """Return median, interval and percentiles of L, T, I and the period; those of layers are in the files."""
    table = plain_table("", numbers=("n", "median", "95 % interval", "5 %", "95 %", "min", "max"))
    for time in report.times:
        seconds = time.seconds
        if time.number == 0:
            median, low, high, *others = (
                f"{MS * each:.3f}"
                for each in (seconds.median, *seconds.interval, *seconds.tails, seconds.smallest, seconds.largest)
            )
            table.add_row(time.title, str(len(seconds.values)), median, f"{low} .. {high}", *others)
    return table


def _of_slowest(report: MeasureReport) -> str:
    """Return, for copies of the network, on which boards the latency was measured."""
    if len(report.project.copies) == 1:
        return ""
    return f" on the slowest copy (board {', '.join(map(str, report.project.slowest.boards))})"


def print_failures(report: MeasureReport, console: Console) -> None:
    """Print the first samples without output, each with its reason."""
    rest = f"; {report.not_run} after them were not run" if report.not_run else ""
    console.print(f"Failed samples: {len(report.failures)}{rest}", style="bold red", highlight=False)
    for failure in report.failures[:MOST_FAILURES]:
        console.print(f"{failure.sample + 1}: {failure.reason}", highlight=False, soft_wrap=True)


def _period_table(report: MeasureReport, stream: Stream) -> PlainTable:
    """Return the period of the stream beside the estimated one and that of the best single board."""
    project = report.project
    table = plain_table("case", numbers=("period (ms)", "inferences/s"))

    def add(case: str, period_s: float, style: str | None = None) -> None:
        table.add_row(case, f"{MS * period_s:.3f}", f"{1 / period_s:.2f}", style=style)

    add("estimated", project.estimated_period_s)
    if stream.period_s is None:
        table.add_row("measured: too few outputs between failures", "", "", style="bold red")
    else:
        add(f"measured, {rig_title(report)}", stream.period_s, "bold")
        table.add_row("difference", difference_text(project.estimated_period_s, stream.period_s), "")
    if project.one_board_period_s is not None:
        add("best single board, estimated", project.one_board_period_s)
    return table


def print_limit(stream: Stream, console: Console) -> None:
    """Print that the host's port is too slow for the boards."""
    if stream.host_port_share is not None and stream.host_port_share > LARGE_SHARE:
        percent = 100 * stream.host_port_share
        console.print(
            f"warning: the host port limits the boards: an input takes {percent:.0f} % of the period",
            style="red",
            highlight=False,
        )


def _is_published_case(report: MeasureReport) -> bool:
    boards = tuple(board.name for board in report.project.boards)
    return boards == PUBLISHED_BOARDS and sum(layer.macc for layer in report.project.layers) == PUBLISHED_MACC


def rig_title(report: MeasureReport) -> str:
    """Return the kind of the boards."""
    return f"{report.measurement.rig.kind} boards"


def _cycles(cycles: float, macc: int) -> tuple[str, str]:
    return _grouped(cycles), f"{cycles / macc:.2f}" if macc else ""


def _times(estimated_s: float, measured_s: float, *, is_comparable: bool = True) -> tuple[str, str, str]:
    difference = difference_text(estimated_s, measured_s) if is_comparable else NOT_COMPARED
    return f"{MS * estimated_s:.2f}", f"{MS * measured_s:.2f}", difference


def difference_text(estimated: float, measured: float) -> str:
    """Return by how many percent `measured` exceeds `estimated`."""
    return f"{100 * (measured / estimated - 1):+.1f} %" if estimated else ""


def _grouped(number: float) -> str:
    return f"{number:,.0f}".replace(",", " ")
