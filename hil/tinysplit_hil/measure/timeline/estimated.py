"""The estimated timeline: what the event engine found as the folder was generated."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from tinysplit.project.activity import EstimatedSpan
from tinysplit.project.manifest import Project
from tinysplit.timing.results import Activity
from tinysplit_hil.measure.timeline.spans import Span, SpanKind, board_row, transfer_spans

_VERBS = {Activity.COPY: "copies", Activity.WAIT: "waits for"}


def estimated_spans(project: Project) -> Iterator[Span]:
    """Yield the spans of the slowest copy; none of a distributed network, whose layers are parts."""
    if project.is_distributed:
        return
    cuts = {cut.number: cut for cut in project.slowest.cuts}
    for span in _merged(project.estimated_spans):
        if span.activity is Activity.LAYER:
            yield from _layers(project, span)
        elif span.activity in _VERBS:
            title = f"{_VERBS[span.activity]} {f'cut {span.cut}' if span.cut else 'the input or the output'}"
            kind = SpanKind(span.activity.value)
            yield Span(board_row(project, span.board), kind, "", title, span.start_s, span.end_s)
        elif span.cut:
            yield from transfer_spans(project, cuts[span.cut], span.start_s, span.end_s)


def _merged(spans: Sequence[EstimatedSpan]) -> Iterator[EstimatedSpan]:
    """Yield the spans; layers that run row by row without a break are one."""
    for (activity, *_), run in groupby(spans, key=lambda span: (span.activity, span.board, span.layers)):
        first, *others = run
        if activity is Activity.LAYER and others:
            yield first.model_copy(update={"end_s": others[-1].end_s})
        else:
            yield from (first, *others)


def _layers(project: Project, span: EstimatedSpan) -> Iterator[Span]:
    """Yield the layers that run one after the other, each with its share of the time."""
    first, last = span.layers or (0, -1)
    layers = [each for each in project.slowest.layers if each.board == span.board and first <= each.number <= last]
    own_s = sum(layer.estimated_s for layer in layers)
    row, start_s = board_row(project, span.board), span.start_s
    for layer in layers:
        share = layer.estimated_s / own_s if own_s else 1 / len(layers)
        end_s = start_s + share * (span.end_s - span.start_s)
        yield Span(row, SpanKind.LAYER, str(layer.number), f"layer {layer.number} {layer.name}", start_s, end_s)
        start_s = end_s
