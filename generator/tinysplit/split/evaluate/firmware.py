"""The generated firmware: its steps, its period, and when it processes each of many inputs."""

from collections.abc import Iterable, Iterator
from math import inf, isfinite

from tinysplit.split.evaluate.cuts import cuts
from tinysplit.split.evaluate.cycle_ratio import maximum_cycle_ratio
from tinysplit.split.evaluate.event_graph import EventGraph, event_graph
from tinysplit.split.evaluate.steps import Program, program
from tinysplit.split.problem import Assignment, Objective, Problem

Beginnings = tuple[float, ...]  # of every node of the event graph, in one inference


def firmware_period_s(problem: Problem, assignment: Assignment) -> float:
    """Return the seconds between two outputs while inputs wait, infinite if a layer or a cut takes for ever."""
    layers_s = (layer.seconds[device] for layer, device in zip(problem.layers, assignment, strict=True))
    if not all(map(isfinite, layers_s)) or not all(isfinite(cut.seconds) for cut in cuts(problem, assignment)):
        return inf
    return program_period_s(problem, firmware_program(problem, assignment))


def firmware_program(problem: Problem, assignment: Assignment) -> Program:
    """Return the steps of the generated firmware.

    For throughput, RAM goes to buffers or to constants first, as gives the shorter period; else to constants, which
    make an inference faster, while buffers do not.
    """
    if problem.objective is not Objective.THROUGHPUT:
        return program(problem, assignment, constants_first=True)
    with_buffers = program(problem, assignment, constants_first=False)
    if not with_buffers.lost_seconds:
        return with_buffers
    with_constants = program(problem, assignment, constants_first=True)
    return min((with_buffers, with_constants), key=lambda steps: program_period_s(problem, steps))


def program_period_s(problem: Problem, steps: Program) -> float:
    """Return the period of boards that repeat these steps."""
    graph = event_graph(problem, steps)
    return maximum_cycle_ratio(graph.n_nodes, graph.edges)


class FirmwareSimulation:
    """Inferences one after the other, each step as early as the event graph allows."""

    def __init__(self, problem: Problem, assignment: Assignment) -> None:
        self.graph: EventGraph = event_graph(problem, firmware_program(problem, assignment))
        self.at_rest: Beginnings = (-inf,) * self.graph.n_nodes

    def after(self, before: Beginnings, arrival_s: float) -> Beginnings:
        """Return when every node begins for an input that arrives then, after the inference that began `before`."""
        graph = self.graph
        begins = [0.0] * graph.n_nodes
        for feed in graph.feeds:
            begins[feed] = arrival_s
        for source, target, seconds, tokens in graph.edges:
            if tokens:
                begins[target] = max(begins[target], before[source] + seconds)
        for source, target, seconds, tokens in graph.edges:
            if not tokens:
                begins[target] = max(begins[target], begins[source] + seconds)
        return tuple(begins)

    def start_s(self, begins: Beginnings) -> float:
        """Return when the host began to send the input."""
        return min(begins[feed] for feed in self.graph.feeds)

    def end_s(self, begins: Beginnings) -> float:
        """Return when the host had read the output."""
        return begins[self.graph.reading] + self.graph.reading_s


def simulate(problem: Problem, assignment: Assignment, arrivals_s: Iterable[float]) -> Iterator[tuple[float, float]]:
    """Yield for each input when the host began to send it and when it had read the output, in seconds."""
    simulation = FirmwareSimulation(problem, assignment)
    begins = simulation.at_rest
    for arrival_s in arrivals_s:
        begins = simulation.after(begins, arrival_s)
        yield simulation.start_s(begins), simulation.end_s(begins)
