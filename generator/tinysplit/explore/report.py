"""Fronts as tables, and the progress of an exploration."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MILLI, MS
from tinysplit.explore.exploration import Compromise, Exploration

LINES_BETWEEN = 10  # where there is no terminal: every tenth of the candidates is a line


def print_exploration(exploration: Exploration, console: Console) -> None:
    """Print the front of each network and width."""
    infeasible = sum(not outcome.points for outcome in exploration.outcomes)
    console.print(
        f"{counted(len(exploration.outcomes), 'candidate')}, {infeasible} of them not feasible", highlight=False
    )
    incomplete = sum(not outcome.complete for outcome in exploration.outcomes)
    if incomplete:
        console.print(f"{counted(incomplete, 'front')} may lack points: give --time-limit more", highlight=False)
    for graph in exploration.graphs:
        for bits in exploration.space.bits:
            front = exploration.front(graph, bits)
            console.print(f"\n{graph.name}, {bits} bits: {len(front)} on the front (estimated)", highlight=False)
            if front:
                _print_front(front, "price" if exploration.prices else "boards", console)


def _print_front(front: Sequence[Compromise], price_heading: str, console: Console) -> None:
    table = plain_table("on", "layers", numbers=("baud", "I ms", "mJ", price_heading))
    for compromise in front:
        point, candidate = compromise.point, compromise.candidate
        counts = Counter(point.assignment)
        table.add_row(
            " + ".join(candidate.boards),
            " + ".join(str(counts[device]) for device in range(len(candidate.boards))),
            str(candidate.baud or "-"),
            f"{point.latency_s * MS:.2f}{'' if point.proved else ' *'}",
            f"{point.energy_j * MILLI:.3f}",
            f"{compromise.price:g}",
        )
    console.print(table)
    if not all(compromise.point.proved for compromise in front):
        console.print("* not proved: a better split of these boards may exist", highlight=False)


@contextmanager
def progress(messages: Console) -> Iterator[Callable[[int, int], None]]:
    """Show how many candidates are done and how many a second; some lines where `messages` is no terminal."""
    if not messages.is_terminal:
        shown = -1

        def print_some(done: int, total: int) -> None:
            nonlocal shown
            part = done * LINES_BETWEEN // max(total, 1)
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
