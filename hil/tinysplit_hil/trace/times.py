"""Layers and transfers of a trace: pulses of the markers in the order of the boards' steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Any

from tinysplit.boards.marker_pins import LAYER, TRANSFER
from tinysplit.common.errors import InputError
from tinysplit.common.tables import counted
from tinysplit.project.channels import Channel, channels_of
from tinysplit.project.manifest import Project, ProjectCut, ProjectLayer
from tinysplit.settings.programs import MARKERS
from tinysplit_hil.trace.files import Trace

Step = tuple[str, int, int]  # what a pulse belongs to: kind, board of the layer or sender of the cut, and its number


@dataclass(frozen=True, kw_only=True)
class TracedTime:
    """Seconds of a layer or a cut in each inference; None for a layer that runs inside of another one's pulse."""

    seconds: tuple[float, ...] | None
    note: str = ""  # what else the pulses contain

    @property
    def mean_s(self) -> float | None:
        """Mean over all inferences."""
        return sum(self.seconds) / len(self.seconds) if self.seconds else None


@dataclass(frozen=True, kw_only=True)
class TracedLayer(TracedTime):
    """The seconds of a layer."""

    layer: ProjectLayer


@dataclass(frozen=True, kw_only=True)
class TracedCut(TracedTime):
    """The seconds of a cut."""

    cut: ProjectCut


@dataclass(frozen=True)
class TraceReport:
    """Times of all layers and cuts of a project, in the order of its manifest."""

    project: Project
    unit_s: float  # of the times of edges
    inferences: int  # whose times these are
    overlapping: int  # of them, those that ran while another one did
    left_out: int  # inferences that did, too, in a recording that has others
    layers: tuple[TracedLayer, ...]
    cuts: tuple[TracedCut, ...]

    @property
    def core_hz(self) -> dict[int, int]:
        """Nominal clocks of the boards, by number."""
        return {board.number: board.core_hz for board in self.project.boards}

    def to_json(self) -> dict[str, Any]:
        """Return JSON values with the keys of `tinysplit measure`, times in seconds."""
        cores = self.core_hz
        return {
            "project_hash": self.project.project_hash,
            "inferences": self.inferences,
            "overlapping": self.overlapping,
            "left_out": self.left_out,
            "unit_s": self.unit_s,
            "layers": [
                {
                    **_json_of(time),
                    "number": time.layer.number,
                    "name": time.layer.name,
                    "board": time.layer.board,
                    "cycles": None if time.mean_s is None else time.mean_s * cores[time.layer.board],
                    "estimated_s": time.layer.estimated_s,
                }
                for time in self.layers
            ],
            "cuts": [
                {
                    **_json_of(time),
                    "number": time.cut.number,
                    "from_board": time.cut.from_board,
                    "to_board": time.cut.to_board,
                    "estimated_s": time.cut.estimated_s,
                }
                for time in self.cuts
            ],
        }


def _json_of(time: TracedTime) -> dict[str, Any]:
    seconds = time.seconds or ()
    return {
        "measured_s": time.mean_s,
        "measured_min_s": min(seconds, default=None),
        "measured_max_s": max(seconds, default=None),
        "note": time.note,
    }


def times_of(project: Project, trace: Trace, names: Mapping[Channel, str]) -> TraceReport:
    """Return the times in a trace whose channels have these names, by board and kind.

    Where inferences overlap, a board serves links while it computes: they count only where all of a copy of the network
    do.

    Raises InputError for a project without markers, a channel that is not in the trace, and pulses that do not fit the
    steps of a board.
    """
    if not project.has_markers:
        raise InputError(f"the project drives no pins: generate it with {MARKERS(True)}, and flash it")
    pulses: dict[Step, list[list[float]]] = {}  # of each inference
    inferences = overlapping = left_out = 0
    for copy in project.copies:
        traced = _inferences_of(project, copy, trace, names)
        alone = _alone(traced)
        used = alone or traced
        inferences += len(used)
        overlapping += len(used) - len(alone)
        left_out += len(traced) - len(used)
        for inference in used:
            for step, seconds in inference.pulses.items():
                pulses.setdefault(step, []).append(seconds)
    if not inferences:
        raise InputError(f"{trace.path}: no pulses: record all channels from idle to idle")
    return TraceReport(
        project,
        trace.unit_s,
        inferences,
        overlapping,
        left_out,
        tuple(_layer_time(project, layer, pulses.get((LAYER, layer.board, layer.number))) for layer in project.layers),
        tuple(_cut_time(cut, pulses.get((TRANSFER, cut.from_board, cut.number))) for cut in project.cuts),
    )


@dataclass
class _TracedInference:
    """The pulses of an inference, in seconds by what they belong to, and when the first began and the last ended."""

    pulses: dict[Step, list[float]] = field(default_factory=dict)
    begin_s: float = inf
    end_s: float = -inf

    def add(self, steps: Sequence[Step], pulses: Sequence[tuple[float, float]]) -> None:
        """Add the pulses of a channel."""
        for step, (begin_s, end_s) in zip(steps, pulses, strict=True):
            self.pulses.setdefault(step, []).append(end_s - begin_s)
            self.begin_s, self.end_s = min(self.begin_s, begin_s), max(self.end_s, end_s)


