"""The timed event graph of the generated firmware: when steps and transfers of successive inferences begin.

Searches take the period from it, as it is fast; the figures of what they find are those of the event engine
(`timing/`), which also knows that frames wait for each other and what drivers do while a board waits.

Its nodes are the steps of the boards, the transfers on the links, and the host's feeding and reading. An edge says that
its target begins at least some seconds after its source, in the same inference or in the next one. A board runs its
steps in their order, inference after inference; a direction of a link carries one tensor at a time, in the order in
which they are sent. Buffers hold one tensor:

- A staged send copies the tensor and goes on; the next one waits until this one is acknowledged.
- A staged receive waits until the tensor is whole and copies it; then its buffer is granted for the next inference.
- The next grant follows the acknowledgement on the line back.
- A board blocks in a transfer that is not staged: a send ends with the acknowledgement, and a receive grants its
  memory only when the board reaches it.
- In a distributed network there are no buffers: a board grants the tensor's place, and goes on until it waits for the
  tensor; another one sends, and goes on until it waits for the acknowledgement. Drivers work in the waits
  (`BoardStep.driver_s`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

from tinysplit.timing.handoff import Handoff
from tinysplit.timing.program import BoardStep, Kind, Program

FROM_LINE = (Kind.INPUT, Kind.RECEIVE)


class Edge(NamedTuple):
    """`target` begins at least `seconds` after `source` of the inference that is `tokens` (0 or 1) earlier."""

    source: int
    target: int
    seconds: float
    tokens: int


@dataclass(frozen=True)
class EventGraph:
    """Edges without tokens lead from lower to higher nodes; those of all nodes are sorted by source."""

    n_nodes: int
    edges: tuple[Edge, ...]
    feeds: tuple[int, ...]  # nodes of the host's sending of the input
    inputs: tuple[tuple[int, float], ...]  # nodes after which boards have it, and seconds from there
    output: int  # node of the board's giving the output
    reading: int  # node of the host's reading of the output
    reading_s: float


class _Place(NamedTuple):
    """A step, its node, and that of its transfer: the same node at both ends."""

    step: BoardStep
    node: int
    line: int  # -1 for a RUN


def event_graph(program: Program) -> EventGraph:
    """Return the graph of a program."""
    builder = _Builder(program.handoff, program, is_distributed=program.is_distributed)
    edges = sorted((*builder.board_edges(), *builder.transfer_edges(), *builder.link_edges()))
    *_, output = builder.places
    return EventGraph(
        n_nodes=builder.n_nodes,
        edges=tuple(edges),
        feeds=tuple(place.line for place in builder.places if place.step.kind is Kind.INPUT),
        inputs=tuple(builder.input_nodes()),
        output=output.node,
        reading=output.line,
        reading_s=builder.line_s(output.step)[0],
    )


class _Builder:
    def __init__(self, parts: Handoff, program: Program, *, is_distributed: bool) -> None:
        self.parts, self.program, self.is_distributed = parts, program, is_distributed
        self.n_nodes = 0
        self.places = list(self._places())

    def _places(self) -> Iterator[_Place]:
        """Yield the steps in their order, with nodes so that no edge without tokens leads back."""
        lines: dict[int, int] = {}  # of transfers
        places = []
        for step in self.program.steps:
            if step.kind in {Kind.RUN, Kind.SEND, Kind.GRANT, Kind.SENT}:
                places.append(_Place(step, self._new_node(), -1))
                if self.is_distributed and step.kind is Kind.SEND:
                    lines[step.transfer] = self._new_node()
                continue
            if self.is_distributed and step.kind is Kind.RECEIVE:
                places.append(_Place(step, self._new_node(), -1))
                continue
            is_early = step.kind in FROM_LINE and step.is_staged
            line = self._new_node() if is_early else -1
            place = _Place(step, self._new_node(), line)
            if not is_early:
                place = place._replace(line=self._new_node())
            if step.kind is Kind.RECEIVE:
                lines[step.transfer] = place.line
            places.append(place)
        for place in places:
            is_transfer = place.line < 0 and place.step.kind is not Kind.RUN
            yield place._replace(line=lines[place.step.transfer]) if is_transfer else place

    def input_nodes(self) -> Iterator[tuple[int, float]]:
        """Yield nodes, and the seconds after them when boards have the network's input; without a buffer, its line."""
        for step, node, line in self.places:
            if step.kind is Kind.INPUT and step.is_staged:
                yield node, self.parts.receive_s[step.tensor][step.device]
            elif step.kind is Kind.INPUT:
                yield line, self.line_s(step)[0]

    def _new_node(self) -> int:
        self.n_nodes += 1
        return self.n_nodes - 1

    def line_s(self, step: BoardStep) -> tuple[float, float]:
        """Return the seconds of the step's transfer on its line, and those of a reply to it."""
        if step.transfer >= 0:
            cut = self.program.transfers[step.transfer]
            wire_s = self.parts.wire_s[cut.after_layer][cut.sender][cut.receiver]
            return wire_s, self.parts.reply_s[cut.receiver][cut.sender]
        in_s, out_s = self.parts.host_s[step.device]
        return (in_s, self.parts.input_reply_s(step.device)) if step.kind is Kind.INPUT else (out_s, 0.0)

    def _known_s(self, step: BoardStep) -> float:
        """Return the seconds from a transfer's first bit until the board that it comes to knows that it has it."""
        wire_s, _ = self.line_s(step)
        if step.transfer < 0:
            return wire_s
        cut = self.program.transfers[step.transfer]
        return wire_s + self.parts.until_used_s(cut.after_layer, cut.sender, cut.receiver)

    def _cpu_s(self, step: BoardStep) -> float:
        """Return the seconds of the board, without those in which it waits for a line."""
        if not step.is_staged:
            return step.seconds
        if step.kind is Kind.OUTPUT:
            return self.parts.output_s(step.device)
        return (self.parts.in_s if step.kind in FROM_LINE else self.parts.out_s)(step.tensor, step.device)

    def _overlaps(self, step: BoardStep) -> bool:
        """Return whether a board goes on while a tensor crosses that has no buffer."""
        return self.is_distributed and step.transfer >= 0

    def _copy_s(self, step: BoardStep) -> float:
        return self.parts.copy_s[step.tensor][step.device]

    def board_edges(self) -> Iterator[Edge]:
        """Yield the order of the steps of each board."""
        own: dict[int, list[_Place]] = {}
        for place in self.places:
            own.setdefault(place.step.device, []).append(place)
        for places in own.values():
            for place, after in pairwise([*places, places[0]]):
                tokens = int(after is places[0])
                yield Edge(place.node, after.node, self._cpu_s(place.step) + after.step.driver_s, tokens)
                if place.line >= 0 and not place.step.is_staged and not self._overlaps(place.step):
                    is_coming = place.step.kind in FROM_LINE
                    ends_s = self._known_s(place.step) if is_coming else sum(self.line_s(place.step))
                    yield Edge(place.line, after.node, ends_s, tokens)

    def transfer_edges(self) -> Iterator[Edge]:
        """Yield the order of each transfer and the steps at its ends."""
        for step, node, line in self.places:
            if step.kind is Kind.RUN:
                continue
            wire_s, reply_s = self.line_s(step)
            if step.kind is Kind.RECEIVE:
                yield Edge(line, line, wire_s + 2 * reply_s, 1)
            if self._overlaps(step):
                yield {
                    Kind.GRANT: Edge(node, line, reply_s, 0),
                    Kind.SEND: Edge(node, line, 0.0, 0),
                    Kind.RECEIVE: Edge(line, node, self._known_s(step), 0),
                    Kind.SENT: Edge(line, node, wire_s + reply_s, 0),
                }[step.kind]
            elif step.kind not in FROM_LINE:
                yield Edge(node, line, self._copy_s(step) if step.is_staged else 0.0, 0)
                if step.is_staged:
                    yield Edge(line, node, wire_s + reply_s, 1)
            elif step.is_staged:
                yield Edge(line, node, self._known_s(step), 0)
                yield Edge(node, line, self._copy_s(step) + reply_s, 1)
            else:
                yield Edge(node, line, reply_s, 0)

    def link_edges(self) -> Iterator[Edge]:
        """Yield the order of the transfers in one direction of a link."""

        def direction(place: _Place) -> tuple[int, int]:
            cut = self.program.transfers[place.step.transfer]
            return cut.sender, cut.receiver

        sends = sorted((place for place in self.places if place.step.kind is Kind.SEND), key=direction)
        for _, group in groupby(sends, key=direction):
            places = list(group)
            for place, after in pairwise([*places, places[0]]):
                yield Edge(place.line, after.line, self.line_s(place.step)[0], int(after is places[0]))
