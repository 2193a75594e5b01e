"""Table of a Pareto front: the figures of each point, and which board runs which layers."""

from rich.console import Console

from tinysplit.common.choices import SecondObjective
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MILLI, MS
from tinysplit.split.evaluate.sub_models import sub_models
from tinysplit.split.pareto import Front, Point
from tinysplit.split.report.split import layer_numbers


def print_front(front: Front, console: Console) -> None:
    """Print the points by latency, and whether the front is complete."""
    table = plain_table("layers on board", "proved", numbers=("latency ms", _heading(front.against)))
    for point in front.points:
        figures = (f"{point.latency_s * MS:.2f}", _other(point, front.against))
        table.add_row(_layers(point), "yes" if point.proved else "no", *figures)
    console.print(table)
    end = "the front is complete" if front.complete else "time limit reached: points may be missing"
    console.print(
        f"{counted(len(front.points), 'point')} of latency against {front.against} (estimated); {end}", highlight=False
    )


def _heading(against: SecondObjective) -> str:
    return "mJ" if against is SecondObjective.ENERGY else "outputs per second"


def _other(point: Point, against: SecondObjective) -> str:
    return f"{point.energy_j * MILLI:.3f}" if against is SecondObjective.ENERGY else f"{1 / point.period_s:.3f}"


def _layers(point: Point) -> str:
    if point.copies:
        return f"copies of the whole network on {', '.join(str(device + 1) for device in point.copies)}"
    return ", ".join(f"{layer_numbers(run)} on {run.device + 1}" for run in sub_models(point.assignment))
