"""The steps of all boards in the order of the generated programs, and which of their transfers are staged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import sub
from typing import NamedTuple

from tinysplit.memory.staging import Stages, choose_stages
from tinysplit.split.evaluate.actions import Action, actions
from tinysplit.split.evaluate.constants import Copy, lost_seconds, ram_with_copies
from tinysplit.split.evaluate.cuts import transfers
from tinysplit.split.evaluate.memory import link_bytes, ram_bytes
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.topology import NETWORK_INPUT, Cut


class Kind(StrEnum):
    """Kind of a step: the host's input arrives, layers run, a tensor is sent or received, the host reads the output.

    GRANT and SENT: see `memory/schedule.py`.
    """

    INPUT = "input"
    RUN = "run"
    GRANT = "grant"
    SEND = "send"
    SENT = "sent"
    RECEIVE = "receive"
    OUTPUT = "output"


_STAGED_KINDS = (Kind.INPUT, Kind.SEND, Kind.RECEIVE, Kind.OUTPUT)


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
    """The steps of one inference: every device runs its own in this order. `transfers` are the tensors on links.

    `constants_bytes` of each device's RAM are kept for the arena with copies of constants, 0 where buffers come first.
    `lost_seconds` are those by which layers are slower for want of a copy.
    """

    transfers: tuple[Cut, ...]
    steps: tuple[BoardStep, ...]
    constants_bytes: tuple[int, ...]
    lost_seconds: Mapping[int, float]

    @property
    def blocking(self) -> tuple[BoardStep, ...]:
        """The transfers for which a board waits, as it lacks the RAM for a buffer."""
        return tuple(step for step in self.steps if step.kind in _STAGED_KINDS and not step.is_staged)


def program(problem: Problem, assignment: Assignment, *, constants_first: bool) -> Program:
    """Return the steps that the generated firmware repeats for every inference.

    All boards follow one list: the layers in their order, each followed by its transfers. RAM beside the arenas is for
    copies of constants and for buffers of transfers: `constants_first` says what gets it first.
    """
    sent = transfers(problem, assignment)
    steps = list(_in_order(problem, assignment, sent))
    arenas = ram_bytes(problem, assignment)
    limits = tuple(map(sub, (device.ram_bytes for device in problem.devices), link_bytes(problem, assignment, arenas)))
    copies = Copy.all(problem, assignment)
    constants = ram_with_copies(copies, limits) if constants_first else (0,) * len(limits)
    free_bytes = map(sub, limits, map(max, arenas, constants))
    stages = [_stages(problem, steps, device, max(0, free)) for device, free in enumerate(free_bytes)]
    lost = lost_seconds(copies, list(map(sub, limits, (each.size_bytes for each in stages))))
    return Program(sent, tuple(_joined(_slowed(_staged(steps, stages), lost))), constants, lost)


def _slowed(steps: Iterable[BoardStep], lost: Mapping[int, float]) -> Iterator[BoardStep]:
    for step in steps:
        yield step._replace(seconds=step.seconds + lost.get(step.tensor, 0.0)) if step.kind is Kind.RUN else step


def _joined(steps: Iterable[BoardStep]) -> list[BoardStep]:
    """Return the steps with all layers between two transfers of a device as one RUN."""
    joined: list[BoardStep] = []
    last_run: dict[int, int] = {}  # where the RUN is that ends the steps of a device so far
    for step in steps:
        before = last_run.get(step.device)
        if step.kind is not Kind.RUN:
            last_run.pop(step.device, None)
        elif before is None:
            last_run[step.device] = len(joined)
        else:
            own = joined[before]
            joined[before] = own._replace(tensor=step.tensor, seconds=own.seconds + step.seconds)
            continue
        joined.append(step)
    return joined


def _in_order(problem: Problem, assignment: Assignment, sent: Sequence[Cut]) -> Iterator[BoardStep]:
    for device in dict.fromkeys(assignment[reader] for reader in problem.readers[NETWORK_INPUT]):
        yield BoardStep(Kind.INPUT, device, NETWORK_INPUT)
    for action, device, item in actions(problem, assignment, sent):
        if action is Action.RUN:
            yield BoardStep(Kind.RUN, device, item, seconds=problem.layers[item].seconds[device])
        else:
            yield BoardStep(Kind(action.value), device, sent[item].after_layer, item)
    yield BoardStep(Kind.OUTPUT, assignment[-1], len(assignment) - 1)


def _stages(problem: Problem, steps: Sequence[BoardStep], device: int, free_bytes: int) -> Stages:
    """Return which transfers of a device have buffers in `free_bytes` of RAM.

    A driver that only polls moves tensors while its board waits, as if they had no buffers. A distributed network needs
    none.
    """
    has_buffers = problem.handoff_parts.overlaps and not problem.is_distributed
    moved_by_cpu = () if has_buffers else (Kind.SEND, Kind.RECEIVE)
    sizes: dict[Kind, list[int]] = {kind: [] for kind in Kind}
    for step in steps:
        if step.device == device:
            sizes[step.kind].append(0 if step.kind in moved_by_cpu else tensor_bytes(problem, step))
    ends = sum(sizes[Kind.INPUT]), sum(sizes[Kind.OUTPUT])
    return choose_stages(free_bytes, sizes[Kind.RECEIVE], sizes[Kind.SEND], *ends)


def _staged(steps: Iterable[BoardStep], stages: Sequence[Stages]) -> Iterator[BoardStep]:
    """Yield the steps with the buffers of each device."""
    chosen: dict[tuple[int, Kind], Iterator[bool]] = {}
    for device, own in enumerate(stages):
        flags = {Kind.RECEIVE: own.in_tensors, Kind.SEND: own.out_tensors, Kind.INPUT: [own.input]}
        chosen.update({(device, kind): iter(each) for kind, each in flags.items()})
        chosen[device, Kind.OUTPUT] = iter([own.output])
    for step in steps:
        yield step if step.kind not in _STAGED_KINDS else step._replace(is_staged=next(chosen[step.device, step.kind]))


def tensor_bytes(problem: Problem, step: BoardStep) -> int:
    """Return the bytes of the tensor of a step."""
    return problem.input_bytes if step.tensor == NETWORK_INPUT else problem.layers[step.tensor].out_bytes