def _inferences_of(
    project: Project, copy: Sequence[int], trace: Trace, names: Mapping[Channel, str]
) -> list[_TracedInference]:
    """Return the inferences of a copy of the network, which runs on these boards, in their order."""
    channels = {}  # pulses and their steps, by name
    for channel in channels_of(project):
        if channel[0] in copy:
            name, pulses = names[channel], trace.pulses(names[channel])
            steps = _fitting_steps(project, channel, trace, name, len(pulses))
            if steps:
                channels[name] = (pulses, steps)
    counts = {name: len(pulses) // len(steps) for name, (pulses, steps) in channels.items()}
    if len(set(counts.values())) > 1:
        numbers = ", ".join(f"{name} has {counted(count, 'inference')}" for name, count in counts.items())
        raise InputError(f"{trace.path}: {numbers}: record all channels from idle to idle")
    inferences = [_TracedInference() for _ in range(max(counts.values(), default=0))]
    for pulses, steps in channels.values():
        for index, inference in enumerate(inferences):
            inference.add(steps, pulses[index * len(steps) : (index + 1) * len(steps)])
    return inferences


def _alone(inferences: Sequence[_TracedInference]) -> list[_TracedInference]:
    """Return those that began after the one before had ended, and ended before the next one began."""
    gaps = [before.end_s <= after.begin_s for before, after in pairwise(inferences)]
    return [each for each, *own in zip(inferences, [True, *gaps], [*gaps, True], strict=True) if all(own)]


def _is_streamed(project: Project, layer: ProjectLayer) -> bool:
    """Return whether rows of the layer arrive or leave while it runs."""
    sent = any(cut.is_sent_by_rows and cut.after_layer == layer.number for cut in project.cuts)
    return sent or any(
        cut.is_taken_by_rows and cut.to_board == layer.board and cut.after_layer in layer.inputs for cut in project.cuts
    )


def _layer_time(project: Project, layer: ProjectLayer, pulses: Sequence[Sequence[float]] | None) -> TracedLayer:
    other = layer.memory.fused_with
    if other is not None and other < layer.number:
        return TracedLayer(layer=layer, seconds=None, note=f"in layer {other}")
    note = f"with layer {other}" if other else "with its rows' transfer" if _is_streamed(project, layer) else ""
    return TracedLayer(layer=layer, seconds=tuple(map(sum, pulses or ())), note=note)


def _cut_time(cut: ProjectCut, pulses: Sequence[Sequence[float]] | None) -> TracedCut:
    rows = " and ".join(
        text for text, is_so in (("sent", cut.is_sent_by_rows), ("taken", cut.is_taken_by_rows)) if is_so
    )
    seconds = tuple(sum(own) - cut.acknowledgement_s for own in pulses or ())
    return TracedCut(cut=cut, seconds=seconds, note=f"{rows} by rows, with waiting for them" if rows else "")


def _fitting_steps(project: Project, channel: Channel, trace: Trace, name: str, count: int) -> list[Step]:
    """Return what a board's pulses are, in one inference; [] for a board that has none of them."""
    number, kind = channel
    possible = _layers_of(project, number) if kind == LAYER else [_transfers_of(project, number)]
    for steps in possible:
        if not steps and not count:
            return []
        if steps and count and count % len(steps) == 0:
            return steps
    expected = counted(len(possible[0]), "pulse")
    raise InputError(
        f"{trace.path}: {name} has {counted(count, 'pulse')}, but an inference has {expected} there: record whole"
        f" inferences, one at a time, with a higher sample rate than {1 / trace.unit_s:.3g} Hz if pulses are missing"
    )


def _layers_of(project: Project, number: int) -> list[list[Step]]:
    """Return the layers of a board, and those without the second ones of fused pairs, whose pulses are very short."""
    layers = [layer for layer in project.layers if layer.board == number]
    alone = [each for each in layers if each.memory.fused_with is None or each.memory.fused_with > each.number]
    return [[(LAYER, number, layer.number) for layer in each] for each in (layers, alone)]


def _transfers_of(project: Project, number: int) -> list[Step]:
    """Return the cut of each pulse: its copy out of a buffer, or its copy into one and then the link."""
    staged = project.board(number).staged_cuts
    steps: list[Step] = []
    for cut in sorted(project.cuts, key=lambda cut: cut.number):
        if cut.to_board == number and cut.number in staged and not cut.is_taken_by_rows:
            steps.append((TRANSFER, cut.from_board, cut.number))
        if cut.from_board == number:
            has_copy = cut.number in staged and not cut.is_sent_by_rows
            steps += [(TRANSFER, number, cut.number)] * (2 if has_copy else 1)
    return steps
