"""Timelines of splits that nobody has generated: every layer and cut, until the output is ready."""

from itertools import pairwise

import pytest

from example_folders.example import MODEL
from tinysplit import api
from tinysplit.api.prediction import predicted_split
from tinysplit_hil.measure.timeline.predicted import predicted_timeline
from tinysplit_hil.measure.timeline.spans import SpanKind


@pytest.mark.parametrize(("assignment", "cuts"), [("1-7:1", 0), ("1-4:1,5-7:2", 1), ("1-2:1,3-5:2,6-7:1", 2)])
def test_layers_and_cuts_are_there(assignment: str, cuts: int) -> None:
    boards = (api.load_board("nucleo_g071rb"), api.load_board("nucleo_f401re"))
    settings = api.CostSettings(baud=115_200)
    split = predicted_split(api.load_model(MODEL), boards, settings, assignment)
    timeline = predicted_timeline(split, ("a", "b"), settings.link_settings_on(boards))
    spans = timeline.cases["estimated"]
    assert {span.label for span in spans if span.kind is SpanKind.LAYER} == set("1234567")
    assert {span.label for span in spans if span.kind is SpanKind.WIRE} == {f"cut {n + 1}" for n in range(cuts)}
    assert [row.name for row in timeline.rows] == (["board 1", "link 1-2", "board 2"] if cuts else ["board 1"])
    assert min(span.start_s for span in spans) == 0
    assert max(span.end_s for span in spans) == pytest.approx(split.i_s, abs=1e-3)
    for row, _, own in timeline.lanes():
        if row.name.startswith("board"):
            assert all(span.end_s <= after.start_s + 1e-9 for span, after in pairwise(own))
