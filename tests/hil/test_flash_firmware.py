"""`tinysplit flash` of generated firmware: the ELF file that the programmer gets is what runs behind the port."""

import json
import shutil
from pathlib import Path

import pytest

from bench import SERIALS, desk_in
from command_line import run
from example import shared_example
from tinysplit.boards.catalog import load_board
from tinysplit_hil.bench import flash
from tinysplit_hil.virtual import VirtualBoard, VirtualRig
from tinysplit_hil.virtual.clock import PS_PER_S

pytestmark = pytest.mark.slow

BOARD = "nucleo_g071rb"
STEP_PS = PS_PER_S // 200


class FirmwareAnswers:
    """A virtual board that boots each image that is flashed; before the first one it is blank."""

    def __init__(self) -> None:
        self._image = ""
        self._rig: VirtualRig | None = None

    def __call__(self, data: bytes, image: str) -> bytes:
        if image != self._image:
            self._image = image
            self._rig = VirtualRig([VirtualBoard(load_board(BOARD), Path(json.loads(image)))])
            self._rig.set_baud(0, 921_600)
        if self._rig is None:
            return b""
        if data:
            self._rig.write(0, data)
        self._rig.run_until(self._rig.time_ps + STEP_PS)
        return self._rig.host_port(0).read(1 << 16)


def test_blank_boards_run_the_project_after_flashing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flash, "BOOT_S", 60.0)  # of the emulator on a busy machine
    project, folder = shared_example(BOARD, BOARD)
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    for board in project.boards:
        board.elf(out).with_suffix(".runs").write_text(json.dumps(str(board.elf(out))))
    with desk_in(tmp_path / "desk", monkeypatch, FirmwareAnswers, (project, out)) as desk:
        report = json.loads(run("flash", str(out), "--rig", str(desk.rig), "--json"))
        assert [(board["runs_new_image"], board["verified"]) for board in report["boards"]] == [(True, True)] * 2
        assert desk.flashed == list(SERIALS)
        again = json.loads(run("flash", str(out), "--rig", str(desk.rig), "--json"))
        assert [board["skipped"] for board in again["boards"]] == [True, True]
