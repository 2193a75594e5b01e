"""--host-baud: the baud rate of the host ports, from the option to the manifest, the firmware and the measurement."""

import json
from pathlib import Path

import pytest

import example
from command_line import USAGE, run
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
