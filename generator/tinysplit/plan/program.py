"""The program of a plan as the event engine takes it, with the buffers and the streams that its boards have."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import LinkDriving
from tinysplit.memory.layout import BoardMemory
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.plan.stages import StageBuffers
from tinysplit.split.evaluate.program import Firmware, program_of, run_step, slowed, transfer_step
from tinysplit.split.problem import Assignment, Problem
from tinysplit.timing.program import BoardStep, Kind, Program, Rows, Stream
from tinysplit.timing.topology import NETWORK_INPUT, Cut


@dataclass(frozen=True, eq=False)
class BoardSteps:
    """A board's part of a plan: its steps and memory, the buffers of its transfers, and how its links are driven."""

    index: int
    board: Board
    steps: Sequence[PlanStep]
    memory: BoardMemory
    stages: StageBuffers
    driving: LinkDriving
    takes_input: bool
    gives_output: bool


class RunRows(NamedTuple):
    """A RUN of `layers` that is computed row by row: see `Rows`."""

    layers: tuple[int, ...]
    rows: Rows


def program_of_boards(
    problem: Problem,
    assignment: Assignment,
    cuts: Sequence[Cut],
    boards: Iterable[BoardSteps],
    runs: Sequence[RunRows] = (),
    streams: Mapping[int, Stream] | None = None,
) -> Program:
    """Return the program of boards that take their steps; `runs` and `streams` are those of streamed transfers.

    `problem` has the costs of layers and of transfers, of which `cuts` are all.
    """
    lost_s = Firmware.of(problem, assignment).lost_seconds
    steps = (step for board in boards for step in _steps(problem, board))
    made = program_of(problem, cuts, _with_rows(slowed(steps, lost_s), runs))
    return replace(made, streams=streams or {})


def _steps(problem: Problem, board: BoardSteps) -> Iterator[BoardStep]:
    stages = board.stages
    if board.takes_input:
        step = transfer_step(problem, Kind.INPUT, board.index, NETWORK_INPUT)
        yield step._replace(is_staged=stages.input is not None)
    for kind, item, tensor in board.steps:
        if kind is StepKind.RUN:
            yield run_step(problem, item, board.index)
        else:
            is_staged = kind in {StepKind.SEND, StepKind.RECEIVE} and item in stages.cuts
            yield transfer_step(problem, Kind(kind.value), board.index, tensor, item)._replace(is_staged=is_staged)
    if board.gives_output:
        step = transfer_step(problem, Kind.OUTPUT, board.index, len(problem.layers) - 1)
        yield step._replace(is_staged=stages.output is not None)


def _with_rows(steps: Iterable[BoardStep], runs: Sequence[RunRows]) -> Iterator[BoardStep]:
    """Yield the steps; layers that compute rows together are one."""
    rows = {run.layers[-1]: run.rows for run in runs}
    consumers = {run.layers[0]: run.layers[-1] for run in runs if len(run.layers) > 1}
    producers: dict[int, BoardStep] = {}  # by their consumers
    for step in steps:
        if step.kind is Kind.RUN and step.tensor in consumers:
            producers[consumers[step.tensor]] = step
        elif step.kind is Kind.RUN and step.tensor in rows:
            first = producers.get(step.tensor, step)
            seconds = step.seconds + (first.seconds if first is not step else 0.0)
            layers = first.layers[0], step.layers[1]
            yield step._replace(seconds=seconds, layers=layers, rows=rows[step.tensor])
        else:
            yield step
