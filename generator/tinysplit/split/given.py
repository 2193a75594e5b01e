"""An assignment that was given and not searched for: from text, and as a split, or why it cannot run."""

import re
from collections.abc import Iterator, Sequence
from math import isfinite

from tinysplit.boards.board import board_title
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.common.tables import counted
from tinysplit.common.texts.spans import span_text
from tinysplit.common.units import MILLI, MS
from tinysplit.settings.costs import PAPER
from tinysplit.settings.search import ASSIGN
from tinysplit.split.evaluate.memory import link_bytes, linked_devices
from tinysplit.split.evaluate.sub_models import sub_models
from tinysplit.split.least_costs import with_least_of_all
from tinysplit.split.problem import Assignment, Problem, within
from tinysplit.split.solution import GIVEN, Split
from tinysplit.split.solvers.labels.links import neighbours
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers

_RUN = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?:(\d{1,9})")


def parse_assignment(text: str, n_layers: int, n_boards: int) -> Assignment:
    """Return the assignment that `text` describes, as in 1-6:1,7:2: layers and board of each run, from 1, in order.

    Raises UsageError for malformed text, for a board outside of 1 to `n_boards`, and unless each of `n_layers` layers
    is named once, in the order in which they run.
    """
    assignment: list[int] = []
    for run in text.split(","):
        match = _RUN.fullmatch(run.strip())
        if not match:
            raise UsageError(f"{ASSIGN} {text!r}: {run!r} is not LAYERS:BOARD, as in 1-6:1,7:2")
        first, board = int(match[1]), int(match[3])
        last = int(match[2] or first)
        if not 1 <= board <= n_boards:
            raise UsageError(f"{ASSIGN} {text}: there is no board {board}: give boards from 1 to {n_boards}")
        if not 1 <= first <= last <= n_layers:
            raise UsageError(f"{ASSIGN} {text}: {run} is no run of layers: there are layers 1 to {n_layers}")
        if first <= len(assignment):
            raise UsageError(f"{ASSIGN} {text}: layer {first} comes twice or late: name each once, in their order")
        if first > len(assignment) + 1:
            raise UsageError(f"{ASSIGN} {text}: layer {len(assignment) + 1} has no board before layer {first}")
        assignment += [board - 1] * (last - first + 1)
    if len(assignment) < n_layers:
        raise UsageError(f"{ASSIGN} {text}: layer {len(assignment) + 1} has no board: name all {n_layers} layers")
    return tuple(assignment)


def assignment_text(assignment: Assignment) -> str:
    """Return the assignment as `parse_assignment` takes it."""
    runs = sub_models(assignment)
    return ",".join(f"{span_text(run.first + 1, run.last + 1)}:{run.device + 1}" for run in runs)


def given_split(problem: Problem, assignment: Assignment, link_counts: Sequence[int]) -> Split:
    """Return `assignment` as a split, in which device i may have `link_counts[i]` neighbours.

    Raises CheckFailedError, which names the board and what it lacks or the limit, where it is not feasible.
    """
    split = Split(problem, assignment, 0.0, 1, GIVEN, 0.0)
    reason = next(_reasons_against(split, link_counts), None)
    if reason:
        raise CheckFailedError(f"the assignment {assignment_text(assignment)} cannot run: {reason}")
    bound = min(lower_bound_without_transfers(with_least_of_all(problem)), split.objective)
    return Split(problem, assignment, bound, 1, GIVEN, 0.0)


def _reasons_against(split: Split, link_counts: Sequence[int]) -> Iterator[str]:
    yield from _unconnected(split, link_counts)
    yield from _short_memories(split)
    yield from _broken_rules(split.problem, split.assignment)
    yield from _broken_limits(split)


def _unconnected(split: Split, link_counts: Sequence[int]) -> Iterator[str]:
    """Yield layers on boards that cannot run them, cuts between boards without a link, and boards with too many."""
    problem = split.problem
    for number, (layer, device) in enumerate(zip(problem.layers, split.assignment, strict=True), 1):
        if not isfinite(layer.seconds[device]):
            yield f"layer {number} {layer.name!r} cannot run on {_title(problem, device)}"
    for cut in split.cuts:
        if not isfinite(cut.seconds):
            ends = f"{_title(problem, cut.sender)} to {_title(problem, cut.receiver)}"
            yield f"the output of layer {cut.after_layer + 1} has no route from {ends}: link them"
    hops = (hop for cut in split.cuts for hop in problem.hops(cut))
    peers = neighbours(len(problem.devices), hops)
    for device, uarts in enumerate(link_counts):
        count = peers[device].bit_count()
        if count > uarts:
            links = f"{counted(count, 'link')}, with UARTs for {uarts}"
            yield f"{_title(problem, device)} needs {links}: use a board with more, or fewer neighbours"


def _short_memories(split: Split) -> Iterator[str]:
    problem, figures = split.problem, split.figures
    linked = linked_devices(problem, split.assignment)
    links = link_bytes(problem, split.assignment, figures.ram_bytes)
    for index, device in enumerate(problem.devices):
        flash_bytes = device.flash_bytes + (0 if index in linked else device.link_flash_bytes)
        for what, used, free in (
            ("flash", figures.flash_bytes[index], flash_bytes),
            ("RAM", figures.ram_bytes[index] + links[index], device.ram_bytes),
        ):
            if used > free:
                needs = f"needs {used} bytes of {what} for its layers and has {free}"
                yield f"{_title(problem, index)} {needs}: {used - free} bytes short"


def _broken_rules(problem: Problem, assignment: Assignment) -> Iterator[str]:
    for layer in sorted(problem.joined):
        if assignment[layer] != assignment[layer + 1]:
            yield f"{PAPER} counts no cut between layers {layer + 1} and {layer + 2}: give both to one board"
    if problem.must_use_all:
        for index in sorted(set(range(len(problem.devices))) - set(assignment)):
            yield f"{_title(problem, index)} has no layer, and all boards are to be used: leave this board out"


def _broken_limits(split: Split) -> Iterator[str]:
    figures, problem = split.figures, split.problem
    if not within(figures.i_s, problem.max_latency_s):
        yield f"latency {figures.i_s * MS:.6g} ms is above the limit of {problem.max_latency_s * MS:.6g} ms"
    limit_s = problem.longest_period_s
    if isfinite(limit_s) and not within(figures.period_s, limit_s):
        yield f"period {figures.period_s * MS:.6g} ms is above the limit of {limit_s * MS:.6g} ms"
    limit_j = problem.max_energy_j
    if isfinite(limit_j) and not within(figures.energy_j, limit_j):
        yield f"energy {figures.energy_j * MILLI:.6g} mJ is above the limit of {limit_j * MILLI:.6g} mJ"


def _title(problem: Problem, device: int) -> str:
    return board_title(device + 1, problem.devices[device].name)
