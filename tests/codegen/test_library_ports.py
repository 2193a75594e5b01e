"""Ports of libraries to vendors' systems compile with their examples, against stubs with the true signatures."""

import subprocess
from pathlib import Path

import pytest

from commands.command_line import run
from libraries.boards import C
from libraries.cases import Case

VENDORS = C / "vendors"
ARM = ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-std=c11")
HOST = ("gcc", "-std=c11")
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wconversion", "-O1", "-c")
STM32 = (C.parents[1] / "firmware" / "common", C.parents[1] / "firmware" / "stm32f4", C / "hal")
PORTS = {
    "posix": (HOST, ()),
    "stm32_hal": (ARM, STM32),
    "freertos": (ARM, (*STM32, VENDORS / "freertos")),
    "zephyr": (HOST, (VENDORS / "zephyr",)),
    "bare": ((*ARM, '-DTINYSPLIT_BARE_DEVICE="device.h"', "-Wno-missing-prototypes"), STM32),
}


@pytest.fixture(scope="module", params=[1, 2], ids=["input", "output"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library of the board with the input, or with the output."""
    out = tmp_path_factory.mktemp("library") / "library"
    run("library", str(Case("two").folder), "-o", str(out), "--board", str(request.param))
    return out


@pytest.mark.parametrize("name", PORTS)
def test_a_port_and_its_example_compile(name: str, library: Path, tmp_path: Path) -> None:
    compiler, vendor = PORTS[name]
    ports = {library / "ports" / each for each in (name, *(("stm32_hal",) if name == "freertos" else ()))}
    includes = [f"-I{path}" for path in (library, *ports, *vendor)]
    sources = [path for port in sorted(ports) for path in port.glob("*.c")]
    for source in (*sources, library / "ports" / name / "example" / "main.c"):
        subprocess.run([*compiler, *WARNINGS, *includes, str(source)], cwd=tmp_path, check=True)


def test_the_port_to_arduino_and_its_example_compile(library: Path, tmp_path: Path) -> None:
    port = library / "ports" / "arduino"
    includes = [f"-I{path}" for path in (library, port, VENDORS / "arduino")]
    sketch = ["-include", "Arduino.h", "-x", "c++", str(port / "example" / "example.ino")]
    subprocess.run(["g++", "-std=c++14", *WARNINGS, *includes, *sketch, "-o", "sketch.o"], cwd=tmp_path, check=True)


def test_every_port_is_compiled_by_a_test(library: Path) -> None:
    assert {path.name for path in (library / "ports").iterdir()} == {*PORTS, "arduino"}
