"""Tables of Pareto fronts and of the largest networks, and the progress of an exploration."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MILLI, MS
from tinysplit.explore.axes import Axis
from tinysplit.explore.exploration import Exploration
from tinysplit.explore.front import FrontEntry
from tinysplit.explore.report.rankings import layer_counts, print_bit_widths, print_ranking
from tinysplit.settings.search import TIME_LIMIT

PROGRESS_LINES = 10  # without a terminal
COLUMNS = {  # heading, factor, decimals
    Axis.LATENCY: ("I ms", MS, 2),
    Axis.PERIOD: ("period ms", MS, 2),
    Axis.ENERGY: ("mJ", MILLI, 3),
    Axis.POWER: ("mW", MILLI, 2),
}


def print_exploration(exploration: Exploration, console: Console) -> None:
    """Print the front or the ranking of each network and bit width, and the largest network of each set."""
    if exploration.stopped:
        done = f"{len(exploration.outcomes)} of {counted(exploration.n_candidates, 'candidate')}"
        console.print(f"{exploration.stopped}: {done} solved; the same command continues", highlight=False)
    if exploration.request.goal.ranked_by:
        for graph, bits in exploration.groups:
            ranking = exploration.rankings.get((graph.sha256, bits))
            if ranking:
                sweep = exploration.sweeps.get((graph.sha256, bits))
                print_ranking(f"{graph.name}, {bits} bits", ranking, sweep, exploration.request.goal, console)
        print_bit_widths(exploration, console)
    else:
        _print_fronts(exploration, console)
    if exploration.largest:
        _print_largest(exploration, console)


def _print_fronts(exploration: Exploration, console: Console) -> None:
    infeasible = sum(not outcome.points for outcome in exploration.outcomes)
    console.print(
        f"{counted(len(exploration.outcomes), 'candidate')}, {infeasible} of them infeasible", highlight=False
    )
    incomplete = sum(not outcome.complete for outcome in exploration.outcomes)
    if incomplete:
        console.print(f"{counted(incomplete, 'front')} may be incomplete: increase {TIME_LIMIT}", highlight=False)
    for graph, bits in exploration.groups:
        front = exploration.front(graph, bits)
        console.print(
            f"\n{graph.name}, {bits} bits: {counted(len(front), 'point')} on the front (estimated), "
            f"{exploration.request.settings.input_source.text}",
            highlight=False,
        )
        if front:
            _print_front(front, exploration, console)


def _print_front(front: Sequence[FrontEntry], exploration: Exploration, console: Console) -> None:
    request = exploration.request
    always = {Axis.LATENCY, Axis.ENERGY} if request.goal.has_energy else {Axis.LATENCY}
    shown = [axis for axis in COLUMNS if axis in request.axes or axis in always]
    price = "price" if request.goal.prices else "count"
    table = plain_table("boards", "layers", numbers=("baud", *(COLUMNS[axis][0] for axis in shown), price))
    for entry in front:
        columns = ((entry.quantity(axis), *COLUMNS[axis][1:]) for axis in shown)
        figures = [f"{quantity * factor:.{decimals}f}" for quantity, factor, decimals in columns]
        figures[0] += "" if entry.point.proved else " *"
        table.add_row(
            " + ".join(entry.candidate.boards),
            layer_counts(entry.candidate, entry.point),
            str(entry.candidate.baud or "-"),
            *figures,
            f"{entry.price:g}",
        )
    console.print(table)
    if not all(entry.point.proved for entry in front):
        console.print("* not proved optimal for these boards", highlight=False)


def _print_largest(exploration: Exploration, console: Console) -> None:
    console.print("\nlargest network that each set of boards can run", highlight=False)
    table = plain_table("boards", "network", numbers=("bits", "macc", "baud", "I ms"))
    for largest in exploration.largest:
        cells = ("none", str(largest.bits), "", "", "")
        if largest.graph and largest.candidate and largest.point:
            latency = f"{largest.point.latency_s * MS:.2f}"
            cells = (
                largest.graph.name,
                str(largest.bits),
                f"{largest.graph.macc:,}",
                str(largest.candidate.baud or "-"),
                latency,
            )
        table.add_row(" + ".join(largest.boards), *cells)
    console.print(table)


@contextmanager
def progress(messages: Console) -> Iterator[Callable[[int, int], None]]:
    """Show the finished candidates and their rate; without a terminal, print some lines."""
    if not messages.is_terminal:
        shown = -1

        def print_some(done: int, total: int) -> None:
            nonlocal shown
            part = done * PROGRESS_LINES // max(total, 1)
            if part > shown:
                messages.print(f"{done} of {total} candidates", highlight=False)
                shown = part

        yield print_some
        return
    speed = TextColumn("{task.fields[per_second]:.0f} candidates/s")
    with Progress(
        TextColumn("exploring"), BarColumn(), MofNCompleteColumn(), speed, TimeRemainingColumn(), console=messages
    ) as bar:
        task = bar.add_task("", total=None, per_second=0.0)
        yield lambda done, total: bar.update(
            task, completed=done, total=total, per_second=bar.tasks[task].finished_speed or bar.tasks[task].speed or 0.0
        )
