"""Table of a Pareto front: the figures of each point, and where the network runs."""

from rich.console import Console

from tinysplit.common.choices import SecondObjective
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MILLI, MS
from tinysplit.split.explain.reasons import placement_text
from tinysplit.split.pareto import Front, Point


def print_front(front: Front, console: Console) -> None:
    """Print the points by latency, and whether the front is complete."""
    table = plain_table("placement", "proved", numbers=("latency ms", _heading(front.against)))
    for point in front.points:
        figures = (f"{point.latency_s * MS:.2f}", _other(point, front.against))
        table.add_row(placement_text(point.placement), "yes" if point.proved else "no", *figures)
    console.print(table)
    is_proved = all(point.proved for point in front.points)
    complete = "the front is complete" if is_proved else "no others were found"
    end = complete if front.complete else "time limit reached: points may be missing"
    points = f"{counted(len(front.points), 'point')} of latency against {front.against}"
    console.print(f"{points} (estimated); {end}", highlight=False)
    console.print(front.problem.handoff_parts.input_source.text, highlight=False)


def _heading(against: SecondObjective) -> str:
    return "mJ" if against is SecondObjective.ENERGY else "outputs per second"


def _other(point: Point, against: SecondObjective) -> str:
    return f"{point.energy_j * MILLI:.3f}" if against is SecondObjective.ENERGY else f"{1 / point.period_s:.3f}"
