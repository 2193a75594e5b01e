"""Tables of Pareto fronts, and the progress of an exploration."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MILLI, MS
from tinysplit.explore.exploration import Exploration, FrontEntry

PROGRESS_LINES = 10  # without a terminal


def print_exploration(exploration: Exploration, console: Console) -> None:
    """Print the front of each network and bit width."""
    infeasible = sum(not outcome.points for outcome in exploration.outcomes)
    console.print(
        f"{counted(len(exploration.outcomes), 'candidate')}, {infeasible} of them infeasible", highlight=False
    )
    incomplete = sum(not outcome.complete for outcome in exploration.outcomes)
    if incomplete:
        console.print(f"{counted(incomplete, 'front')} may be incomplete: increase --time-limit", highlight=False)
    for graph in exploration.graphs:
        for bits in exploration.space.bits:
            front = exploration.front(graph, bits)
            console.print(
                f"\n{graph.name}, {bits} bits: {counted(len(front), 'point')} on the front (estimated)", highlight=False
            )
            if front:
                _print_front(front, "price" if exploration.prices else "count", console)


def _print_front(front: Sequence[FrontEntry], price_heading: str, console: Console) -> None:
    table = plain_table("boards", "layers", numbers=("baud", "I ms", "mJ", price_heading))
    for entry in front:
        point, candidate = entry.point, entry.candidate
        counts = Counter(point.assignment)
        table.add_row(
            " + ".join(candidate.boards),
            " + ".join(str(counts[device]) for device in range(len(candidate.boards))),
            str(candidate.baud or "-"),
            f"{point.latency_s * MS:.2f}{'' if point.proved else ' *'}",
            f"{point.energy_j * MILLI:.3f}",
            f"{entry.price:g}",
        )
    console.print(table)
    if not all(entry.point.proved for entry in front):
        console.print("* not proved optimal for these boards", highlight=False)


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
