"""ArgMax, and TopK of one: numbers of the largest elements along any axis, and the accuracy of what they decide."""

from pathlib import Path

import numpy as np
import pytest

from models.calibrated import calibrated
from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv, weights
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import InputError
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.formats import QFormat
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.layers import ArgMax, Conv, Dense, Layer, MaxPool, Permute, Shape
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.accuracy import Accuracy, FloatScores
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits, allocate_bits

FLOAT = 1


def decided(classes: int = 10, keepdims: int = 1) -> OnnxBuilder:
    """Return a network of a dense layer that gives the number of a class."""
    builder = OnnxBuilder(["n", 6])
    builder.node("Gemm", builder.constant(weights(6, classes)))
    builder.node("ArgMax", axis=1, keepdims=keepdims)
    builder.node("Cast", to=FLOAT)
    return builder


@pytest.mark.parametrize("keeps", [0, 1])
@pytest.mark.parametrize("axis", [1, 2, -1])
def test_arg_max_of_a_map(tmp_path: Path, axis: int, keeps: int) -> None:
    builder = OnnxBuilder(["n", 4, 5, 7])
    conv(builder, 3, 4, (1, 1))
    builder.node("ArgMax", axis=axis, keepdims=keeps)
    builder.node("Cast", to=FLOAT)
    graph = check(builder.save(tmp_path))
    assert set(kinds(graph)) <= {Conv, Permute, ArgMax}
    assert kinds(graph)[-1] is ArgMax
    assert graph.outputs[0].numbered_classes == 0


@pytest.mark.parametrize("keeps", [0, 1])
def test_arg_max_of_a_vector_tells_the_class(tmp_path: Path, keeps: int) -> None:
    graph = check(decided(keepdims=keeps).save(tmp_path))
    assert kinds(graph) == [Dense, ArgMax]
    assert graph.outputs[0].numbered_classes == 10


def test_of_equal_elements_the_last_one(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 4, 2, 2])
    builder.node("Relu")
    builder.node("ArgMax", axis=1, select_last_index=1)
    builder.node("Cast", to=FLOAT)
    path = builder.save(tmp_path)
    own = calibrated(path, np.zeros((2, 4, 2, 2), np.float32) - 1)
    integers = run_integer(own.best(BitWidths.of(own.graph, 8)), np.zeros((1, 4, 2, 2), np.float32))
    assert (integers == 3 - 128).all()


@pytest.mark.parametrize(("output", "kind"), [("largest", MaxPool), ("number", ArgMax)])
def test_the_largest_element_of_top_k(tmp_path: Path, output: str, kind: type[Layer]) -> None:
    builder = OnnxBuilder(["n", 6])
    builder.node("Gemm", builder.constant(weights(6, 9)))
    builder.node("TopK", builder.constant([1], np.int64), axis=1)
    del builder.nodes[-1].output[:]
    builder.nodes[-1].output.extend(("largest", "number"))
    builder.value = output
    builder.node("Cast", to=FLOAT)
    assert kinds(check(builder.save(tmp_path))) == [Dense, kind]


@pytest.mark.parametrize(("count", "largest"), [(2, 1), (1, 0)])
def test_more_elements_and_the_smallest_one_are_refused(tmp_path: Path, count: int, largest: int) -> None:
    builder = OnnxBuilder(["n", 6])
    builder.node("TopK", builder.constant([count], np.int64), axis=1, largest=largest)
    builder.nodes[-1].output.append("numbers")
    text = r"TopK '.*' gives other elements than the largest one: leave it out, and take them from what it reads"
    with pytest.raises(InputError, match=text):
        import_model(builder.save(tmp_path))


def test_the_number_of_one_of_many_classes_has_16_bits_where_all_else_has_8(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(30, 6)).astype(np.float32)
    own = calibrated(decided(300).save(tmp_path), x)
    widths = BitWidths.of(own.graph, 8)
    assert list(widths.values.values()) == [8, 8, 16]
    assert widths.with_value(own.graph, own.graph.layers[-1].output, 8) == widths
    quantized = own.best(widths)
    assert quantized.layers[-1].formats.y.scale == 1
    assert run_integer(quantized, x).dtype == np.int16
    limits = Limits(shipped_table(), Goal(min_sqnr_db=60), (load_board("nucleo_g071rb"),))
    found = allocate_bits(own, limits)
    assert found.accuracy.sqnr_db >= 60
    assert own.graph.layers[-1].output not in {choice.tensor.name for choice in found.choices}


def test_more_channels_than_16_bits_number_are_refused() -> None:
    many = ArgMax(name="many", inputs=("x",), output="y", in_shape=Shape(1, 1, 40_000))
    with pytest.raises(InputError, match="numbers 40000 channels, and 16 bits have 32768 numbers: leave the end out"):
        many.output_format([QFormat(16, 8)], QFormat(16, 0))


def test_accuracy_is_that_of_the_scores(tmp_path: Path) -> None:
    path = decided().save(tmp_path)
    x = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    graph = import_model(path)
    own = calibrated(path, x)
    labels = run_integer(own.best(BitWidths.of(own.graph, 16)), x).ravel().astype(np.int64)
    floats = FloatScores.of(graph, path, Samples(x, {graph.outputs[0].name: labels}))
    found = Accuracy.of(own.best(BitWidths.of(own.graph, 8)), floats)
    assert 25 < found.sqnr_db < 60
    assert found.agreement is not None
    assert found.agreement > 0.9
    assert found.float_top1 == 1
