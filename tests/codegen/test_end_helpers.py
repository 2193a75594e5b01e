"""The functions of tinysplit.h against the integer reference: real values, pixels and samples in, results out."""

import subprocess
from fractions import Fraction
from math import floor
from pathlib import Path

import numpy as np
import pytest

from example_folders import example
from models.two_inputs import two_inputs, two_outputs
from session.shared_folder import made_once
from tinysplit.codegen.end_tensors import EndTensor
from tinysplit.codegen.library import LibraryContext
from tinysplit.common.templates import render
from tinysplit.network.ends import by_name
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.layers.base import Shape
from tinysplit.network.sample_files import sample_source
from tinysplit.onnx_import import import_model

WARNINGS = ("-O2", "-Wall", "-Wextra", "-Werror", "-Wconversion")
LANGUAGES = (("gcc", "c", "-std=c11"), ("g++", "cc", "-std=c++17"))
FORMATS = (ValueFormat(8, 0.0735, -3), ValueFormat(8, 2.0**-7), ValueFormat(16, 3.1e-4, 211), ValueFormat(8, 97.5, 12))
VALUES = 512
PROGRAM = """#include <stdio.h>
#include <stdlib.h>
#include "tinysplit.h"

static float reals[TINYSPLIT_INPUT_1_VALUES];
static uint8_t pixels[TINYSPLIT_INPUT_1_VALUES];
static int16_t samples[TINYSPLIT_INPUT_1_VALUES];
static tinysplit_input_t input[TINYSPLIT_INPUT_VALUES];

static int write_input(void) { return fwrite(input, sizeof input, 1, stdout) != 1; }

int main(int count, char **texts) {
  if (count != 3 || fread(reals, sizeof reals, 1, stdin) != 1 || fread(pixels, sizeof pixels, 1, stdin) != 1 ||
      fread(samples, sizeof samples, 1, stdin) != 1) {
    return 1;
  }
  const float scale = strtof(texts[1], NULL);
  const int zero = atoi(texts[2]);
  tinysplit_input_1_from_float(input, reals);
  int failed = write_input();
  tinysplit_input_1_from_uint8(input, pixels, scale, zero);
  failed |= write_input();
  tinysplit_input_1_from_int16(input, samples, scale, zero);
  return failed | write_input();
}
"""


