"""The steps of all boards in the order of the generated programs, and which of their transfers are staged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import add
from typing import NamedTuple

from tinysplit.memory.staging import choose_stages
from tinysplit.split.evaluate.cuts import transfers
from tinysplit.split.evaluate.memory import link_bytes, ram_bytes
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.topology import NETWORK_INPUT, Cut


class Kind(StrEnum):
    """Kind of a step: the host's input arrives, layers run, a tensor is sent or received, the host reads the output."""

    INPUT = "input"
    RUN = "run"
    SEND = "send"
    RECEIVE = "receive"
    OUTPUT = "output"


class BoardStep(NamedTuple):
    """A step of a device; the layers between two transfers are one RUN, of `seconds`.

    `tensor` is the index of the layer that computes it, or NETWORK_INPUT; `transfer` is an index of
    `Program.transfers`.
    """

    kind: Kind
    device: int
    tensor: int
    transfer: int = -1
    seconds: float = 0.0
    is_staged: bool = False  # the tensor has a buffer beside the arena, so that the board does not wait for the line


@dataclass(frozen=True)
class Program:
    """The steps of one inference: every device runs its own in this order. `transfers` are the tensors on links."""

    transfers: tuple[Cut, ...]
    steps: tuple[BoardStep, ...]

    @property
    def blocking(self) -> tuple[BoardStep, ...]:
        """The transfers for which a board waits, as it lacks the RAM for a buffer."""
        return tuple(step for step in self.steps if step.kind is not Kind.RUN and not step.is_staged)


def program(problem: Problem, assignment: Assignment) -> Program:
    """Return the steps that the generated firmware repeats for every inference.

    All boards follow one list: the layers in their order, each followed by its transfers.
    """
    sent = transfers(problem, assignment)
    steps: list[BoardStep] = []
    last_run: dict[int, int] = {}  # where the RUN is that ends the steps of a device so far
    for step in _in_order(problem, assignment, sent):
        before = last_run.get(step.device)
        if step.kind is not Kind.RUN:
            last_run.pop(step.device, None)
        elif before is None:
            last_run[step.device] = len(steps)
        else:
            steps[before] = steps[before]._replace(tensor=step.tensor, seconds=steps[before].seconds + step.seconds)
            continue
        steps.append(step)
    return Program(sent, _staged(problem, assignment, steps))


def _in_order(problem: Problem, assignment: Assignment, sent: Sequence[Cut]) -> Iterator[BoardStep]:
    for device in dict.fromkeys(assignment[reader] for reader in problem.readers[NETWORK_INPUT]):
        yield BoardStep(Kind.INPUT, device, NETWORK_INPUT)
    number = 0
    for layer, device in enumerate(assignment):
        yield BoardStep(Kind.RUN, device, layer, seconds=problem.layers[layer].seconds[device])
        while number < len(sent) and sent[number].after_layer == layer:
            yield BoardStep(Kind.SEND, sent[number].sender, layer, number)
            yield BoardStep(Kind.RECEIVE, sent[number].receiver, layer, number)
            number += 1
    yield BoardStep(Kind.OUTPUT, assignment[-1], len(assignment) - 1)


def _staged(problem: Problem, assignment: Assignment, steps: Sequence[BoardStep]) -> tuple[BoardStep, ...]:
    """Return the steps with buffers for those transfers for which the devices have RAM beside their arenas.

    A driver that only polls moves tensors while its board waits, as if they had no buffers.
    """
    moved_by_cpu = () if problem.handoff_parts.overlaps else (Kind.SEND, Kind.RECEIVE)
    chosen: dict[tuple[int, Kind], Iterator[bool]] = {}
    arenas = ram_bytes(problem, assignment)
    links = link_bytes(problem, assignment, arenas)
    for device, used_bytes in enumerate(map(add, arenas, links)):
        sizes: dict[Kind, list[int]] = {kind: [] for kind in Kind}
        for step in steps:
            if step.device == device:
                sizes[step.kind].append(0 if step.kind in moved_by_cpu else tensor_bytes(problem, step))
        stages = choose_stages(
            max(0, problem.devices[device].ram_bytes - used_bytes),
            sizes[Kind.RECEIVE],
            sizes[Kind.SEND],
            sum(sizes[Kind.INPUT]),
            sum(sizes[Kind.OUTPUT]),
        )
        chosen[device, Kind.RECEIVE], chosen[device, Kind.SEND] = iter(stages.in_tensors), iter(stages.out_tensors)
        chosen[device, Kind.INPUT], chosen[device, Kind.OUTPUT] = iter([stages.input]), iter([stages.output])
    return tuple(
        step if step.kind is Kind.RUN else step._replace(is_staged=next(chosen[step.device, step.kind]))
        for step in steps
    )


def tensor_bytes(problem: Problem, step: BoardStep) -> int:
    """Return the bytes of the tensor of a step."""
    return problem.input_bytes if step.tensor == NETWORK_INPUT else problem.layers[step.tensor].out_bytes
