"""What each board does for each layer of a distributed network, from steps of known lengths and from fake boards."""

from io import StringIO

import pytest
from rich.console import Console

from rigs.fake_rig import FakeRig, make_inputs, make_project
from tinysplit.common.errors import ToolError
from tinysplit.network.distribution import SliceAxis
from tinysplit.project.manifest import Project, ProjectPart
from tinysplit_hil.measure.timeline.layer_parts import PartTimes, part_times, record_parts
from tinysplit_hil.measure.timeline.recording import RecordedStep, Recording
from tinysplit_hil.wire.protocol import BoardError, ErrorCode, MessageType, RecordKind


def part(layer: int, first: int, last: int) -> ProjectPart:
    return ProjectPart(layer=layer, axis=SliceAxis.ROWS, first=first, last=last)


def make_divided() -> Project:
    """Layer 1: rows 1 to 3 on board 1 in two segments, of which row 3 goes to board 2; layer 2 on board 2."""
    project = make_project()
    parts = (part(1, 1, 2), part(1, 3, 3), part(2, 1, 1))
    layers = tuple(
        each.model_copy(update={"part": own, "name": f"layer_{own.layer}"})
        for each, own in zip(project.layers, parts, strict=True)
    )
    cut = project.cuts[0].model_copy(update={"part": parts[1]})
    return project.model_copy(update={"layers": layers, "cuts": (cut,), "network_formats": (layers[0].formats,) * 2})


def timed(*steps: tuple[RecordKind, int, float, float]) -> tuple[RecordedStep, ...]:
    """Return steps one after the other, of kinds, numbers, lengths and shares of the links, all in seconds."""
    found, now_s = [], 0.0
    for kind, number, seconds, links_s in steps:
        found.append(RecordedStep(kind, number, now_s, now_s + seconds, seconds / 2, links_s))
        now_s += seconds
    return tuple(found)


def test_each_step_counts_to_a_layer_and_to_one_of_three_times() -> None:
    project, kind = make_divided(), RecordKind
    steps = {
        1: timed(
            *((kind.INPUT, 0, 1.0, 0.0), (kind.LAYER, 1, 2.0, 0.0), (kind.LAYER, 2, 4.0, 0.5)),
            *((kind.TRANSFER, 1, 8.0, 0.0), (kind.SENT, 1, 16.0, 1.0)),
        ),
        2: timed(
            *((kind.GRANT, 1, 1.0, 0.0), (kind.COPY, 1, 2.0, 0.25), (kind.LAYER, 3, 4.0, 1.0)),
            (kind.OUTPUT, 0, 16.0, 0.0),
        ),
    }
    of_input, first, last = part_times(project, Recording(steps, {}, {}, 1))
    assert of_input == PartTimes(0, "input", 1, None, 0.0, 0.0, 0.0, 1.0)
    assert (first.layer, first.board, first.part) == (1, 1, part(1, 1, 3))
    assert (first.computing_s, first.waiting_s, first.transfers_s) == (2.0 + 3.5, 15.0, 0.5 + 8.0 + 1.0)
    assert first.estimated_s == sum(layer.estimated_s for layer in project.layers[:2])
    assert (last.name, last.board, last.part) == ("layer_2", 2, part(2, 1, 1))
    assert (last.computing_s, last.waiting_s) == (3.0, 1.75)
    assert last.transfers_s == 1.0 + 0.25 + 1.0 + 8.0  # the output step waits for the host
    assert sum(each.seconds for each in (of_input, first)) == steps[1][-1].end_s


def test_what_arrives_last_counts_to_its_own_layer() -> None:
    steps = {2: timed((RecordKind.LAYER, 3, 4.0, 0.0), (RecordKind.COPY, 1, 2.0, 0.0))}
    passed, computed = part_times(make_divided(), Recording(steps, {}, {}, 1))
    assert (passed.layer, passed.part, passed.waiting_s) == (1, None, 2.0)
    assert (computed.layer, computed.waiting_s) == (2, 0.0)


def refusing() -> FakeRig:
    fake = FakeRig.make()

    def refuse(_: bytes) -> BoardError:
        return BoardError(ErrorCode.UNKNOWN_TYPE, MessageType.READ_CLOCK)

    fake.boards[1].on_read_clock = refuse  # type: ignore[assignment, method-assign]
    return fake


def test_boards_that_fail_cost_only_the_table() -> None:
    said = StringIO()
    found = record_parts(make_divided(), refusing().rig, make_inputs(1), Console(file=said, width=300), fail_fast=False)
    assert found == ()
    assert "warning: no times of parts: board 2" in said.getvalue()
    with pytest.raises(ToolError, match="board 2"):
        record_parts(make_divided(), refusing().rig, make_inputs(1), Console(quiet=True), fail_fast=True)


def test_whole_layers_have_no_parts() -> None:
    assert record_parts(make_project(), refusing().rig, make_inputs(1), Console(quiet=True), fail_fast=True) == ()
