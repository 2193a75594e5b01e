"""Santamaria 2021, Figure 2: schedules of inferences that follow each other by two definitions of the waiting time."""

from collections.abc import Iterator, Mapping
from itertools import permutations

from tinysplit.papers.plots.plot import Panel, Plot, Work, bars_of, overlap
from tinysplit.papers.reproduce.reproduction import SANTAMARIA, Convention, Row
from tinysplit.split.evaluate.period import period_s
from tinysplit.split.evaluate.sub_models import sub_models
from tinysplit.split.evaluate.timeline import steps
from tinysplit.split.problem import Assignment, DeviceLimits, LayerCosts, Period, Problem

TITLE = "Figure 2"
DEVICES = ("orange", "blue")
ASSIGNMENT = (0, 1, 0, 1)  # the text has layers 1 to 3; the device of layer 4 is inferred
LAYER_SECONDS = (1.0, 0.5, 1.0, 0.5)  # the text has none; orange computes longest
INFERENCES = 4
DEFINITIONS: Mapping[str, Period] = {"old definition": Period.OLD, "improved one": Period.PAPER}
PUBLISHED = {"old definition": "3 and 1", "improved one": "none"}
PUBLISHED_BETWEEN = "2"
DRAWN = "not identifiable: the figure has no times, and layer 4 is not in the text"
CAPTION = (
    "Four layers on two devices, no transfers. Inferences start after the waiting time of each definition. The times "
    "of the layers (1, 0.5, 1 and 0.5 s) and the device of layer 4 are ours: the text has none. For all times with "
    "which the orange device computes longest, the old definition makes it compute layers 3 and 1 at once."
)


def example(seconds: tuple[float, ...] = LAYER_SECONDS) -> Problem:
    """Return the example: layers that take `seconds` on either device, and transfers that take no time."""
    layers = tuple(LayerCosts.alike(f"layer {n}", 1, 1, 0, (s, s)) for n, s in enumerate(seconds, 1))
    devices = tuple(DeviceLimits(name, len(layers), 1) for name in DEVICES)
    return Problem(layers, devices, (((0.0, 0.0), (0.0, 0.0)),) * len(layers))


def schedule(problem: Problem, assignment: Assignment, waiting_s: float, count: int = INFERENCES) -> tuple[Work, ...]:
    """Return what `count` inferences compute, each `waiting_s` after the one before, without regard to each other."""
    works = []
    for number in range(count):
        clock_s, layer = number * waiting_s, 0
        for step in steps(problem, assignment):
            if step.computes:
                layer += 1
                works.append(Work(step.device, clock_s, clock_s + step.seconds, str(layer), number + 1))
            clock_s += step.seconds
    return tuple(works)


def conflicts(works: tuple[Work, ...], device: int) -> str:
    """Return the layers that `device` computes at the same time, "3 and 1", of the earlier inference first."""
    at_once = {
        f"{one.label} and {other.label}": None
        for one, other in permutations(works, 2)
        if one.device == other.device == device and one.number < other.number
        if overlap(other.start_s, one.end_s) and overlap(one.start_s, other.end_s)
    }
    return ", ".join(at_once) or "none"


def busiest(problem: Problem, assignment: Assignment) -> int:
    """Return the device that computes longest (formula 7)."""
    computing = dict.fromkeys(assignment, 0.0)
    for layer, device in zip(problem.layers, assignment, strict=True):
        computing[device] += layer.seconds[device]
    return max(computing, key=lambda device: computing[device])


def layers_between(problem: Problem, assignment: Assignment) -> str:
    """Return the "intermediate" layers between the sub-models of the busiest device, numbered from 1."""
    device = busiest(problem, assignment)
    runs = [run for run in sub_models(assignment) if run.device == device]
    between = [n for n in range(runs[0].first, runs[-1].last + 1) if assignment[n] != device]
    return ", ".join(str(number + 1) for number in between)


def waiting_time_rows() -> Iterator[Row]:
    """Yield the rows of the figure."""
    problem, assumed = example(), (Convention.EXAMPLE,)
    for name, period in DEFINITIONS.items():
        works = schedule(problem, ASSIGNMENT, period_s(problem, ASSIGNMENT, period))
        at_once = conflicts(works, busiest(problem, ASSIGNMENT))
        yield Row(SANTAMARIA, TITLE, name, "orange at once", PUBLISHED[name], at_once, assumed, "")
    between = layers_between(problem, ASSIGNMENT)
    yield Row(SANTAMARIA, TITLE, "both", "intermediate layer", PUBLISHED_BETWEEN, between, assumed, "")
    yield Row(SANTAMARIA, TITLE, "both", "times of layers, s", "", "", (), DRAWN)


def waiting_time_plot() -> Plot:
    """Return both schedules."""
    problem = example()
    panels = []
    for letter, (name, period) in zip("ab", DEFINITIONS.items(), strict=True):
        waiting_s = period_s(problem, ASSIGNMENT, period)
        works = schedule(problem, ASSIGNMENT, waiting_s)
        title = f"({letter}) {name}: waiting time {waiting_s:g} s"
        panels.append(Panel(title, "s; bars have the number of the layer", lanes=DEVICES, bars=bars_of(works)))
    return Plot(SANTAMARIA, TITLE, CAPTION, tuple(panels))
