"""`tinysplit library`: a program that is not ours computes the reference's outputs with it, and what is refused."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders import example
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.project.load import read_quantized
from tinysplit.project.manifest import Project

PROGRAM = example.FOLDER.parent / "library"
WARNINGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion")
TIME_LIMIT_S = 300


def generated(out: Path, board: str, bits: int = 8) -> Path:
    example.generate_example(out, board, bits=bits)
    return out


def call(*command: object, data: bytes = b"") -> bytes:
    done = subprocess.run([*map(str, command)], input=data, capture_output=True, check=False, timeout=TIME_LIMIT_S)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def check_outputs(program: Path, folder: Path) -> None:
    """Compare the outputs of the first samples with the integer reference."""
    quantized = read_quantized(folder, Project.read(folder))
    with np.load(example.SAMPLES) as samples:
        x = samples["x"][:10]
    found = [
        [float(text) for text in line.split()]
        for line in call(program, data=quantize_input(quantized, x).tobytes()).splitlines()
    ]
    expected = quantized.output_formats[0].dequantize(run_integer(quantized, x)).reshape(len(x), -1)
    assert np.array(found) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("board", "bits"), [("nucleo_g071rb", 8), ("nucleo_l452re", 8), ("nucleo_h743zi", 16)])
def test_a_program_of_another_origin_computes_the_network(board: str, bits: int, tmp_path: Path) -> None:
    folder = generated(tmp_path / "out", board, bits)
    library = tmp_path / "library"
    assert "include tinysplit.h" in run("library", str(folder), "-o", str(library))
    sources = sorted(library.glob("*.c"))
    call("gcc", *WARNINGS, f"-I{library}", *sources, PROGRAM / "main.c", "-o", tmp_path / "program")
    check_outputs(tmp_path / "program", folder)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
def test_cmake_builds_the_example(tmp_path: Path) -> None:
    folder = generated(tmp_path / "out", "nucleo_f401re")
    run("library", str(folder), "-o", str(tmp_path / "library"))
    build = tmp_path / "build"
    call("cmake", "-S", PROGRAM, "-B", build, "-D", f"LIBRARY={tmp_path / 'library'}")
    call("cmake", "--build", build)
    check_outputs(build / "example", folder)


@pytest.mark.slow
def test_it_links_into_firmware_whose_linker_script_knows_nothing_of_it(tmp_path: Path) -> None:
    folder = generated(tmp_path / "out", "nucleo_f401re")
    library = tmp_path / "library"
    run("library", str(folder), "-o", str(library))
    machine = ("-mcpu=cortex-m4", "-mthumb", "--specs=rdimon.specs")
    elf = tmp_path / "firmware.elf"
    call("arm-none-eabi-gcc", *machine, *WARNINGS, f"-I{library}", *library.glob("*.c"), PROGRAM / "main.c", "-o", elf)
    sections = call("arm-none-eabi-size", "-A", elf).decode()
    assert ".arena" not in sections
    symbols = {line.split()[-1] for line in call("arm-none-eabi-nm", elf).decode().splitlines()}
    assert {"tinysplit_init", "tinysplit_run", "network_arena"} <= symbols
    assert not {"host_begin", "uart_begin", "clock_begin", "startup_reset", "mpu_begin", "schedule_run"} & symbols


def test_a_split_has_no_library(tmp_path: Path) -> None:
    example.generate_example(tmp_path / "out", "nucleo_g071rb", "nucleo_f401re")
    assert "2 boards compute the network, and a library has all of it" in run(
        "library", str(tmp_path / "out"), "-o", str(tmp_path / "library"), expect=USAGE
    )
    assert not (tmp_path / "library").exists()


def test_a_board_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = generated(tmp_path / "out", "nucleo_g071rb")
    arguments = ("library", str(folder), "-o", str(tmp_path / "library"), "--board", "3")
    assert run(*arguments, expect=BAD_INPUT) == "error: there is no board 3: the folder has 1"
