"""Inferences one after the other, each step as early as the event graph allows: what the event engine is held to."""

from math import inf

from tinysplit.split.evaluate.event_graph import EventGraph, event_graph
from tinysplit.timing.program import Program

Beginnings = tuple[float, ...]  # of every node of the event graph, in one inference


class EventGraphTimes:
    """The times of a program by its event graph."""

    def __init__(self, program: Program) -> None:
        self.graph: EventGraph = event_graph(program)
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
