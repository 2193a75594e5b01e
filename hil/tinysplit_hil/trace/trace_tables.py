"""The tables of a trace: layers and cuts, as those of `tinysplit measure`."""

from rich.console import Console

from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MS
from tinysplit_hil.trace.times import TracedTime, TraceReport

_TIMES = ("est. ms", "meas. ms", "diff.", "min", "max", "")


def print_trace(report: TraceReport, console: Console) -> None:
    """Print a row for each layer and each cut."""
    project, cores = report.project, report.core_hz
    table = plain_table("#", "layer", "kind", "board", "cycles", *_TIMES)
    for time in report.layers:
        layer = time.layer
        cycles = "" if time.mean_s is None else f"{time.mean_s * cores[layer.board]:.0f}"
        row = (str(layer.number), layer.name, layer.kind, str(layer.board), cycles)
        table.add_row(*row, *_times(layer.estimated_s, time))
    console.print(table)
    if project.cuts:
        table = plain_table("cut", "after layer", "boards", "bytes", *_TIMES)
        for sent in report.cuts:
            cut = sent.cut
            ends = f"{cut.from_board}->{cut.to_board}"
            own = (str(cut.number), str(cut.after_layer), ends, str(cut.payload_bytes))
            table.add_row(*own, *_times(cut.estimated_s, sent))
        console.print(table)
    note = f"{_inferences(report)}, edges to {report.unit_s:.3g} s; cycles at the nominal clock of each board"
    console.print(note, highlight=False, soft_wrap=True)


def _inferences(report: TraceReport) -> str:
    """Return how many inferences were used, and how many overlap as they do when inputs are streamed."""
    text = counted(report.inferences, "inference")
    if report.overlapping:
        text += f", {report.overlapping} of which overlap (pipelined): layers contain the work for other transfers"
    if report.left_out:
        text += f" without {report.left_out} that overlap (pipelined)"
    return text


def _times(estimated_s: float, time: TracedTime) -> tuple[str, ...]:
    if time.mean_s is None or time.seconds is None:
        return (f"{MS * estimated_s:.2f}", "", "", "", "", time.note)
    difference = f"{100 * (time.mean_s / estimated_s - 1):+.1f} %" if estimated_s else ""
    smallest, largest = min(time.seconds), max(time.seconds)
    return (
        f"{MS * estimated_s:.2f}",
        f"{MS * time.mean_s:.2f}",
        difference,
        f"{MS * smallest:.2f}",
        f"{MS * largest:.2f}",
        time.note,
    )
