"""The estimated inference in the manifest."""

from tinysplit.codegen.manifest_builder import _spans
from tinysplit.timing.results import Activity, Event


def test_parts_of_the_input_count_with_the_first_layer() -> None:
    """Boards of a divided network begin with parts of its input, which has no number."""
    event = Event(Activity.LAYER, 0, None, "layers 0-2", 0.0, 1.0, 0, layers=(-1, 1))
    (span,) = _spans([event])
    assert span.layers == (1, 2)
