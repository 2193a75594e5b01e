"""The measured timeline: what the boards of a recording did when."""

from collections.abc import Iterator

from tinysplit.project.manifest import Project
from tinysplit_hil.measure.timeline.recording import RecordedStep, Recording
from tinysplit_hil.measure.timeline.spans import Span, SpanKind, board_row, transfer_spans
from tinysplit_hil.wire.protocol import RecordKind


def measured_spans(project: Project, recording: Recording) -> Iterator[Span]:
    """Yield the spans of a recorded inference; layers that run together share their time by their own times."""
    for number in recording.steps:
        yield from _BoardSpans(project, recording, number).spans()
    for cut in project.slowest.cuts:
        sent = recording.sent[cut.number]
        yield from transfer_spans(project, cut, sent.started_s, sent.acknowledged_s - cut.acknowledgement_s)


class _BoardSpans:
    """The spans of one board."""

    def __init__(self, project: Project, recording: Recording, board: int) -> None:
        self._layers = {layer.number: layer for layer in project.slowest.layers}
        self._cuts = {cut.number: cut for cut in project.slowest.cuts}
        self._staged_cuts = project.board(board).staged_cuts
        self._recording = recording
        self._board = board
        self._row = board_row(project, board)

    def spans(self) -> Iterator[Span]:
        for step in self._recording.steps[self._board]:
            if step.kind is RecordKind.LAYER:
                yield self._layer(step)
            elif step.kind is RecordKind.TRANSFER:
                yield from self._send(step)
            elif step.kind is RecordKind.COPY:
                yield from self._receive(step)
            elif step.kind is RecordKind.SENT:
                yield self._wait_until_sent(step)
            elif step.kind is not RecordKind.GRANT:
                yield self._host(step)

    def _span(self, kind: SpanKind, label: str, title: str, start_s: float, end_s: float) -> Span:
        return Span(self._row, kind, label, title, start_s, end_s)

    def _layer(self, step: RecordedStep) -> Span:
        """Return a layer; one that takes a tensor by rows begins with its first bit at the earliest."""
        layer = self._layers[step.number]
        start_s, end_s = step.begin_s, step.end_s
        if layer.memory.fused_with:
            start_s, end_s = self._share(step, self._recording.step(self._board, step.kind, layer.memory.fused_with))
        for cut in self._cuts.values():
            if cut.is_taken_by_rows and cut.to_board == self._board and cut.after_layer in layer.inputs:
                start_s = max(start_s, self._recording.sent[cut.number].started_s)
        return self._span(SpanKind.LAYER, str(step.number), f"layer {step.number} {layer.name}", start_s, end_s)

    def _share(self, step: RecordedStep, other: RecordedStep) -> tuple[float, float]:
        """Return begin and end of a layer in the time of two that run a few rows at a time in turn."""
        first, second = sorted((step, other), key=lambda each: each.number)
        own_s = first.own_s + second.own_s
        middle_s = first.begin_s + (second.end_s - first.begin_s) * (first.own_s / own_s if own_s else 1.0)
        return (first.begin_s, middle_s) if step is first else (middle_s, second.end_s)

    def _host(self, step: RecordedStep) -> Span:
        """Return the copy and check of the input, which ends with its step, or of the output, which begins with it."""
        if step.kind is RecordKind.INPUT:
            return self._span(SpanKind.HOST, "in", "input", step.end_s - step.own_s, step.end_s)
        return self._span(SpanKind.HOST, "out", "output", step.begin_s, step.begin_s + step.own_s)

    def _receive(self, step: RecordedStep) -> Iterator[Span]:
        """Yield the wait for a tensor, and the copy out of its buffer; a layer that takes it by rows does both."""
        if self._cuts[step.number].is_taken_by_rows:
            return
        arrived_s = max(step.begin_s, step.end_s - step.own_s)
        if arrived_s > step.begin_s:
            yield self._span(SpanKind.WAIT, "", f"waits for cut {step.number}", step.begin_s, arrived_s)
        if step.own_s:
            yield self._span(SpanKind.COPY, "", f"takes cut {step.number} out of its buffer", arrived_s, step.end_s)

    def _send(self, step: RecordedStep) -> Iterator[Span]:
        """Yield the copy into the buffer of a tensor, or the wait until it has left where there is none.

        In a stream of inputs, the tensor of the inference before may have to leave the buffer first. Of a distributed
        network, the board does not wait here.
        """
        if self._cuts[step.number].is_sent_by_rows:
            return
        if self._cuts[step.number].part:
            yield self._span(SpanKind.COPY, "", f"lets cut {step.number} leave", step.begin_s, step.end_s)
        elif step.number in self._staged_cuts:
            free_s = step.begin_s
            if self._recording.streamed > 1:
                free_s = max(free_s, step.end_s - self._recording.sent[step.number].copied_s)
                yield self._span(SpanKind.WAIT, "", f"waits for the buffer of cut {step.number}", step.begin_s, free_s)
            yield self._span(SpanKind.COPY, "", f"puts cut {step.number} into its buffer", free_s, step.end_s)
        else:
            yield self._wait_until_sent(step)

    def _wait_until_sent(self, step: RecordedStep) -> Span:
        return self._span(SpanKind.WAIT, "", f"waits until cut {step.number} has left", step.begin_s, step.end_s)
