"""The estimated timeline: layers and transfers in their order, each as early as its board and its inputs allow."""

from collections import defaultdict
from collections.abc import Iterator

from tinysplit.project.manifest import NETWORK_INPUT_NUMBER, Pipeline, Project, ProjectCut, ProjectLayer
from tinysplit_hil.measure.timeline.spans import Span, SpanKind, board_row, transfer_spans


def estimated_spans(project: Project) -> Iterator[Span]:
    """Yield the spans of the slowest copy, as the cost model estimates them; none of a distributed network.

    What streamed hand-offs save is known in sum only: each has its part by its length, half of it before the end of
    the layer that computes the tensor, half of it behind the start of the one that reads it.
    """
    if not project.is_distributed:
        yield from _EstimatedRun(project, project.slowest).spans()


class _EstimatedRun:
    """Boards that take their steps in the order of the layers."""

    def __init__(self, project: Project, copy: Pipeline) -> None:
        self._project = project
        self._copy = copy
        self._free_s: dict[int, float] = defaultdict(float)  # when each board has ended its steps so far
        self._ready_s: dict[tuple[int, int], float] = {}  # when a board has the output of a layer

    def spans(self) -> Iterator[Span]:
        for layer in self._copy.layers:
            yield self._layer(layer)
            for cut in self._copy.cuts:
                if cut.after_layer == layer.number:
                    yield from self._transfer(cut)

    def _layer(self, layer: ProjectLayer) -> Span:
        inputs = [number for number in layer.inputs if number != NETWORK_INPUT_NUMBER]
        start_s = max([self._free_s[layer.board], *(self._ready_s[number, layer.board] for number in inputs)])
        end_s = start_s + layer.estimated_s
        self._free_s[layer.board] = self._ready_s[layer.number, layer.board] = end_s
        row = board_row(self._project, layer.board)
        return Span(row, SpanKind.LAYER, str(layer.number), f"layer {layer.number} {layer.name}", start_s, end_s)

    def _transfer(self, cut: ProjectCut) -> Iterator[Span]:
        before_s, behind_s = self._overlaps_s(cut)
        start_s = self._ready_s[cut.after_layer, cut.from_board] - before_s
        end_s = start_s + cut.estimated_s
        self._ready_s[cut.after_layer, cut.to_board] = end_s - behind_s
        if cut.number not in self._project.board(cut.from_board).staged_cuts:
            self._free_s[cut.from_board] = max(self._free_s[cut.from_board], end_s + cut.acknowledgement_s)
        return transfer_spans(self._project, cut, start_s, end_s)

    def _overlaps_s(self, cut: ProjectCut) -> tuple[float, float]:
        """Return the parts of a transfer in which its sender and its receiver compute."""
        if not cut.is_streamed:
            return 0.0, 0.0
        streamed_s = sum(each.estimated_s for each in self._copy.cuts if each.is_streamed)
        saved_s = self._project.estimated_saved_s * cut.estimated_s / streamed_s
        ends = cut.is_sent_by_rows + cut.is_taken_by_rows
        return saved_s * cut.is_sent_by_rows / ends, saved_s * cut.is_taken_by_rows / ends
