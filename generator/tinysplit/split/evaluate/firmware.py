"""The generated firmware: its steps, its period, and when it processes each of many inputs."""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import inf, isfinite
from typing import Self

from tinysplit.split.evaluate.cuts import cuts
from tinysplit.split.evaluate.cycle_ratio import maximum_cycle_ratio
from tinysplit.split.evaluate.event_graph import EventGraph, event_graph
from tinysplit.split.evaluate.steps import Program, program
from tinysplit.split.problem import Assignment, Objective, Problem

Beginnings = tuple[float, ...]  # of every node of the event graph, in one inference


@dataclass(frozen=True, eq=False)
class Firmware:
    """The program that the boards of an assignment repeat, and its period, computed when it is first read."""

    problem: Problem
    assignment: Assignment
    program: Program

    @classmethod
    def of(cls, problem: Problem, assignment: Assignment) -> Self:
        """Return the generated firmware.

        For throughput, RAM goes to buffers or to constants first, as gives the shorter period; else to constants,
        which make an inference faster, while buffers do not.
        """
        if problem.objective is not Objective.THROUGHPUT:
            return cls(problem, assignment, program(problem, assignment, constants_first=True))
        with_buffers = cls(problem, assignment, program(problem, assignment, constants_first=False))
        if not with_buffers.program.lost_seconds:
            return with_buffers
        with_constants = cls(problem, assignment, program(problem, assignment, constants_first=True))
        return min(with_buffers, with_constants, key=lambda firmware: firmware.period_s)

    @cached_property
    def period_s(self) -> float:
        """Seconds between two outputs while inputs wait, infinite if a layer or a cut takes for ever."""
        layers = zip(self.problem.layers, self.assignment, strict=True)
        layers_s = (layer.seconds[device] for layer, device in layers)
        cuts_s = (cut.seconds for cut in cuts(self.problem, self.assignment))
        if not all(map(isfinite, chain(layers_s, cuts_s))):
            return inf
        return program_period_s(self.problem, self.program)


def program_period_s(problem: Problem, steps: Program) -> float:
    """Return the period of boards that repeat these steps."""
    graph = event_graph(problem, steps)
    return maximum_cycle_ratio(graph.n_nodes, graph.edges)


class FirmwareSimulation:
    """Inferences one after the other, each step as early as the event graph allows."""

    def __init__(self, problem: Problem, steps: Program) -> None:
        self.graph: EventGraph = event_graph(problem, steps)
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

    def latency_s(self) -> float:
        """Return the seconds from the arrival of the input, in boards at rest, to the output."""
        begins = self.after(self.at_rest, 0.0)
        return begins[self.graph.output] - max(begins[node] + seconds for node, seconds in self.graph.inputs)

    def start_s(self, begins: Beginnings) -> float:
        """Return when the host began to send the input."""
        return min(begins[feed] for feed in self.graph.feeds)

    def end_s(self, begins: Beginnings) -> float:
        """Return when the host had read the output."""
        return begins[self.graph.reading] + self.graph.reading_s
