"""--host-baud: the baud rate of the host ports, from the option to the manifest, the firmware and the measurement."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.command_line import USAGE, run
from example_folders import example
from tinysplit.boards import board_files
from tinysplit.cli.app import app
from tinysplit.common import package_files
from tinysplit.project.manifest import Project

BOARD = ("--board", "nucleo_g071rb")


@pytest.fixture(scope="module")
def split_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("split") / "split.json"
    run("split", str(example.MODEL), *BOARD, "-o", str(path))
    return path


def generate(split_file: Path, out: Path, *options: str, expect: int = 0) -> str:
    arguments = ("--split", str(split_file), "-s", str(example.CALIBRATION), "-o", str(out), *options)
    return run("generate", str(example.MODEL), *arguments, expect=expect)


def test_the_manifest_has_it_and_the_period_counts_it(split_file: Path, tmp_path: Path) -> None:
    for baud in (921600, 9600):
        generate(split_file, tmp_path / str(baud), "--host-baud", str(baud))
    usual, slow = (Project.read(tmp_path / str(baud)) for baud in (921600, 9600))
    assert (usual.host_baud, slow.host_baud) == (921600, 9600)
    assert slow.estimated_period_s > 784 * 10 / 9600 > usual.estimated_period_s


def test_a_rate_that_the_uart_cannot_make_is_refused(tmp_path: Path) -> None:
    split = tmp_path / "split.json"
    run("split", str(example.MODEL), "--board", "stm32f401rb", "-o", str(split))
    line = generate(split, tmp_path / "out", "--host-baud", "6200000", expect=USAGE)
    assert line == (
        "error: stm32f401rb: USART2 with its clock of 42 MHz cannot make 6200000 baud within 2%; "
        "the nearest that it can make is 5250000"
    )
    assert not (tmp_path / "out").exists()


def test_a_rate_that_the_boards_probe_cannot_do_is_refused(split_file: Path, tmp_path: Path) -> None:
    line = generate(split_file, tmp_path / "out", "--host-baud", "3000000", expect=USAGE)
    assert line == (
        "error: nucleo_g071rb: the port of its ST-LINK/V2-1 cannot do 3000000 baud, but 550 to 2250000: choose such a"
        " --host-baud"
    )
    assert not (tmp_path / "out").exists()
    assert "--host-baud 0 has to be at least 1" in generate(
        split_file, tmp_path / "out", "--host-baud", "0", expect=USAGE
    )


@pytest.mark.slow
@pytest.mark.parametrize("baud", ["115200", "2000000"])
def test_boards_and_host_use_it(baud: str, tmp_path: Path) -> None:
    samples = ("-s", str(example.SAMPLES), "--sample-count", "2", "--calibration-samples", str(example.CALIBRATION))
    arguments = (*BOARD, *samples, "-o", str(tmp_path / "out"), "--host-baud", baud, "--json")
    report = json.loads(run("run", str(example.MODEL), *arguments))
    assert (report["output"]["bit_exact"], report["output"]["samples"], report["failures"]) == (True, 2, [])


def test_a_slow_board_slows_the_host_ports_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_files, "_named", {})
    monkeypatch.setattr(board_files, "_beside", [])
    own, split = tmp_path / "slow.toml", tmp_path / "split.json"
    text = (package_files.boards() / "nucleo_f401re.toml").read_text()
    own.write_text(re.sub(r"(?m)^(a\w+_max_hz) = .*", r"\1 = 16_000_000", text))  # 921600 baud are out of reach
    arguments = ("split", str(example.MODEL), *BOARD, "-b", str(own), "--use-all", "-o", str(split))
    messages = CliRunner().invoke(app, arguments).stderr
    assert "note: host ports at 460800 baud, the highest usual rate that all boards make" in messages
    assert "host ports: 460800 baud" in generate(split, tmp_path / "out")
    assert Project.read(tmp_path / "out").host_baud == 460_800
    assert {"460800u,"} == {
        line.split()[-1]
        for board in (tmp_path / "out").glob("board*/src/board.c")
        for line in board.read_text().splitlines()
        if ".baud = 4" in line
    }
