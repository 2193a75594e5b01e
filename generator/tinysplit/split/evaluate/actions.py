"""The one list of actions that all boards follow: layers in their order, and the transfers of their outputs.

A board takes its own actions in this order. Each waits only for actions before it in the list, so that there is no
deadlock.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.split.problem import Assignment, Problem
from tinysplit.timing.topology import Cut

LAYERS_TO_LEAVE = 2  # of the whole network: after so many a tensor of a distributed one must have left


class BoardAction(NamedTuple):
    """An action of a device; `item` is the layer to run, or the transfer."""

    action: StepKind
    device: int
    item: int


def actions(problem: Problem, assignment: Assignment, sent: Sequence[Cut]) -> Iterator[BoardAction]:
    """Yield the layers and the transfers `sent`, right after the layers that compute them.

    Of a distributed network, a tensor may come when it is sent, or earlier as its receiver begins a part of the same
    tensor; it is waited for right before the first layer that reads it, and has left before the second layer after it,
    or at the end. A relay waits for it at once.
    """
    overlapped = _Overlapped(problem, assignment, sent)
    by_layer: dict[int, list[int]] = {}
    for number, cut in enumerate(sent):
        by_layer.setdefault(cut.after_layer, []).append(number)
    for layer, device in enumerate(assignment):
        yield from overlapped.before(layer)
        yield BoardAction(StepKind.RUN, device, layer)
        for number in by_layer.get(layer, ()):
            yield from overlapped.of(number) if problem.is_distributed else _at_once(number, sent[number])
    yield from overlapped.at_the_end()


def board_steps(problem: Problem, assignment: Assignment, sent: Sequence[Cut]) -> dict[int, list[PlanStep]]:
    """Return the steps of each board that takes part, by 0-based board."""
    steps: dict[int, list[PlanStep]] = {}
    for kind, device, item in actions(problem, assignment, sent):
        tensor = item if kind is StepKind.RUN else sent[item].after_layer
        steps.setdefault(device, []).append(PlanStep(kind, item, tensor))
    return steps


def _at_once(number: int, cut: Cut) -> Iterator[BoardAction]:
    yield BoardAction(StepKind.SEND, cut.sender, number)
    yield BoardAction(StepKind.RECEIVE, cut.receiver, number)


class _Overlapped:
    """The actions of the transfers of a distributed network; none of another one."""

    def __init__(self, problem: Problem, assignment: Assignment, sent: Sequence[Cut]) -> None:
        self._problem, self._assignment = problem, assignment
        self._sent = sent if problem.is_distributed else ()
        self._senders = {(cut.after_layer, cut.sender) for cut in self._sent}
        self._awaited = self._by_first_reader()
        self._granted_early = self._by_own_part()
        self._granted = frozenset(chain.from_iterable(self._granted_early.values()))
        self._leaving: dict[int, list[int]] = {}  # transfers that have not been waited for, by their senders

    def _by_first_reader(self) -> Mapping[int, list[int]]:
        found: dict[int, list[int]] = {}
        for number, cut in enumerate(self._sent):
            if not self._is_relayed(cut):
                readers = self._problem.readers[cut.after_layer]
                first = min(reader for reader in readers if self._assignment[reader] == cut.receiver)
                found.setdefault(first, []).append(number)
        return found

    def _by_own_part(self) -> Mapping[int, list[int]]:
        """Return the transfers by the receiver's first part of the same tensor, from which on its memory is in use."""
        found: dict[int, list[int]] = {}
        for number, cut in enumerate(self._sent):
            parts = zip(self._problem.origins[: cut.after_layer], self._assignment, strict=False)
            wanted = (self._origin(cut.after_layer), cut.receiver)
            first = next((layer for layer, part in enumerate(parts) if part == wanted), None)
            if first is not None and not self._is_relayed(cut):
                found.setdefault(first, []).append(number)
        return found

    def _is_relayed(self, cut: Cut) -> bool:
        return (cut.after_layer, cut.receiver) in self._senders

    def before(self, layer: int) -> Iterator[BoardAction]:
        """Yield what a board waits for before a layer, and what it lets come."""
        device = self._assignment[layer]
        for number in self._awaited.get(layer, ()):
            yield BoardAction(StepKind.RECEIVE, device, number)
        left = self._leaving.get(device, [])
        for number in list(left):
            if self._origin(self._sent[number].after_layer) + LAYERS_TO_LEAVE <= self._origin(layer):
                left.remove(number)
                yield BoardAction(StepKind.SENT, device, number)
        for number in self._granted_early.get(layer, ()):
            yield BoardAction(StepKind.GRANT, device, number)

    def of(self, number: int) -> Iterator[BoardAction]:
        """Yield the actions that let a tensor cross; a relay has it whole before the next one may."""
        cut = self._sent[number]
        if number not in self._granted:
            yield BoardAction(StepKind.GRANT, cut.receiver, number)
        yield BoardAction(StepKind.SEND, cut.sender, number)
        self._leaving.setdefault(cut.sender, []).append(number)
        if self._is_relayed(cut):
            yield BoardAction(StepKind.RECEIVE, cut.receiver, number)

    def at_the_end(self) -> Iterator[BoardAction]:
        """Yield the waits for all that has not left yet."""
        for device, numbers in self._leaving.items():
            for number in numbers:
                yield BoardAction(StepKind.SENT, device, number)

    def _origin(self, layer: int) -> int:
        """Return the layer of the whole network of which a layer is a part."""
        return self._problem.origins[layer]
