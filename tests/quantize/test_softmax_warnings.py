"""A softmax over many nearly equal classes, which gives zeros and single steps alone, is named."""

from pathlib import Path

import numpy as np
import pytest

from models.calibrated import calibrated
from models.onnx_builder import OnnxBuilder
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.integer_reference import run_integer
from tinysplit.quantize.warnings import softmax_warnings

SAMPLES = 12
HALF = SAMPLES // 2


def scores(folder: Path, classes: int, rows: int = 1) -> Path:
    """Write a softmax of `rows` times `classes` scores, which are the network's input times 1."""
    builder = OnnxBuilder([1, rows, classes])
    builder.node("Mul", builder.constant(1.0))
    builder.node("Softmax", axis=-1, name="classes")
    return builder.save(folder)


def warnings(model: Path, x: np.ndarray, bits: int) -> tuple[list[str], int]:
    """Return the warnings, and in how many samples some softmax is within a step of 0."""
    own = calibrated(model, x.astype(np.float32))
    quantized = own.best(BitWidths.of(own.graph, bits))
    vanished = (
        quantized.output_formats[0].dequantize(run_integer(quantized, x)).max(axis=-1)
        <= quantized.output_formats[0].scale
    )
    return list(softmax_warnings(quantized, x)), int(vanished.reshape(SAMPLES, -1).any(axis=1).sum())


def nearly_equal(classes: int, rows: int = 1) -> np.ndarray:
    """Return scores that differ by little; in the second half of the samples one class is certain."""
    x = np.random.default_rng(0).normal(0, 0.01, (SAMPLES, rows, classes))
    x[HALF:, 0, 7] = 20
    return x


@pytest.mark.parametrize("classes", [180, 250, 1000])
def test_many_equal_classes_are_named_with_what_helps(tmp_path: Path, classes: int) -> None:
    found, vanished = warnings(scores(tmp_path, classes), nearly_equal(classes), 8)
    assert vanished == HALF
    wanted = (
        f"layer 'classes': all its {classes} classes are 0 or one step of Q-1.8 at -128 in {HALF} of {SAMPLES} "
        "samples, being nearly equal: use 16 bits, or the values before the softmax"
    )
    assert found == [wanted]


def test_one_of_several_rows_is_enough(tmp_path: Path) -> None:
    x = nearly_equal(600, rows=3)
    x[:, 1, 5] = 20
    x[: HALF - 1, 2, 9] = x[:HALF, 0, 9][: HALF - 1] = 20  # the first samples have a certain class in every row
    found, vanished = warnings(scores(tmp_path, 600, rows=3), x, 8)
    assert vanished == SAMPLES - HALF + 1
    assert f"are 0 or one step of Q-1.8 at -128 in {vanished} of {SAMPLES} samples" in found[0]


@pytest.mark.parametrize(("classes", "bits"), [(160, 8), (1000, 16)])
def test_classes_of_more_than_a_step_are_not_named(tmp_path: Path, classes: int, bits: int) -> None:
    found, vanished = warnings(scores(tmp_path, classes), nearly_equal(classes), bits)
    assert vanished == 0
    assert not found
