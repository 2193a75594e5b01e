"""The splitting problem as a mixed integer linear program.

A binary variable says that a layer is on a device. A tensor flows along each of its edges from the device of the layer
that computes it to that of the layer that reads it: the flow leaves where the one is and arrives where the other is,
the tightest of the usual linearizations. A cut is at least each flow of its tensor between the same two devices, so
that what several layers read there is paid once. Where all receivers are alike, what leaves says as much as the flows.
Only the places are binary; all else follows from them.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import permutations
from math import isfinite
from typing import NamedTuple

from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solvers.milp.model import LinearProgram
from tinysplit.split.topology import NETWORK_INPUT, Hop

ANY_OTHER = -1  # in place of a receiver


class CutVariable(NamedTuple):
    """Whether the output of layer `tensor` crosses, and the links that it takes."""

    variable: int
    tensor: int
    hops: tuple[Hop, ...]


class SplitProgram(LinearProgram):
    """Places of layers, cuts, flash, and the rules of a problem; figures, limits and RAM come in other modules."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem
        self.devices = range(len(problem.devices))
        self.places = [
            [self.variable(float(isfinite(seconds)), is_integer=True) for seconds in row]
            for row in problem.usable_seconds
        ]
        for row in self.places:
            self.row(dict.fromkeys(row, 1.0), 1, 1)
        self.cuts = [cut for tensor in range(len(problem.layers)) for cut in self._add_cuts(tensor)]
        for device in self.devices:
            self._add_flash(device)
            self._add_rules(device)

    @cached_property
    def inputs(self) -> list[int]:
        """Variables that each device needs the network's input."""
        return self.any_of([self.places[layer] for layer in self.problem.readers[NETWORK_INPUT]])

    @cached_property
    def powered(self) -> list[int]:
        """Variables that each device runs a layer or passes a tensor on."""
        powered = self.any_of(self.places)
        for cut in self.cuts:
            for hop in cut.hops[1:]:
                self.covers(powered[hop.sender], cut.variable)
        return powered

    def any_of(self, rows: Sequence[Sequence[int]]) -> list[int]:
        """Return for each device a variable that is at least those of `rows`."""
        if len(rows) == 1:
            return list(rows[0])
        found = [self.variable() for _ in self.devices]
        for row in rows:
            for variable, part in zip(found, row, strict=True):
                self.covers(variable, part)
        return found

    def assignment(self, values: Sequence[float]) -> Assignment:
        """Return the devices that values of all variables mean."""
        return tuple(max(self.devices, key=lambda device: values[row[device]]) for row in self.places)

    def exclude(self, assignment: Assignment) -> None:
        """Ask for any other assignment."""
        taken = {row[device]: 1.0 for row, device in zip(self.places, assignment, strict=True)}
        self.row(taken, high=len(taken) - 1)

    def _add_cuts(self, tensor: int) -> Iterator[CutVariable]:
        readers = self.problem.readers[tensor]
        if len(readers) == 1 and self._leads_anywhere(tensor):
            yield from self._add_departures(tensor, readers[0])
        else:
            yield from self._add_ways(tensor)

    def _leads_anywhere(self, tensor: int) -> bool:
        """Return whether it makes no difference to what other device the tensor goes."""
        table = self.problem.transfer_seconds[tensor]
        to_others = (set(row[:i] + row[i + 1 :]) for i, row in enumerate(table))
        return self.problem.links is None and not self.problem.asks_for_energy and all(len(s) == 1 for s in to_others)

    def _add_departures(self, tensor: int, reader: int) -> Iterator[CutVariable]:
        """Give a cut for each sender: as tight as flows where the receiver makes no difference, and much smaller."""
        for sender in self.devices:
            seconds = self.problem.transfer_seconds[tensor][sender][sender - 1]
            leaves = self.variable(float(isfinite(seconds)))
            self.row({leaves: 1.0, self.places[tensor][sender]: -1.0, self.places[reader][sender]: 1.0}, low=0.0)
            if isfinite(seconds):
                yield CutVariable(leaves, tensor, (Hop(sender, ANY_OTHER, seconds),))

    def _add_ways(self, tensor: int) -> Iterator[CutVariable]:
        edges = [self._add_flows(tensor, reader) for reader in self.problem.readers[tensor]]
        for sender, receiver in permutations(self.devices if edges else (), 2):
            ways = [flows[sender][receiver] for flows in edges]
            seconds = self.problem.transfer_seconds[tensor][sender][receiver]
            if isfinite(seconds):
                yield CutVariable(self._cut(ways), tensor, self._hops(tensor, sender, receiver))
            else:
                self.forbid(ways)

    def _add_flows(self, tensor: int, reader: int) -> list[list[int]]:
        flows = [[self.variable() for _ in self.devices] for _ in self.devices]
        for device in self.devices:
            leaving = dict.fromkeys(flows[device], 1.0)
            arriving = {row[device]: 1.0 for row in flows}
            self.row(leaving | {self.places[tensor][device]: -1.0}, 0, 0)
            self.row(arriving | {self.places[reader][device]: -1.0}, 0, 0)
        return flows

    def _hops(self, tensor: int, sender: int, receiver: int) -> tuple[Hop, ...]:
        return self.problem.hops(self.problem.cut(tensor, sender, receiver))

    def _cut(self, ways: Sequence[int]) -> int:
        if len(ways) == 1:
            return ways[0]
        cut = self.variable()
        for way in ways:
            self.covers(cut, way)
        return cut

    def _add_flash(self, device: int) -> None:
        flash = {
            row[device]: layer.flash_bytes[device] for row, layer in zip(self.places, self.problem.layers, strict=True)
        }
        # Half a byte more changes nothing, and no rounding can make the row stricter than it is.
        self.row(flash, high=self.problem.devices[device].flash_bytes + 0.5)

    def _add_rules(self, device: int) -> None:
        if self.problem.must_use_all:
            self.row({row[device]: 1.0 for row in self.places}, low=1)
        if self.problem.keep_last_two and len(self.places) > 1:
            self.row({self.places[-1][device]: 1.0, self.places[-2][device]: -1.0}, 0, 0)
