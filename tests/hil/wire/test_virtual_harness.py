"""Measurements of firmware on virtual boards: results, and error messages."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from example_folders.example import SAMPLES, shared_example
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.project_files import ELF_IN_PROJECT
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit_hil.measure.energy_report import Energy
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.measure.stream import stream
from tinysplit_hil.measure.timeline.recording import record_inferences
from tinysplit_hil.measure.timeline.report import TimelineReport
from tinysplit_hil.measure.timeline.spans import SpanKind
from tinysplit_hil.rig.rig import open_rig
from tinysplit_hil.wire.frames import Frame
from tinysplit_hil.wire.protocol import ErrorCode, MessageType
from virtual_stm32 import ResetCause, VirtualBoard, VirtualRig
from virtual_stm32.clock import PS_PER_S
from virtual_stm32.registry import find

pytestmark = pytest.mark.slow

BOARD = "nucleo_g071rb"


@pytest.fixture(scope="module")
def folder() -> Path:
    return shared_example(BOARD, BOARD)[1]


@pytest.fixture
def project(folder: Path) -> Project:
    return Project.read(folder)


def make_inputs(project: Project, folder: Path, count: int) -> tuple[IntArray, IntArray]:
    """Inputs for the first board, and their outputs by the integer reference."""
    quantized = read_quantized(folder, project)
    with np.load(SAMPLES) as samples:
        x = samples["x"][:count]
    return quantize_input(quantized, x), run_integer(quantized, x)


def test_measurement(project: Project, folder: Path) -> None:
    inputs, expected = make_inputs(project, folder, 2)
    with open_rig("virtual", project, folder) as rig:
        measurement = measure(project, rig, inputs)
    assert rig.kind == "virtual"
    assert rig.note.startswith("virtual boards: Cortex-M0+")
    assert np.array_equal(measurement.outputs, expected)
    assert all(time.cycles.smallest > time.layer.macc for time in measurement.layers)
    (cut,) = project.cuts
    line_s = (cut.payload_bytes + 15) * 10 / project.baud  # a DATA frame
    assert measurement.t_s.mean == pytest.approx(line_s, rel=0.05)
    assert measurement.i_s.mean == pytest.approx(measurement.l_s.mean + measurement.t_s.mean, rel=0.02)
    assert measurement.cuts[0].repeats == 0


def test_time_goes_on_beside_bytes_that_nobody_reads(project: Project, folder: Path) -> None:
    """A client that ends may leave some, and others use the same boards after it."""
    with open_rig("virtual", project, folder) as rig:
        first, *_ = rig.clients(project).values()
        first.run(first.identify())
        port = rig.ports[1]
        port.write(Frame(MessageType.IDENTIFY, 1).encode())
        rig.clock.wait(1.0)
        unread_bytes, begin_s = port.in_waiting, rig.clock.now_s()
        assert unread_bytes == 1
        for _ in range(100):  # the rest of the reply ends some of them
            rig.clock.wait(0.1)
        assert port.in_waiting > unread_bytes
    assert rig.clock.now_s() - begin_s > 1.0


def test_a_timeline(project: Project, folder: Path) -> None:
    inputs, _ = make_inputs(project, folder, 1)
    with open_rig("virtual", project, folder) as rig:
        measurement = measure(project, rig, inputs)
        report = TimelineReport(project, record_inferences(project, rig, inputs))
    timeline, (part,) = report.timeline, report.parts
    measured = timeline.cases["measured"]
    assert timeline.uncertainty_s < 20e-6
    layers = [span for span in measured if span.kind is SpanKind.LAYER]
    own_s = [layer.seconds.mean for layer in measurement.layers]
    assert [span.seconds for span in layers] == pytest.approx(own_s, rel=0.02, abs=10e-6)
    assert max(span.end_s for span in measured if span.row.name == "board 2") == pytest.approx(
        measurement.i_s.mean, rel=0.01
    )
    wire = next(span for span in measured if span.kind is SpanKind.WIRE)
    taken = next(span for span in measured if span.kind is SpanKind.COPY and span.row.name == "board 2")
    assert wire.start_s >= layers[-2].end_s
    assert layers[-1].start_s == pytest.approx(taken.end_s, abs=10e-6)
    byte_s = 10 / project.baud  # the ticks of another inference find the end of a frame near, or not
    assert part.t_s == pytest.approx(measurement.t_s.mean, abs=byte_s)
    assert part.waiting_s is not None
    assert part.hand_off_s is not None
    assert 0 < part.waiting_s < 100e-6
    assert 0 < part.driver_s < 0.1 * part.wire_s
    assert part.hand_off_s == pytest.approx(part.t_s, rel=0.2)


def test_boards_sleep_between_runs(project: Project, folder: Path) -> None:
    boards = [VirtualBoard(load_board(BOARD), folder / board.directory / ELF_IN_PROJECT) for board in project.boards]
    rig = VirtualRig(boards)
    rig.run_until(PS_PER_S // 5)
    for index in range(rig.board_count):
        assert rig.slept_cycles(index) > 0.95 * rig.cycles(index)


def test_dead_link(project: Project, folder: Path) -> None:
    unwired = project.model_copy(update={"links": ()})
    inputs, _ = make_inputs(project, folder, 1)
    with open_rig("virtual", unwired, folder) as rig, pytest.raises(ToolError) as caught:
        measure(unwired, rig, inputs)
    assert str(caught.value) == (
        f"no sample succeeded: cut 1: no answer on the link between board 1 ({BOARD}) and board 2 ({BOARD}): "
        "check TX/RX wiring in both directions, and that both have power"
    )


def test_stream(project: Project, folder: Path) -> None:
    inputs, expected = make_inputs(project, folder, 8)
    with open_rig("virtual", project, folder) as rig:
        streamed = stream(project, rig, inputs)
        alone = measure(project, rig, inputs[:1])
    assert np.array_equal(streamed.outputs, expected)
    assert streamed.period_s is not None
    for activities, estimated in (
        (alone.activities, project.estimated_alone),
        (streamed.activities, project.estimated_in_stream),
    ):
        energy = Energy(project, estimated, activities)
        assert energy.energy_j(estimated) == pytest.approx(energy.energy_j(activities), rel=0.04)
    assert {round(each.span_s, 9) for each in streamed.activities} == {round(streamed.period_s, 9)}
    busiest_s = max(
        sum(t.seconds.mean for t in alone.layers if t.layer.board == board.number) for board in project.boards
    )
    assert busiest_s < streamed.period_s < alone.i_s.mean


def test_a_board_that_restarts_costs_one_inference(project: Project, folder: Path) -> None:
    inputs, expected = make_inputs(project, folder, 3)
    with open_rig("virtual", project, folder) as rig:
        virtual = find(f"{project.project_hash:08x}")
        assert virtual is not None

        def reset_second(count: int) -> None:
            if count == 1:  # while the first board computes the second sample
                virtual.reset_board(1, ResetCause.WATCHDOG, virtual.time_ps + PS_PER_S // 33)

        measurement = measure(project, rig, inputs, reset_second)
    (failure,) = measurement.failures
    assert failure.sample == 1
    assert f"board 2 ({BOARD}) restarted in mid-run (cause: watchdog)" in failure.reason
    assert np.array_equal(measurement.outputs, expected[[0, 2]])


def test_ports_in_wrong_order(project: Project, folder: Path, tmp_path: Path) -> None:
    first, second = (board.directory for board in project.boards)
    shutil.copytree(folder / first, tmp_path / second)
    shutil.copytree(folder / second, tmp_path / first)
    inputs, _ = make_inputs(project, folder, 1)
    with (
        open_rig("virtual", project, tmp_path) as rig,
        pytest.raises(
            ToolError, match=r"board 1 .* runs the firmware of board 2: check that the ports are in board order"
        ),
    ):
        measure(project, rig, inputs)


def test_old_firmware(project: Project, folder: Path) -> None:
    newer = project.model_copy(update={"project_hash": 0x600DF00D})
    inputs, _ = make_inputs(project, folder, 1)
    with (
        open_rig("virtual", newer, folder) as rig,
        pytest.raises(ToolError, match=f"runs firmware of project {project.project_hash:08x} instead of 600df00d"),
    ):
        measure(newer, rig, inputs)


def test_wrong_baud_rate_of_the_host_times_out(project: Project, folder: Path) -> None:
    wrong = project.model_copy(update={"host_baud": 9600})
    inputs, _ = make_inputs(project, folder, 1)
    with open_rig("virtual", wrong, folder) as rig, pytest.raises(ToolError) as caught:
        measure(wrong, rig, inputs)
    assert "board 1" in str(caught.value)


def test_requests_of_the_first_board_only(project: Project, folder: Path) -> None:
    with open_rig("virtual", project, folder) as rig:
        first, second = rig.clients(project).values()
        second.run(second.reset(1))
        with pytest.raises(ToolError, match=ErrorCode.NOT_FIRST.name):
            second.run(second.send_input(0, b"123", 1.0))
        first.run(first.reset(1))
        with pytest.raises(ToolError, match=ErrorCode.BAD_RANGE.name):
            first.run(first.send_input(0, bytes(785), 1.0))
        with pytest.raises(ToolError, match=ErrorCode.BUSY.name):
            second.run(second.read_output(0, 10, 0))


def test_folder_that_is_not_built(project: Project, tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"firmware\.elf is missing: build the folder first"),
        open_rig("virtual", project, tmp_path),
    ):
        pass
