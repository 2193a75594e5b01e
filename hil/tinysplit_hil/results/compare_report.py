"""The table of a comparison, in 80 columns."""

from rich.console import Console

from tinysplit.common.tables import plain_table
from tinysplit.common.units import MS, PERCENT
from tinysplit_hil.measure.times import What
from tinysplit_hil.results.compare import Comparison
from tinysplit_hil.results.measurement_file import FileTime

_ALWAYS = (What.L, What.T, What.I, What.PERIOD)


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print L, T, I, the period and every other time that has changed, then what is different, and the notes."""
    table = plain_table("", numbers=("before, ms", "+- %", "after, ms", "+- %", "change"), last_labels=("",))
    for time in comparison.times:
        is_changed = time in comparison.changed
        if is_changed or time.after.what in _ALWAYS:
            style = {"slower": "red", "faster": "green"}.get(time.verdict, "")
            cells = (*_cells(time.before), *_cells(time.after), f"{time.percent:+.2f} %")
            table.add_row(time.after.title, *cells, time.verdict, style=style)
    console.print(table)
    if others := len(comparison.times) - table.row_count:
        console.print(f"{others} other times are the same.", highlight=False)
    for line in comparison.different:
        console.print(line, style="red", highlight=False, markup=False)
    for line in comparison.notes:
        console.print(f"note: {line}", highlight=False, markup=False)


def _cells(time: FileTime) -> tuple[str, str]:
    """Return the median, and by how much the further end of its interval differs from it."""
    return f"{MS * time.median_s:.3f}", f"{PERCENT * time.uncertainty:.2f}"
