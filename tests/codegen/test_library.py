"""`tinysplit library`: a program that is not ours computes the reference's outputs with it, and what is refused."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from commands.command_line import BAD_INPUT, run
from example_folders import example
from models.two_inputs import two_inputs, two_outputs
from session.compiler_cache import compiled_each
from tinysplit.network.ends import by_name
from tinysplit.network.integer_reference import quantize_input, real_outputs, run_integer
from tinysplit.network.sample_files import sample_source
from tinysplit.onnx_import import import_model
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
    objects = compiled_each(library, "gcc", *WARNINGS, "-I.")
    call("gcc", *WARNINGS, f"-I{library}", *objects, PROGRAM / "main.c", "-o", tmp_path / "program")
    check_outputs(tmp_path / "program", folder)


PROGRAM_OF_NAMES = """#include <stdio.h>
#include "tinysplit.h"

static void print(const char *name, int offset, int values, double scale, int zero, const tinysplit_output_t *all) {
  printf("%s", name);
  for (int i = offset; i < offset + values; i++) printf(" %.9g", scale * (all[i] - zero));
  putchar('\\n');
}

int main(void) {
  tinysplit_input_t input[TINYSPLIT_INPUT_VALUES];
  tinysplit_output_t output[TINYSPLIT_OUTPUT_VALUES];
  tinysplit_init();
  if (fread(input, sizeof input, 1, stdin) != 1) return 1;
  tinysplit_run(input, output);
CALLS
  return 0;
}
"""


@pytest.mark.parametrize("make", [two_inputs, two_outputs])
def test_the_header_names_inputs_and_outputs(make: Callable[[Path], Path], tmp_path: Path) -> None:
    """A program prints the outputs by name, in the order height, width, channels; inputs are those that it finds."""
    model, out, library = make(tmp_path), tmp_path / "out", tmp_path / "library"
    graph = import_model(model)
    x = np.random.default_rng(5).normal(size=(20, *graph.sample_shape)).astype(np.float32)
    given = by_name(graph.inputs, x)
    example.generate_example(out, "nucleo_g071rb", model=model, calibration=sample_source(given))
    run("library", str(out), "-o", str(library))
    header = (library / "tinysplit.h").read_text()
    assert f"#define TINYSPLIT_INPUTS {len(graph.inputs)}\n" in header
    starts = np.cumsum([0, *(end.size for end in graph.inputs)])
    quantized = read_quantized(out, Project.read(out))
    for number, (end, start, formats) in enumerate(
        zip(graph.inputs, starts, quantized.input_formats, strict=False), start=1
    ):
        assert f'#define TINYSPLIT_INPUT_{number}_NAME "{end.name}"\n' in header
        assert f"#define TINYSPLIT_INPUT_{number}_OFFSET {start}\n" in header
        assert f"#define TINYSPLIT_INPUT_{number}_ZERO_POINT ({formats.zero_point})\n" in header
    assert ("#define TINYSPLIT_OUTPUT_SCALE" in header) == (len(graph.outputs) == 1)
    names = ("NAME", "OFFSET", "VALUES", "SCALE", "ZERO_POINT")
    calls = [
        f"  print({', '.join(f'TINYSPLIT_OUTPUT_{number}_{name}' for name in names)}, output);"
        for number, _ in enumerate(graph.outputs, 1)
    ]
    (tmp_path / "main.c").write_text(PROGRAM_OF_NAMES.replace("CALLS", "\n".join(calls)))
    objects = compiled_each(library, "gcc", *WARNINGS, "-I.")
    call("gcc", *WARNINGS, f"-I{library}", *objects, tmp_path / "main.c", "-o", tmp_path / "program")
    printed = call(tmp_path / "program", data=quantize_input(quantized, x[:1]).tobytes()).decode().splitlines()
    expected = by_name(graph.outputs, real_outputs(quantized, run_integer(quantized, x[:1])))
    for output, line in zip(graph.outputs, printed, strict=True):
        name, *values = line.split()
        assert name == output.name
        assert np.array(values, float)[output.order] == pytest.approx(expected[output.name].ravel(), rel=1e-6)


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
    compiler = ("arm-none-eabi-gcc", *machine, *WARNINGS)
    objects = compiled_each(library, *compiler, "-I.")
    call(*compiler, f"-I{library}", *objects, PROGRAM / "main.c", "-o", elf)
    sections = call("arm-none-eabi-size", "-A", elf).decode()
    assert ".arena" not in sections
    symbols = {line.split()[-1] for line in call("arm-none-eabi-nm", elf).decode().splitlines()}
    assert {"tinysplit_init", "tinysplit_run", "tinysplit_network_arena"} <= symbols
    assert not {"host_begin", "uart_begin", "clock_begin", "startup_reset", "mpu_begin", "schedule_run"} & symbols


def test_a_board_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = generated(tmp_path / "out", "nucleo_g071rb")
    arguments = ("library", str(folder), "-o", str(tmp_path / "library"), "--board", "3")
    assert run(*arguments, expect=BAD_INPUT) == "error: there is no board 3: the folder has 1"
