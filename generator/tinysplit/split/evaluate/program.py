"""The programs that generated boards repeat for an assignment: their steps, and which transfers are staged."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from operator import sub
from typing import Self

from tinysplit.memory.schedule import StepKind
from tinysplit.memory.staging import Stages, choose_stages
from tinysplit.split.evaluate.actions import actions
from tinysplit.split.evaluate.constants import Copy, lost_seconds, ram_with_copies
from tinysplit.split.evaluate.cuts import transfers
from tinysplit.split.evaluate.cycle_ratio import maximum_cycle_ratio
from tinysplit.split.evaluate.event_graph import event_graph
from tinysplit.split.evaluate.memory import link_bytes, ram_bytes
from tinysplit.split.problem import Assignment, Objective, Problem
from tinysplit.timing.program import STAGED_KINDS, BoardStep, Kind, Program, with_drivers
from tinysplit.timing.topology import NETWORK_INPUT, Cut


@dataclass(frozen=True, eq=False)
class Firmware:
    """A program and its memory.

    `constants_bytes` of each device's RAM are kept for the arena with copies of constants, 0 where buffers come first.
    `lost_seconds` are those by which layers are slower for want of a copy.
    """

    program: Program
    constants_bytes: tuple[int, ...]
    lost_seconds: Mapping[int, float]

    @cached_property
    def period_s(self) -> float:
        """Seconds between two outputs while inputs wait, by the event graph."""
        graph = event_graph(self.program)
        return maximum_cycle_ratio(graph.n_nodes, graph.edges)

    @classmethod
    def of(cls, problem: Problem, assignment: Assignment) -> Self:
        """Return the generated firmware.

        RAM goes to constants first, which make an inference faster, while buffers do not. It goes to buffers first for
        throughput, and within a limit of the period that is not kept otherwise, where that gives the shorter period.
        """
        wants_throughput = problem.objective is Objective.THROUGHPUT
        if wants_throughput:
            with_buffers = cls._made(problem, assignment, constants_first=False)
            if not with_buffers.lost_seconds:
                return with_buffers
            with_constants = cls._made(problem, assignment, constants_first=True)
        else:
            with_constants = cls._made(problem, assignment, constants_first=True)
            if not (any(with_constants.constants_bytes) and isfinite(problem.longest_period_s)):
                return with_constants
            if with_constants.period_s <= problem.longest_period_s:
                return with_constants
            with_buffers = cls._made(problem, assignment, constants_first=False)
        return min(with_buffers, with_constants, key=lambda firmware: firmware.period_s)

    @classmethod
    def _made(cls, problem: Problem, assignment: Assignment, *, constants_first: bool) -> Self:
        """Return the steps that the generated firmware repeats for every inference.

        All boards follow one list: the layers in their order, each followed by its transfers. RAM beside the arenas is
        for copies of constants and for buffers of transfers: `constants_first` says what gets it first. There are no
        buffers to minimise RAM.
        """
        sent = transfers(problem, assignment)
        steps = list(_in_order(problem, assignment, sent))
        arenas = ram_bytes(problem, assignment)
        own_bytes = (device.ram_bytes for device in problem.devices)
        limits = tuple(map(sub, own_bytes, link_bytes(problem, assignment, arenas)))
        copies = Copy.all(problem, assignment)
        constants = ram_with_copies(copies, limits) if constants_first else (0,) * len(limits)
        free_bytes = (0,) * len(limits) if problem.minimises_ram else map(sub, limits, map(max, arenas, constants))
        stages = [_stages(problem, steps, device, max(0, free)) for device, free in enumerate(free_bytes)]
        lost = lost_seconds(copies, list(map(sub, limits, (each.size_bytes for each in stages))))
        made = program_of(problem, sent, slowed(_staged(steps, stages), lost))
        return cls(made, constants, lost)


def program_of(problem: Problem, sent: Sequence[Cut], steps: Iterable[BoardStep]) -> Program:
    """Return the program of boards with the hand-offs of `problem` that take these steps."""
    half_duplex = problem.links.half_duplex if problem.links else frozenset()
    parts, transfers, found = problem.handoff_parts, tuple(sent), tuple(joined(steps))
    return Program(
        parts,
        transfers,
        with_drivers(found, parts, transfers) if problem.is_distributed else found,
        is_distributed=problem.is_distributed,
        half_duplex=half_duplex,
    )


def run_step(problem: Problem, layer: int, device: int) -> BoardStep:
    """Return the step in which `device` computes a layer."""
    number = problem.origins[layer] if problem.origins else layer
    seconds = problem.layers[layer].seconds[device]
    return BoardStep(Kind.RUN, device, layer, seconds=seconds, layers=(number, number))


def transfer_step(problem: Problem, kind: Kind, device: int, tensor: int, transfer: int = -1) -> BoardStep:
    """Return a step in which a tensor comes to `device` or leaves it."""
    n_bytes = problem.input_bytes if tensor == NETWORK_INPUT else problem.layers[tensor].out_bytes
    return BoardStep(kind, device, tensor, transfer, n_bytes=n_bytes)


def slowed(steps: Iterable[BoardStep], lost: Mapping[int, float]) -> Iterator[BoardStep]:
    """Yield the steps, layers with the seconds that they lose."""
    for step in steps:
        yield step._replace(seconds=step.seconds + lost.get(step.tensor, 0.0)) if step.kind is Kind.RUN else step


def joined(steps: Iterable[BoardStep]) -> list[BoardStep]:
    """Return the steps with all layers between two transfers of a device as one RUN, but for those with rows."""
    found: list[BoardStep] = []
    last_run: dict[int, int] = {}  # where the RUN is that ends the steps of a device so far
    for step in steps:
        before = last_run.get(step.device)
        if step.kind is not Kind.RUN or step.rows:
            last_run.pop(step.device, None)
        elif before is None:
            last_run[step.device] = len(found)
        else:
            own = found[before]
            layers = own.layers[0], step.layers[1]
            found[before] = own._replace(tensor=step.tensor, seconds=own.seconds + step.seconds, layers=layers)
            continue
        found.append(step)
    return found


def _in_order(problem: Problem, assignment: Assignment, sent: Sequence[Cut]) -> Iterator[BoardStep]:
    for device in dict.fromkeys(assignment[reader] for reader in problem.readers[NETWORK_INPUT]):
        yield transfer_step(problem, Kind.INPUT, device, NETWORK_INPUT)
    for action, device, item in actions(problem, assignment, sent):
        if action is StepKind.RUN:
            yield run_step(problem, item, device)
        else:
            yield transfer_step(problem, Kind(action.value), device, sent[item].after_layer, item)
    yield transfer_step(problem, Kind.OUTPUT, assignment[-1], len(assignment) - 1)


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
            sizes[step.kind].append(0 if step.kind in moved_by_cpu else step.n_bytes)
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
        yield step if step.kind not in STAGED_KINDS else step._replace(is_staged=next(chosen[step.device, step.kind]))
