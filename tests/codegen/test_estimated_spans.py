"""The estimated inference in the manifest."""

from tinysplit.codegen.manifest_builder import _spans
from tinysplit.timing.results import Activity, Event


def test_parts_of_the_input_count_with_the_first_layer() -> None:
    """Boards of a divided network begin with parts of its input, which has no number."""
    event = Event(Activity.LAYER, 0, None, "layers 0-2", 0.0, 1.0, 0, layers=(-1, 1))
    (span,) = _spans([event])
    assert span.layers == (1, 2)


def test_a_wait_counts_from_the_begin_of_the_inference() -> None:
    events = [
        Event(Activity.WAIT, 1, None, "cut 1", begin_s, end_s, 0, transfer=0)
        for begin_s, end_s in ((-2.0, -1.0), (-1.0, 3.0))
    ]
    (span,) = _spans(events)
    assert (span.activity, span.board, span.cut, span.start_s, span.end_s) == (Activity.WAIT, 2, 1, 0.0, 3.0)
