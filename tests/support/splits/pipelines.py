"""A pipeline of two boards to count by hand, and the times of inputs by the event graph."""

from collections.abc import Iterable, Iterator, Sequence

from splits.event_graph_times import EventGraphTimes
from tinysplit.split.evaluate.program import Firmware
from tinysplit.split.problem import Assignment, DeviceLimits, LayerCosts, Objective, Period, Problem
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.loss import Loss
from tinysplit.timing.program import Program
from tinysplit.timing.results import Simulated
from tinysplit.timing.simulation import LOSSLESS, simulate

ROOMY, TIGHT = 1000, 40


def pipeline(ram_bytes: int, wire_s: float) -> Problem:
    """Two layers of 10 s and 8 s on two boards with 40 bytes of arena; tensors of 20 bytes.

    The host feeds 3 s and reads 1 s; a copy takes 0.25 s, a driver 0.5 s, a reply 0.125 s.
    """
    layers = tuple(LayerCosts.alike(name, 1, 40, 20, (seconds,) * 2) for name, seconds in (("a", 10.0), ("b", 8.0)))
    table = ((0.0, wire_s), (wire_s, 0.0))
    handoff = Handoff(
        wire_s=(table, table),
        reply_s=((0.0, 0.125), (0.125, 0.0)),
        copy_s=((0.25, 0.25),) * 3,
        send_s=((0.5, 0.5),) * 3,
        receive_s=((0.5, 0.5),) * 3,
        host_s=((3.0, 1.0),) * 2,
    )
    return Problem(
        layers,
        tuple(DeviceLimits(name, 9, ram_bytes) for name in "xy"),
        (table, table),
        objective=Objective.THROUGHPUT,
        period_definition=Period.FIRMWARE,
        input_bytes=20,
        handoff=handoff,
    )


def graph_of(problem: Problem, assignment: Assignment) -> EventGraphTimes:
    """Return the event graph of the firmware of an assignment."""
    return EventGraphTimes(program_of(problem, assignment))


def program_of(problem: Problem, assignment: Assignment) -> Program:
    """Return the program of an assignment."""
    return Firmware.of(problem, assignment).program


def simulated(
    problem: Problem, assignment: Assignment, arrivals_s: Sequence[float], loss: Loss = LOSSLESS, **options: bool
) -> Simulated:
    """Simulate inputs on an assignment."""
    return simulate([program_of(problem, assignment)], arrivals_s, loss, **options)


def graph_times(problem: Problem, assignment: Assignment, arrivals_s: Iterable[float]) -> Iterator[tuple[float, float]]:
    """Yield for each input when the host began to send it, and when it had read the output."""
    graph = graph_of(problem, assignment)
    begins = graph.at_rest
    for arrival_s in arrivals_s:
        begins = graph.after(begins, arrival_s)
        yield graph.start_s(begins), graph.end_s(begins)
