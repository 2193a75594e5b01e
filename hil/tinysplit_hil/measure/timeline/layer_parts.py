"""What each board does for each layer of a distributed network: computing, waiting, and transfers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from rich.console import Console

from tinysplit.common.errors import ToolError
from tinysplit.common.progress import steps
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.distributed.partial_sum import AverageOfSums
from tinysplit.project.manifest import NETWORK_INPUT_NUMBER, Project, ProjectLayer, ProjectPart
from tinysplit_hil.measure.timeline.recording import RecordedStep, Recording, record_inferences
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.wire.protocol import RecordKind


@dataclass(frozen=True)
class PartTimes:
    """A layer of the whole network (from 1, or NETWORK_INPUT_NUMBER) on a board (from 1), in seconds.

    `part`: what the board computes of it, None of the network's input and where the board only passes its output on.
    Board by board, the times of all layers add up to the time from the begin of the inference to the board's last step.
    """

    layer: int
    name: str
    board: int
    part: ProjectPart | None
    estimated_s: float  # of computing
    computing_s: float  # without the interrupts of links
    waiting_s: float  # for tensors to come or to leave, without the interrupts of links
    transfers_s: float  # of the CPU: interrupts of links, steps that let tensors come and leave, and the host's tensors

    @property
    def seconds(self) -> float:
        """All of it."""
        return self.computing_s + self.waiting_s + self.transfers_s

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "layer": self.layer,
            "name": self.name,
            "board": self.board,
            "part": self.part.model_dump(mode="json") if self.part else None,
            "estimated_s": self.estimated_s,
            "computing_s": self.computing_s,
            "waiting_s": self.waiting_s,
            "transfers_s": self.transfers_s,
        }


def record_parts(
    project: Project, rig: Rig, inputs: IntArray, messages: Console, *, fail_fast: bool
) -> tuple[PartTimes, ...]:
    """Record an inference of the first input of a distributed network; see `record_inferences`. Of others return none.

    A board that fails costs only these times, with a warning. Raises ToolError with `fail_fast`.
    """
    if not project.is_distributed:
        return ()
    try:
        with steps(messages, "recording an inference"):
            return part_times(project, record_inferences(project, rig, inputs[:1])[0])
    except ToolError as error:
        if fail_fast:
            raise
        messages.print(f"warning: no times of parts: {error}", style="red", highlight=False)
        return ()


def part_times(project: Project, recording: Recording) -> tuple[PartTimes, ...]:
    """Return the times of each layer and board of a distributed network, by layers."""
    times_of = {
        (layer, board): times
        for board, taken in recording.steps.items()
        for layer, times in _times_of_board(project, taken).items()
    }
    return tuple(_part_times(project, *place, times) for place, times in sorted(times_of.items(), key=itemgetter(0)))


@dataclass
class _Times:
    """Seconds of one layer on a board."""

    computing_s: float = 0.0
    waiting_s: float = 0.0
    transfers_s: float = 0.0

    def add(self, step: RecordedStep) -> None:
        """Add a step; that of the output may end with a wait for the host."""
        if step.kind is RecordKind.LAYER:
            self.computing_s += step.seconds - step.links_s
            self.transfers_s += step.links_s
        elif step.kind in (RecordKind.COPY, RecordKind.SENT):
            self.waiting_s += step.seconds - step.links_s
            self.transfers_s += step.links_s
        else:
            self.transfers_s += step.own_s if step.kind is RecordKind.OUTPUT else step.seconds


def _times_of_board(project: Project, steps: Sequence[RecordedStep]) -> Mapping[int, _Times]:
    times: dict[int, _Times] = defaultdict(_Times)
    for step, layer in zip(steps, _layers_of(project, steps), strict=True):
        times[layer].add(step)
    return times


def _layers_of(project: Project, steps: Sequence[RecordedStep]) -> list[int]:
    """Return the layer of each step of a board: of what it receives the one that runs next, else that of the tensor."""
    layers = {layer.number: layer.part.layer for layer in project.layers if layer.part}
    tensors = {cut.number: cut.part.layer for cut in project.cuts if cut.part}
    layers_of_steps: list[int] = []
    following: int | None = None
    for step in reversed(steps):
        if step.kind is RecordKind.LAYER:
            following = layers[step.number]
            layers_of_steps.append(following)
        elif step.kind is RecordKind.INPUT:
            layers_of_steps.append(NETWORK_INPUT_NUMBER)
        elif step.kind is RecordKind.OUTPUT:
            layers_of_steps.append(len(project.network_formats))
        elif step.kind in (RecordKind.GRANT, RecordKind.COPY) and following is not None:
            layers_of_steps.append(following)
        else:
            layers_of_steps.append(tensors[step.number])
    return layers_of_steps[::-1]


def _part_times(project: Project, layer: int, board: int, times: _Times) -> PartTimes:
    parts = [each for each in project.layers if each.part and each.part.layer == layer]
    of_board = [each for each in parts if each.board == board]
    return PartTimes(
        layer=layer,
        name=parts[0].name if parts else "input",
        board=board,
        part=_part(of_board),
        estimated_s=sum(each.estimated_s for each in of_board),
        computing_s=times.computing_s,
        waiting_s=times.waiting_s,
        transfers_s=times.transfers_s,
    )


def _part(layers: Sequence[ProjectLayer]) -> ProjectPart | None:
    """Return what a board computes of a layer in all; of an average the rows that it sums, if it sums any."""
    sums = [each.part for each in layers if each.part and each.kind != AverageOfSums.kind]
    parts = sums or [each.part for each in layers if each.part]
    if not parts:
        return None
    first, last = min(part.first for part in parts), max(part.last for part in parts)
    return parts[0].model_copy(update={"first": first, "last": last})
