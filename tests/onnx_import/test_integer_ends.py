"""Networks whose input or output is integers: they compute what ONNX Runtime does with the file as it is."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from rich.console import Console

from tinysplit.common.errors import InputError
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.sample_files import SampleArrays
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.quantize_model import quantize_model

RNG = np.random.default_rng(5)
SHAPE = (1, 2, 6, 8)
SCALE, OUT_SCALE = 0.0625, 0.5
WEIGHTS = RNG.integers(-20, 20, (4, 2, 3, 3)).astype(np.int8)


def network(path: Path, element: str, zero_point: int, *, moves: bool = False, gives_integers: bool = True) -> Path:
    """Write a convolution that takes integers, perhaps moved before they are dequantized, and gives some."""
    dtype = np.dtype(element)
    code = helper.np_dtype_to_tensor_dtype(dtype)
    constants = {
        "scale": np.float32(SCALE),
        "zero": np.array(zero_point, dtype),
        "out scale": np.float32(OUT_SCALE),
        "out zero": np.array(3, np.int8),
        "integer weights": WEIGHTS,
        "weight scale": np.float32(2**-6),
        "shape": np.array(SHAPE),
    }
    source = "moved" if moves else "x"
    nodes = [
        *([helper.make_node("Reshape", ["x", "shape"], ["moved"])] if moves else []),
        helper.make_node("DequantizeLinear", [source, "scale", "zero"], ["real"]),
        helper.make_node("DequantizeLinear", ["integer weights", "weight scale"], ["weights"]),
        helper.make_node("Conv", ["real", "weights"], ["sums"], pads=(1, 1, 1, 1)),
        helper.make_node("QuantizeLinear", ["sums", "out scale", "out zero"], ["integer sums"]),
        helper.make_node("Identity", ["integer sums"], ["y"])
        if gives_integers
        else helper.make_node("DequantizeLinear", ["integer sums", "out scale", "out zero"], ["y"]),
    ]
    given = (1, int(np.prod(SHAPE))) if moves else SHAPE
    graph = helper.make_graph(
        nodes,
        "integers",
        [helper.make_tensor_value_info("x", code, given)],
        [helper.make_tensor_value_info("y", TensorProto.INT8 if gives_integers else TensorProto.FLOAT, (1, 4, 6, 8))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return saved(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


def saved(model: ModelProto, path: Path) -> Path:
    onnx.save(model, path)
    return path


def run_file(path: Path, x: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return np.stack([session.run(None, {"x": sample[np.newaxis]})[0][0] for sample in x])


def integers_of(path: Path, x: np.ndarray) -> np.ndarray:
    """Return the outputs of the integer reference for integers `x`, in ONNX's order."""
    graph = import_model(path)
    samples = load_samples(SampleArrays(x, None), graph)
    quantized = quantize_model(graph, path, samples, 8, Console(quiet=True)).quantized
    return run_integer(quantized, samples.x)


@pytest.mark.parametrize(("element", "zero_point"), [("int8", 0), ("int8", -7), ("uint8", 128), ("uint8", 5)])
@pytest.mark.parametrize("moves", [False, True])
def test_integers_are_computed_as_onnx_runtime_does(element: str, zero_point: int, moves: bool, tmp_path: Path) -> None:
    path = network(tmp_path / "net.onnx", element, zero_point, moves=moves)
    limits = np.iinfo(element)
    shape = (5, int(np.prod(SHAPE))) if moves else (5, *SHAPE[1:])
    x = RNG.integers(limits.min, limits.max + 1, shape).astype(element)
    expected = (run_file(path, x).astype(np.float32) - 3) * OUT_SCALE
    graph = import_model(path)
    assert np.array_equal(run_float(path, load_samples(SampleArrays(x, None), graph).x), expected)
    found = integers_of(path, x)
    assert np.abs(found * 1.0 - (expected / OUT_SCALE + 3).reshape(found.shape)).max() <= 1


def test_an_output_of_floats_may_follow_an_input_of_integers(tmp_path: Path) -> None:
    path = network(tmp_path / "net.onnx", "int8", 4, gives_integers=False)
    x = RNG.integers(-128, 128, (3, *SHAPE[1:])).astype(np.int8)
    samples = load_samples(SampleArrays(x, None), import_model(path))
    assert np.array_equal(run_float(path, samples.x), run_file(path, x))


@pytest.mark.parametrize("opset", [7, 9, 10, 18])
def test_pixels_may_be_cast(opset: int, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["pixels"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["pixels", "factor"], ["scaled"]),
        helper.make_node("Conv", ["scaled", "weights"], ["y"]),
    ]
    constants = {"factor": np.float32(1 / 255), "weights": WEIGHTS.astype(np.float32)}
    graph = helper.make_graph(
        nodes,
        "pixels",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 4, 4, 6))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    path = saved(model, tmp_path / "pixels.onnx")
    x = RNG.integers(0, 256, (4, *SHAPE[1:])).astype(np.uint8)
    graph_of_file = import_model(path)
    assert graph_of_file.inputs[0].integers is not None
    samples = load_samples(SampleArrays(x, None), graph_of_file)
    assert np.allclose(run_float(path, samples.x), run_file(path, x), rtol=1e-4, atol=1e-4)
    quantized = quantize_model(graph_of_file, path, samples, 8, Console(quiet=True)).quantized
    assert (quantized.input_formats[0].scale, quantized.input_formats[0].zero_point) == (1.0, -128)


@pytest.mark.parametrize("x", [np.full((1, *SHAPE[1:]), 0.5), np.full((1, *SHAPE[1:]), 128)])
def test_samples_that_are_no_such_integers_are_refused(x: Any, tmp_path: Path) -> None:  # noqa: ANN401 (arrays)
    graph = import_model(network(tmp_path / "net.onnx", "int8", 4))
    with pytest.raises(InputError, match=r"whole numbers from -128 to 127, .* give round\(value / 0.0625\) \+ 4"):
        load_samples(SampleArrays(x, None), graph)


def test_integers_that_nothing_dequantizes_are_refused(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        "sums",
        [helper.make_tensor_value_info("x", TensorProto.INT8, SHAPE)],
        [helper.make_tensor_value_info("y", TensorProto.INT8, SHAPE)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    with pytest.raises(InputError, match="input 'x' is INT8, which Add '' read: integers that one DequantizeLinear"):
        import_model(saved(model, tmp_path / "sums.onnx"))


@pytest.mark.parametrize("bits", [8, 16])
def test_splits_know_the_widths_of_the_file(bits: int, tmp_path: Path) -> None:
    """A network of 8-bit pairs has 8 bits, whatever is asked for: transfers would have other sizes than planned."""
    path = network(tmp_path / "net.onnx", "int8", 0)
    graph = import_model(path)
    samples = load_samples(SampleArrays(RNG.integers(-128, 128, (3, *SHAPE[1:])).astype(np.int8), None), graph)
    quantized = quantize_model(graph, path, samples, bits, Console(quiet=True)).quantized
    assert BitWidths.of(graph, bits) == BitWidths.of_quantized(quantized)
