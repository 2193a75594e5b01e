"""The splitting problem as a mixed integer linear program.

Binary variables assign layers to devices. For each edge of the graph, continuous flow variables go from the device of
the producing layer to the device of the reading layer: the row sums are the producer's binaries and the column sums the
reader's, the tightest of the usual linearizations of a product of binaries. A cut variable is at least each flow of its
tensor between the same two devices, so that a tensor that several layers read there is sent once. Where the cost does
not depend on the receiver, one departure variable per sender replaces the flows. Only the assignment is binary; all
other variables follow from it.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import permutations
from math import isfinite
from typing import NamedTuple

from milp.model import LinearProgram
from tinysplit.split.problem import Assignment, Problem
from tinysplit.timing.topology import NETWORK_INPUT, Hop

ANY_OTHER = -1  # receiver of a departure, which does not matter


class CutVariable(NamedTuple):
    """Variable of a cut: the output of layer `tensor` is sent over `hops`."""

    variable: int
    tensor: int
    hops: tuple[Hop, ...]


class SplitProgram(LinearProgram):
    """Assignment, cuts, flash and rules of a problem; other modules add the objective, its limits and RAM."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem
        self.devices = range(len(problem.devices))
        self.on_device = [
            [self.variable(float(isfinite(seconds)), is_integer=True) for seconds in row]
            for row in problem.usable_seconds
        ]
        for row in self.on_device:
            self.constrain(dict.fromkeys(row, 1.0), 1, 1)
        self.cuts = [cut for tensor in range(len(problem.layers)) for cut in self._add_cuts(tensor)]
        for device in self.devices:
            self._add_flash(device)
            self._add_rules(device)

    @cached_property
    def inputs(self) -> list[int]:
        """Variables by device: it needs the network's input."""
        return self.any_of([self.on_device[layer] for layer in self.problem.readers[NETWORK_INPUT]])

    @cached_property
    def powered(self) -> list[int]:
        """Variables by device: it runs a layer or relays a tensor."""
        powered = self.any_of(self.on_device)
        for cut in self.cuts:
            for hop in cut.hops[1:]:
                self.at_least(powered[hop.sender], cut.variable)
        return powered

    def any_of(self, rows: Sequence[Sequence[int]]) -> list[int]:
        """Return for each device a variable that is at least each of its variables in `rows`."""
        if len(rows) == 1:
            return list(rows[0])
        found = [self.variable() for _ in self.devices]
        for row in rows:
            for variable, part in zip(found, row, strict=True):
                self.at_least(variable, part)
        return found

    def assignment(self, values: Sequence[float]) -> Assignment:
        """Return the device of every layer from the values of all variables."""
        return tuple(max(self.devices, key=lambda device: values[row[device]]) for row in self.on_device)

    def exclude(self, assignment: Assignment) -> None:
        """Add a no-good cut that excludes `assignment`."""
        taken = {row[device]: 1.0 for row, device in zip(self.on_device, assignment, strict=True)}
        self.constrain(taken, high=len(taken) - 1)

    def _add_cuts(self, tensor: int) -> Iterator[CutVariable]:
        readers = self.problem.readers[tensor]
        if len(readers) == 1 and self._receiver_is_irrelevant(tensor):
            yield from self._add_departures(tensor, readers[0])
        else:
            yield from self._add_flow_cuts(tensor)

    def _receiver_is_irrelevant(self, tensor: int) -> bool:
        """Return whether the cost of sending the tensor does not depend on the receiver."""
        table = self.problem.transfer_seconds[tensor]
        to_others = (set(row[:i] + row[i + 1 :]) for i, row in enumerate(table))
        return self.problem.links is None and not self.problem.asks_for_energy and all(len(s) == 1 for s in to_others)

    def _add_departures(self, tensor: int, reader: int) -> Iterator[CutVariable]:
        """Yield one cut for each sender: as tight as flows if the receiver is irrelevant, with fewer variables."""
        for sender in self.devices:
            seconds = self.problem.transfer_seconds[tensor][sender][sender - 1]
            leaves = self.variable(float(isfinite(seconds)))
            self.constrain(
                {leaves: 1.0, self.on_device[tensor][sender]: -1.0, self.on_device[reader][sender]: 1.0}, low=0.0
            )
            if isfinite(seconds):
                yield CutVariable(leaves, tensor, (Hop(sender, ANY_OTHER, seconds),))

    def _add_flow_cuts(self, tensor: int) -> Iterator[CutVariable]:
        edges = [self._add_flows(tensor, reader) for reader in self.problem.readers[tensor]]
        for sender, receiver in permutations(self.devices if edges else (), 2):
            flows_of_edges = [flows[sender][receiver] for flows in edges]
            seconds = self.problem.transfer_seconds[tensor][sender][receiver]
            if isfinite(seconds):
                yield CutVariable(self._cut(flows_of_edges), tensor, self._hops(tensor, sender, receiver))
            else:
                self.forbid(flows_of_edges)

    def _add_flows(self, tensor: int, reader: int) -> list[list[int]]:
        flows = [[self.variable() for _ in self.devices] for _ in self.devices]
        for device in self.devices:
            leaving = dict.fromkeys(flows[device], 1.0)
            arriving = {row[device]: 1.0 for row in flows}
            self.constrain(leaving | {self.on_device[tensor][device]: -1.0}, 0, 0)
            self.constrain(arriving | {self.on_device[reader][device]: -1.0}, 0, 0)
        return flows

    def _hops(self, tensor: int, sender: int, receiver: int) -> tuple[Hop, ...]:
        return self.problem.hops(self.problem.cut(tensor, sender, receiver))

    def _cut(self, flows_of_edges: Sequence[int]) -> int:
        if len(flows_of_edges) == 1:
            return flows_of_edges[0]
        cut = self.variable()
        for flow in flows_of_edges:
            self.at_least(cut, flow)
        return cut

    def _add_flash(self, device: int) -> None:
        flash = {
            row[device]: layer.flash_bytes[device]
            for row, layer in zip(self.on_device, self.problem.layers, strict=True)
        }
        # Bytes are integers: half a byte more is no relaxation, and rounding cannot tighten the constraint.
        self.constrain(flash, high=self.problem.devices[device].flash_bytes + 0.5)

    def _add_rules(self, device: int) -> None:
        if self.problem.must_use_all:
            self.constrain({row[device]: 1.0 for row in self.on_device}, low=1)
        for layer in self.problem.joined:
            self.constrain({self.on_device[layer][device]: 1.0, self.on_device[layer + 1][device]: -1.0}, 0, 0)
