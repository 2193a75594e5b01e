"""Measurements of firmware on virtual boards: results, and error messages."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from example import SAMPLES, shared_example
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.project_files import ELF_IN_PROJECT
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project
from tinysplit_hil.measure import measure
from tinysplit_hil.protocol import ErrorCode
from tinysplit_hil.rig import open_rig
from tinysplit_hil.virtual import VirtualBoard, VirtualRig
from tinysplit_hil.virtual.clock import PS_PER_S

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
    assert all(
        layer.cycles.smallest > layer_.macc for layer, layer_ in zip(measurement.layers, project.layers, strict=True)
    )
    (cut,) = project.cuts
    frames = -(-cut.payload_bytes // 1024)
    line_s = (cut.payload_bytes + 8 * frames + 8) * 10 / project.baud
    assert measurement.t_s == pytest.approx(line_s, rel=0.01)
    assert measurement.cuts[0].repeats == 0


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
    line = str(caught.value)
    assert line.startswith(f"board 1 ({BOARD}) on virtual://")
    assert "reports LINK_TIMEOUT: no acknowledgement of cut 1" in line


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
