"""The timeline of an inference on fake boards, whose clocks are wrong: recorded, estimated, and shown."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from rich.console import Console

from rigs.fake_boards import CORE_HZ
from rigs.fake_rig import COPY_TICKS, CUT_TICKS, LAYER_TICKS, FakeRig, make_inputs, make_project
from tinysplit.common.errors import ToolError
from tinysplit.network.distribution import SliceAxis
from tinysplit.project.activity import EstimatedSpan
from tinysplit.project.manifest import Project, ProjectPart
from tinysplit.timing.results import Activity
from tinysplit_hil.measure.timeline.estimated import estimated_spans
from tinysplit_hil.measure.timeline.measured import measured_spans
from tinysplit_hil.measure.timeline.parts import parts_of
from tinysplit_hil.measure.timeline.recording import MOST_RECORDINGS, Recording, record_inferences
from tinysplit_hil.measure.timeline.report import TimelineReport, print_timeline_report
from tinysplit_hil.measure.timeline.spans import Span, SpanKind, Timeline, TimelineRow
from tinysplit_hil.measure.timeline.terminal import print_timeline
from tinysplit_hil.measure.timeline.trace import trace_of
from tinysplit_hil.wire.protocol import BoardError, ErrorCode, MessageType, RecordKind

INPUT_S, COPIED_TICKS = 1000 / CORE_HZ, 6400
ENDS_S = (0.001, 0.011, 0.012, 0.0122)  # input, layers 1 and 2, queued
STARTED_S, TAKEN_S, LAST_S = 0.0123, 0.031, 0.0312
BEGIN_S = ENDS_S[0] - INPUT_S
CLOSE_S = 2e-6
SVG = "{http://www.w3.org/2000/svg}"


def make_fake() -> FakeRig:
    fake = FakeRig.make()
    first, last = fake.boards
    first.clock_rate, first.clock_offset_s = 1.01, 5.0
    last.clock_rate, last.clock_offset_s = 0.98, 77.0
    first.ends_s, first.started_s, first.copied = ENDS_S, (STARTED_S,), COPIED_TICKS
    last.ends_s, last.started_s = (TAKEN_S, LAST_S), (0.0,)
    return fake


def make_small_project(**changes: object) -> Project:
    """The tensor has 100 bytes: 115 on the wire, and 12 for its acknowledgement."""
    project = make_project()
    cut = project.cuts[0].model_copy(update={"payload_bytes": 100, **changes})
    return project.model_copy(update={"cuts": (cut,), "estimated_spans": tuple(small_spans(project))})


def small_spans(project: Project) -> Iterator[EstimatedSpan]:
    """Yield layers 1 and 2, their tensor until its acknowledgement, and layer 3."""
    first, second, third = (layer.estimated_s for layer in project.layers)
    sent_s, there_s = first + second, first + second + project.cuts[0].estimated_s
    known_s = there_s + project.cuts[0].acknowledgement_s
    yield EstimatedSpan(activity=Activity.LAYER, board=1, layers=(1, 2), start_s=0.0, end_s=sent_s)
    yield EstimatedSpan(activity=Activity.WIRE, board=1, cut=1, start_s=sent_s, end_s=known_s)
    yield EstimatedSpan(activity=Activity.LAYER, board=2, layers=(3, 3), start_s=there_s, end_s=there_s + third)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return record_inferences(make_small_project(), make_fake().rig, make_inputs(1))[0]


def test_the_last_of_a_stream() -> None:
    project = make_small_project()
    recordings = record_inferences(project, make_fake().rig, make_inputs(8), is_pipelined=True)
    assert [each.streamed for each in recordings] == [5, 5, 5]
    took, layer = recordings[0].steps[2]
    assert took.begin_s == pytest.approx(took.end_s - took.own_s)  # before, the board computed for another input
    assert layer.begin_s == took.end_s
    spans = list(measured_spans(project, recordings[0]))
    assert [span.title for span in spans if span.kind is SpanKind.WAIT] == ["waits for the buffer of cut 1"]
    report = TimelineReport(project, recordings)
    assert report.timeline.title.startswith("The last of 5 streamed inferences of ")


@pytest.fixture(scope="module")
def report(recording: Recording) -> TimelineReport:
    return TimelineReport(make_small_project(), (recording,))


def test_steps_are_in_the_time_of_the_host(recording: Recording) -> None:
    assert [step.kind for step in recording.steps[1]] == [
        *(RecordKind.INPUT, RecordKind.LAYER, RecordKind.LAYER, RecordKind.TRANSFER)
    ]
    expected = [end_s - BEGIN_S for end_s in ENDS_S]
    assert [step.end_s for step in recording.steps[1]] == pytest.approx(expected, abs=CLOSE_S)
    assert [step.begin_s for step in recording.steps[1]] == pytest.approx([0.0, *expected[:-1]], abs=CLOSE_S)
    ends_s = [step.end_s for step in recording.steps[2]]
    assert ends_s == pytest.approx([TAKEN_S - BEGIN_S, LAST_S - BEGIN_S], abs=CLOSE_S)
    sent = recording.sent[1]
    assert sent.started_s == pytest.approx(STARTED_S - BEGIN_S, abs=CLOSE_S)
    transfer_s = (CUT_TICKS - COPIED_TICKS) / CORE_HZ / 1.01
    assert sent.acknowledged_s - sent.started_s == pytest.approx(transfer_s, abs=CLOSE_S)


def delay(fake: FakeRig, longest_s: float) -> None:
    """Let requests and replies come late, each by another time, as those of USB do."""
    rng = np.random.default_rng(3)
    for board in fake.boards:
        due_s = [0.0, 0.0]

        def later(way: int, action: Callable[[bytes], None], due_s: list[float], data: bytes) -> None:
            due_s[way] = max(due_s[way], fake.time.s + rng.uniform(0, longest_s))
            fake.time.at(due_s[way], lambda: action(data))

        assert board.port
        board.receive = partial(later, 0, board.receive, due_s)  # type: ignore[method-assign]
        board.port.carry = partial(later, 1, board.port.carry, due_s)  # type: ignore[method-assign]


def test_the_uncertainty_covers_the_errors_of_a_slow_port() -> None:
    fake, longest_s = make_fake(), 0.001
    delay(fake, longest_s)
    recording = record_inferences(make_small_project(), fake.rig, make_inputs(1))[0]
    worst_s = max(recording.uncertainty_s.values())
    apart_s = recording.steps[2][0].end_s - recording.steps[1][2].end_s
    assert abs(apart_s - (TAKEN_S - ENDS_S[2])) <= 2 * worst_s
    assert CLOSE_S < worst_s < longest_s / 2


def test_clocks_are_kept_while_they_are_needed_only() -> None:
    fake = make_fake()
    recordings = record_inferences(make_small_project(), fake.rig, make_inputs(MOST_RECORDINGS + 1))
    assert len(recordings) == MOST_RECORDINGS
    for board in fake.boards:
        asked = [request.payload for request in board.requests if request.type == MessageType.READ_CLOCK]
        assert asked[0] == asked[-2] == b"\1"
        assert asked[-1] == b"\0"
        assert not board.keeps_clock


def test_t_in_parts(recording: Recording) -> None:
    (part,) = parts_of(make_small_project(), recording)
    assert part.wire_s == pytest.approx(116 * 10 / 115_200, rel=0.01)  # a frame of 115 bytes, and an idle one
    assert part.t_s == pytest.approx((CUT_TICKS + COPY_TICKS) / CORE_HZ)
    assert part.waiting_s == pytest.approx(STARTED_S - ENDS_S[2] - COPIED_TICKS / CORE_HZ, abs=CLOSE_S)
    assert part.hand_off_s == pytest.approx(TAKEN_S - ENDS_S[2], abs=2 * CLOSE_S)
    assert part.uncertainty_s == sum(recording.uncertainty_s.values())


def test_a_streamed_transfer_has_no_waiting_time_of_its_own(recording: Recording) -> None:
    (part,) = parts_of(make_small_project(is_sent_by_rows=True), recording)
    assert (part.waiting_s, part.hand_off_s) == (None, None)


def test_the_estimated_timeline_is_that_of_the_folder() -> None:
    project = make_small_project()
    spans = list(estimated_spans(project))
    assert [span.title.split(",")[0] for span in spans] == [
        *("layer 1 layer_1", "layer 2 layer_2", "cut 1", "cut 1", "layer 3 layer_3")
    ]
    assert [span.seconds for span in spans[:2]] == pytest.approx([layer.estimated_s for layer in project.layers[:2]])
    assert spans[-1].end_s == pytest.approx(project.estimated_i_s)
    assert spans[3].end_s - spans[2].start_s == pytest.approx(project.estimated_t_s)


def test_waits_are_estimated() -> None:
    project = make_small_project()
    wait = EstimatedSpan(activity=Activity.WAIT, board=2, cut=1, start_s=0.0, end_s=0.5)
    (span,) = estimated_spans(project.model_copy(update={"estimated_spans": (wait,)}))
    assert (span.kind, span.row.name, span.title, span.seconds) == (SpanKind.WAIT, "board 2", "waits for cut 1", 0.5)


def test_rows_of_layers_are_one_span_each() -> None:
    project = make_small_project()
    times = ((0.0, 0.1), (0.1, 0.4))
    pieces = [
        EstimatedSpan(activity=Activity.LAYER, board=1, layers=(1, 2), start_s=begin_s, end_s=end_s)
        for begin_s, end_s in times
    ]
    first, second = estimated_spans(project.model_copy(update={"estimated_spans": tuple(pieces)}))
    assert (first.label, second.label) == ("1", "2")
    assert (first.start_s, second.end_s) == pytest.approx((0.0, 0.4))
    assert first.end_s == second.start_s


def test_layers_that_run_together_share_their_time(recording: Recording) -> None:
    project = make_small_project()
    pair = [
        layer.model_copy(update={"memory": layer.memory.model_copy(update={"fused_with": 3 - layer.number})})
        for layer in project.layers[:2]
    ]
    steps = list(recording.steps[1])
    steps[1] = replace(steps[1], end_s=steps[2].end_s)
    steps[2] = replace(steps[2], begin_s=steps[2].end_s)
    together = replace(recording, steps={**recording.steps, 1: steps})
    fused = TimelineReport(project.model_copy(update={"layers": (*pair, project.layers[2])}), (together,))
    first, second, _ = (span for span in fused.timeline.cases["measured"] if span.kind is SpanKind.LAYER)
    assert first.end_s == second.start_s
    assert (first.start_s, second.end_s) == (steps[1].begin_s, steps[2].end_s)
    assert first.seconds / second.seconds == pytest.approx(LAYER_TICKS[0] / LAYER_TICKS[1])


def test_a_board_that_waits_for_rows_in_its_layer() -> None:
    """Its RECEIVE does not wait, and so belongs to the next inference already."""
    fake, project = make_fake(), make_small_project(is_taken_by_rows=True)
    fake.boards[1].ends_s = (LAST_S + 0.001, LAST_S)
    (recording,) = record_inferences(project, fake.rig, make_inputs(1))
    (layer,) = (s for s in measured_spans(project, recording) if s.row.name == "board 2")
    assert layer.kind is SpanKind.LAYER
    assert layer.start_s == pytest.approx(STARTED_S - BEGIN_S, abs=CLOSE_S)
    assert layer.end_s == pytest.approx(LAST_S - BEGIN_S, abs=CLOSE_S)


def test_a_board_waits_where_it_needs_the_memory_of_a_tensor_of_parts(recording: Recording) -> None:
    """Of a distributed network: not when it lets the tensor leave, and not when it lets one come."""
    project = make_small_project(part=ProjectPart(layer=2, axis=SliceAxis.ROWS, first=1, last=4))
    sending = recording.steps[1][-1]
    sent = replace(sending, kind=RecordKind.SENT, begin_s=sending.end_s, end_s=sending.end_s + 1)
    grant = replace(sent, kind=RecordKind.GRANT, begin_s=sent.end_s)
    steps = {**recording.steps, 1: (*recording.steps[1], sent, grant)}
    spans = list(measured_spans(project, replace(recording, steps=steps)))
    assert [(span.kind, span.title) for span in spans if span.row.name == "board 1"][-2:] == [
        (SpanKind.COPY, "lets cut 1 leave"),
        (SpanKind.WAIT, "waits until cut 1 has left"),
    ]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_terminal_shows_estimated_above_measured(report: TimelineReport, width: int) -> None:
    stream = StringIO()
    print_timeline_report(report, Console(file=stream, width=width))
    title, *lanes = stream.getvalue().splitlines()[:7]
    assert title == "One inference of reversal on nucleo_g071rb, nucleo_g071rb"
    heads = [lane.split()[:2] for lane in lanes]
    assert heads == [["board", "1"], ["measured", lanes[1].split()[1]], *heads[2:]]
    assert [lane.split()[0] for lane in lanes] == ["board", "measured", "link", "measured", "board", "measured"]
    assert all(len(lane) < width for lane in lanes)
    assert lanes[4].rstrip().endswith("3")
    assert lanes[5].rstrip().endswith("3")
    assert "cut 1" in lanes[2]
    assert "Clocks aligned" in stream.getvalue()


def test_the_terminal_hides_rows_without_spans() -> None:
    board, link = TimelineRow("board 1", "G0"), TimelineRow("link 1-2", "")
    span = Span(board, SpanKind.LAYER, "1", "layer 1", 0.0, 0.01)
    sent = replace(span, row=link, kind=SpanKind.WIRE, start_s=0.01, end_s=0.02)
    stream = StringIO()
    shown = Timeline("parts", (board, link), {"estimated": (sent,), "measured": (span, sent)})
    print_timeline(shown, Console(file=stream, width=80))
    heads = [line.split()[:3] for line in stream.getvalue().splitlines()[1:-1]]
    assert [" ".join(head) for head in heads][:2] == ["board 1 measured", "link 1-2 estimated"]
    assert heads[2][0] == "measured"
    assert len(heads) == 3


def test_a_pipe_has_lanes_of_an_ordinary_width(report: TimelineReport) -> None:
    stream = StringIO()
    print_timeline_report(report, Console(file=stream, width=100_000))
    lanes = stream.getvalue().splitlines()[1:7]
    assert max(map(len, lanes)) == 159


def test_t_in_parts_is_narrow(report: TimelineReport) -> None:
    stream = StringIO()
    print_timeline_report(report, Console(file=stream, width=80))
    head, row = stream.getvalue().splitlines()[9:11]
    assert head.split() == ["T", "in", "ms", "wire", "driver", "est.", "T", "est.", "waiting", "hand-off", "+-"]
    (part,) = report.parts
    assert row.split()[:4] == ["cut", "1", "(1->2)", f"{1000 * part.wire_s:.3f}"]
    assert float(row.split()[-2]) == pytest.approx(1000 * (part.hand_off_s or 0), abs=0.001)


def test_the_trace_has_a_process_each_for_estimated_and_measured(report: TimelineReport) -> None:
    events = trace_of(report.timeline)["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    rows = [event["args"]["name"] for event in events if event["name"] == "thread_name" and event["pid"] == 2]
    assert names == {1: "estimated", 2: "measured"}
    assert rows == ["board 1 (nucleo_g071rb)", "link 1-2 (115200 baud)", "board 2 (nucleo_g071rb)"]
    layer = next(event for event in events if event["name"] == "layer 2 layer_2" and event["pid"] == 2)
    assert (layer["ph"], layer["tid"]) == ("X", 1)
    assert layer["ts"] == pytest.approx(1e6 * (ENDS_S[1] - BEGIN_S), abs=1e6 * CLOSE_S)
    assert layer["dur"] == pytest.approx(1000, abs=1e6 * CLOSE_S)
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == len(list(report.timeline.spans))


def test_files(report: TimelineReport, tmp_path: Path) -> None:
    svg, trace = tmp_path / "t.svg", tmp_path / "t.json"
    named = [layer.model_copy(update={"name": "<&>"}) for layer in report.project.layers]
    replace(report, project=report.project.model_copy(update={"layers": tuple(named)})).write(svg, trace)
    root = ET.parse(svg).getroot()  # noqa: S314 (our own file)
    titles = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert titles[0] == "layer 1 <&>: 9.000 ms from 0.000 ms"
    width = float(root.get("width", ""))
    boxes = [box for group in root.iter(f"{SVG}g") for box in group.iter(f"{SVG}rect")]
    assert len(boxes) == len(titles) == len(list(report.timeline.spans))
    assert all(0 < float(box.get("x", "")) + float(box.get("width", "")) <= width for box in boxes)
    assert json.loads(trace.read_text(encoding="utf-8"))["displayTimeUnit"] == "ms"
    assert json.loads(json.dumps(report.to_json()))["measured"][0]["title"] == "input"


def test_firmware_of_before_is_pointed_out() -> None:
    fake = make_fake()

    def refuse(_: bytes) -> BoardError:
        return BoardError(ErrorCode.UNKNOWN_TYPE, MessageType.READ_CLOCK)

    fake.boards[1].on_read_clock = refuse  # type: ignore[assignment, method-assign]
    with pytest.raises(ToolError, match=r"board 2 .* reports UNKNOWN_TYPE: .* build and flash the board again"):
        record_inferences(make_small_project(), fake.rig, make_inputs(1))
