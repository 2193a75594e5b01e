"""ArgMax, and TopK of one: numbers of the largest elements along any axis, and the accuracy of what they decide."""

from pathlib import Path

import numpy as np
import pytest

from models.calibrated import calibrated
from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv, weights
from tinysplit.common.errors import InputError
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.layers import ArgMax, Conv, Dense, Layer, MaxPool, Permute
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.accuracy import Accuracy, FloatScores

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
    with pytest.raises(InputError, match="TopK"):
        import_model(builder.save(tmp_path))


def test_too_many_classes_for_8_bits_are_named(tmp_path: Path) -> None:
    own = calibrated(decided(300).save(tmp_path), np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32))
    with pytest.raises(InputError, match=r"numbers 300 channels, and 8 bits have 256 numbers: quantize to 16 bits"):
        own.best(BitWidths.of(own.graph, 8))
    assert own.best(BitWidths.of(own.graph, 16)).layers[-1].formats.y.scale == 1


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