def call(*command: object, data: bytes = b"") -> bytes:
    done = subprocess.run([*map(str, command)], input=data, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def compiled(folder: Path, inputs: list[EndTensor], outputs: list[EndTensor], program: str, language: int = 0) -> Path:
    compiler, suffix, standard = LANGUAGES[language]
    folder.mkdir(exist_ok=True)
    context = LibraryContext("a network", "a board", "cortex-m4", (), inputs, outputs, 4)
    (folder / "tinysplit.h").write_text(render("library/tinysplit.h.j2", context))
    source = folder / f"program.{suffix}"
    source.write_text(program)
    call(compiler, standard, *WARNINGS, source, "-o", folder / "program")
    return folder / "program"


def end(form: ValueFormat, values: int = VALUES, offset: int = 0) -> EndTensor:
    return EndTensor("end", offset, Shape(1, 1, values), form, has_scores=True)


def stepped(values: np.ndarray, form: ValueFormat, scale: float, zero: int) -> np.ndarray:
    """Return the integers of samples by exact fractions of the step, which is a float."""
    step = Fraction(float(np.float32(scale) / np.float32(form.scale)))
    exact = [floor((int(value) - zero) * step + form.zero_point + Fraction(1, 2)) for value in values]
    return np.clip(np.array(exact, np.int64), form.low, form.high)


def program_of_inputs(form: int, language: int) -> Path:
    """Return PROGRAM for a format by its index, compiled once for all scales and zeros of samples."""

    def make(folder: Path) -> None:
        compiled(folder, [end(FORMATS[form])], [end(FORMATS[form])], PROGRAM, language)

    return made_once(f"inputs-{form}-{language}", make) / "program"


@pytest.mark.parametrize("language", [0, 1], ids=["C", "C++"])
@pytest.mark.parametrize("form", FORMATS, ids=str)
@pytest.mark.parametrize(("scale", "zero"), [(1 / 255, 0), (0.58470, 83), (40.0, -7), (-1 / 255, 255)])
def test_inputs_are_those_of_the_reference(form: ValueFormat, scale: float, zero: int, language: int) -> None:
    numbers = np.random.default_rng(7)
    reals = np.float32(form.scale) * numbers.uniform(2 * form.low, 2 * form.high, VALUES).astype(np.float32)
    below_half = np.nextafter(np.float32(0.5), np.float32(0))
    reals[:6] = (np.inf, -np.inf, 0.0, -0.0, np.float32(form.scale) * below_half, np.float32(form.scale) * -0.5)
    pixels = numbers.integers(0, 256, VALUES, np.uint8)
    samples = numbers.integers(-32768, 32768, VALUES, np.int16)
    program = program_of_inputs(FORMATS.index(form), language)
    data = reals.tobytes() + pixels.tobytes() + samples.tobytes()
    found = np.frombuffer(call(program, f"{scale:.9g}", zero, data=data), form.dtype).reshape(3, VALUES)
    steps = (reals / np.float32(form.scale)).astype(np.float64)
    assert (found[0] == np.clip(np.floor(steps + form.zero_point + 0.5), form.low, form.high)).all()
    assert (found[1] == stepped(pixels, form, scale, zero)).all()
    assert (found[2] == stepped(samples, form, scale, zero)).all()


RESULTS = """#include <stdio.h>
#include "tinysplit.h"

int main(void) {
  static tinysplit_output_t output[TINYSPLIT_OUTPUT_VALUES];
  static float values[TINYSPLIT_OUTPUT_1_VALUES];
  if (fread(output, sizeof output, 1, stdin) != 1) return 1;
  tinysplit_output_1_to_float(output, values);
  fwrite(values, sizeof values, 1, stdout);
  tinysplit_output_1_softmax(output, values);
  fwrite(values, sizeof values, 1, stdout);
  const uint32_t best = tinysplit_output_1_arg_max(output);
  return fwrite(&best, sizeof best, 1, stdout) != 1;
}
"""


@pytest.mark.parametrize("form", FORMATS, ids=str)
def test_results_are_those_of_numpy(form: ValueFormat, tmp_path: Path) -> None:
    numbers = np.random.default_rng(8)
    integers = numbers.integers(form.low, form.high + 1, 10, form.dtype)
    integers[[3, 8]] = integers.max()
    program = compiled(tmp_path, [end(form)], [end(form, 10)], RESULTS)
    found = call(program, data=integers.tobytes())
    reals, probabilities = np.frombuffer(found[:-4], np.float32).reshape(2, 10)
    expected = form.dequantize(integers)
    powers = np.exp(expected - expected.max())
    assert reals == pytest.approx(expected, rel=1e-6)
    assert probabilities == pytest.approx(powers / powers.sum(), rel=1e-4, abs=1e-7)
    assert int.from_bytes(found[-4:], "little") == integers.argmax()


def test_values_that_are_decided_have_no_softmax(tmp_path: Path) -> None:
    out = tmp_path / "out"
    example.generate_example(out, "nucleo_g071rb")
    header = (out / "board1_nucleo_g071rb" / "include" / "tinysplit.h").read_text()
    assert ("_softmax(" in header) == ("softmax" not in "".join(p.name for p in out.glob("*/src/layer_*")))
    assert "tinysplit_output_1_arg_max(" in header


def test_each_board_has_its_own_ends_by_name(tmp_path: Path) -> None:
    for make in (two_inputs, two_outputs):
        model, out = make(tmp_path), tmp_path / make.__name__
        graph = import_model(model)
        samples = by_name(graph.inputs, np.random.default_rng(5).normal(size=(8, *graph.sample_shape)))
        names = ("nucleo_g071rb", "nucleo_f401re")
        project = example.generate_example(out, *names, model=model, calibration=sample_source(samples))
        for board in project.boards:
            header = (out / board.directory / "include" / "tinysplit.h").read_text()
            assert ("tinysplit_input_1_from_float(" in header) == board.takes_input
            assert ("tinysplit_output_1_to_float(" in header) == board.gives_output
            assert ("tinysplit_input_2_from_uint8(" in header) == (board.takes_input and make is two_inputs)
            assert ("TINYSPLIT_OUTPUT_2_SCALE" in header) == (board.gives_output and make is two_outputs)
