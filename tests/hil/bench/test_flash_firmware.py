"""Flashing of generated firmware: the ELF file that the programmer gets is what runs behind the port."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from commands.command_line import run
from example_folders.example import MODEL, SAMPLES, shared_example
from rigs.bench import SERIALS, Answers, Desk, desk_in
from tinysplit.boards.catalog import load_board
from tinysplit.project.manifest import Project
from tinysplit_hil.bench import check, flash
from tinysplit_hil.measure import boards, wiring_client
from tinysplit_hil.rig.rig_file import read_rig_file
from tinysplit_hil.wire import request_port
from virtual_stm32 import VirtualBoard, VirtualRig, Wire
from virtual_stm32.clock import PS_PER_S

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


class WiredFirmware:
    """Two virtual boards whose USART1 are connected; they boot when both are flashed with a project in `out`.

    `on_boot` is called then.
    """

    def __init__(self, out: Path, on_boot: Callable[[], None]) -> None:
        self._out = out
        self._on_boot = on_boot
        self._images = ["", ""]
        self._rig: VirtualRig | None = None
        self._lock = threading.Lock()
        self._indices = count()

    def add_board(self) -> Answers:
        index = next(self._indices)

        def answers(data: bytes, image: str) -> bytes:
            with self._lock:
                return self._answers(index, data, image)

        return answers

    def _answers(self, index: int, data: bytes, image: str) -> bytes:
        if image != self._images[index]:
            self._images[index] = image
            self._rig = self._booted() if all(self._images) else None
        if self._rig is None:
            return b""
        if data:
            self._rig.write(index, data)
        self._rig.run_until(self._rig.time_ps + STEP_PS)
        return self._rig.host_port(index).read(1 << 16)

    def _booted(self) -> VirtualRig:
        project = Project.read(self._out)
        loaded = [VirtualBoard(load_board(BOARD), Path(json.loads(image))) for image in self._images]
        rig = VirtualRig(loaded, [Wire((0, "USART1"), (1, "USART1"))])
        for index in range(len(loaded)):
            rig.set_baud(index, project.host_baud)
        self._on_boot()
        return rig


@pytest.fixture
def wired(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Desk, Path]]:
    """Two blank boards on a desk, wired to each other, and a folder to generate into.

    The time-outs are for emulators on a busy machine, which are slower than boards. Blank boards answer nothing: they
    are asked as often as usual.
    """
    monkeypatch.setattr(flash, "BOOT_S", 60.0)
    monkeypatch.setattr(boards, "LINK_TIMEOUT_S", 60.0)
    monkeypatch.setattr(wiring_client, "TIMEOUT_S", 60.0)
    monkeypatch.setattr(wiring_client, "MARGIN_S", 1.0)
    out = tmp_path / "out"
    shared, folder = shared_example(BOARD, BOARD)
    firmware = WiredFirmware(out, lambda: monkeypatch.setattr(request_port, "ATTEMPTS", 60))
    with desk_in(tmp_path / "desk", monkeypatch, firmware.add_board, (shared, folder)) as desk:
        yield desk, out


def test_run_flashes_and_measures_blank_boards(wired: tuple[Desk, Path]) -> None:
    desk, out = wired
    split = ("-b", BOARD, "-b", BOARD, "--use-all")
    files = ("--samples", str(SAMPLES), "--out", str(out), "--rig", str(desk.rig))
    report = json.loads(run("run", str(MODEL), *split, *files, "--sample-count", "1", "--json"))
    assert desk.flashed == list(SERIALS)
    assert [(board["skipped"], board["verified"]) for board in report["flash"]["boards"]] == [(False, True)] * 2
    assert report["rig"] == "real"
    measured = run("measure", str(out), *files[:2], "--rig", str(desk.rig), "--sample-count", "1")
    assert " ms on real boards" in measured


def test_bench_check_flashes_its_program_and_writes_the_link(
    wired: tuple[Desk, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, folder = wired
    monkeypatch.setattr(check, "RATES", (115_200,))
    monkeypatch.setattr(check, "LOW_RATES", ())
    monkeypatch.setattr(check, "TRIAL_S", {"real": 0.02})
    monkeypatch.setattr(check, "measure_clocks", lambda _client: {})
    options = ("-b", BOARD, "-b", BOARD, "--rig", str(desk.rig), "-o", str(desk.rig), "--folder", str(folder))
    found = json.loads(run("bench", "check", *options, "--json"))
    assert desk.flashed == list(SERIALS)
    assert found["faults"] == []
    rig = read_rig_file(desk.rig)
    assert [board.serial_number for board in rig.board] == list(SERIALS)
    assert [(link.boards, link.uarts, link.baud) for link in rig.link] == [((1, 2), ("USART1", "USART1"), 115_200)]


@pytest.mark.nightly
def test_the_wiring_test_flashes_its_program(wired: tuple[Desk, Path], tmp_path: Path) -> None:
    desk, folder = wired
    result = tmp_path / "wiring.json"
    options = ("--baud", "115200", "--test-bytes", "2048", "--rig", str(desk.rig), "-o", str(result))
    run("wiring", "-b", BOARD, "-b", BOARD, *options, "--folder", str(folder))
    assert desk.flashed == list(SERIALS)
    (link,) = json.loads(result.read_text())["links"]
    assert (link["baud"], link["uarts"]) == (115_200, ["USART1", "USART1"])


def test_blank_boards_run_the_project_after_flashing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flash, "BOOT_S", 60.0)  # of the emulator on a busy machine
    project, folder = shared_example(BOARD, BOARD)
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    with desk_in(tmp_path / "desk", monkeypatch, FirmwareAnswers, (project, out)) as desk:
        report = json.loads(run("flash", str(out), "--rig", str(desk.rig), "--json"))
        assert [(board["runs_new_image"], board["verified"]) for board in report["boards"]] == [(True, True)] * 2
        assert desk.flashed == list(SERIALS)
        again = json.loads(run("flash", str(out), "--rig", str(desk.rig), "--json"))
        assert [board["skipped"] for board in again["boards"]] == [True, True]
