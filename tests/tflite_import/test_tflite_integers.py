"""Whole quantized networks from .tflite files compute the integers of LiteRT's reference kernels."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from models.tflite_builder import Quantization, TfliteBuilder
from session.shared_models import FOLDER
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.sample_files import SampleArrays
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.quantize_model import quantize_model

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed (extra dev)")

SAME, RELU, RELU6 = 0, 1, 3
PUBLISHED = sorted((FOLDER / "tflite").glob("*.tflite"))
LEAST_SHARE = 0.999  # of outputs within a step
LEAST_EQUAL = 0.98  # where sums of two values are another integer once in 5000


class Network:
    """A random network of int8: every layer is added behind the one before."""

    def __init__(self, rng: np.random.Generator, size: int, channels: int) -> None:
        self.rng, self.net = rng, TfliteBuilder()
        self.shape: tuple[int, ...] = (1, size, size, channels)
        self.scale = 0.03
        self.given = self.last = self.net.tensor(self.shape, "int8", Quantization([self.scale], -5))

    def weighted(self, kind: str, weights: tuple[int, ...], shape: tuple[int, ...], axis: int, **fields: float) -> None:
        """Add a layer with weights, whose scales differ between channels except in fully connected ones."""
        channels, inputs = weights[axis], int(np.prod(weights)) // weights[axis]
        scales = 10.0 ** self.rng.uniform(-2.5, -1.5, 1 if kind == "FULLY_CONNECTED" else channels)
        y_scale = float(self.scale * scales.max() * 74 * np.sqrt(inputs) / self.rng.uniform(2, 4))
        stored = self.net.constant(
            self.rng.integers(-127, 128, weights).astype(np.int8), Quantization(scales.tolist(), axis=axis)
        )
        of_sums = Quantization((scales * self.scale).tolist())
        bias = self.net.constant(self.rng.integers(-2000, 2000, channels).astype(np.int32), of_sums)
        low = -128 if fields.get("FusedActivationFunction") else int(self.rng.integers(-20, 20))
        y = self.net.tensor(shape, "int8", Quantization([y_scale], low))
        options = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions"}
        self.net.operator(kind, [self.last, stored, bias], y, options.get(kind, "FullyConnectedOptions"), **fields)
        self.last, self.shape, self.scale = y, shape, y_scale

    def conv(self, outputs: int, kernel: int, stride: int = 1, activation: int = RELU) -> None:
        """Add a convolution."""
        _, height, width, inputs = self.shape
        shape = (1, -(-height // stride), -(-width // stride), outputs)
        fields = {"Padding": SAME, "StrideH": stride, "StrideW": stride, "FusedActivationFunction": activation}
        self.weighted("CONV_2D", (outputs, kernel, kernel, inputs), shape, 0, **fields)

    def depthwise(self, activation: int = RELU6) -> None:
        """Add a depthwise convolution."""
        fields = {"Padding": SAME, "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
        weights = (1, 3, 3, self.shape[3])
        self.weighted("DEPTHWISE_CONV_2D", weights, self.shape, 3, FusedActivationFunction=activation, **fields)

    def residual(self, before: int, scale: float) -> None:
        """Add the sum with the value `before`, which has this scale."""
        self.scale = (self.scale + scale) * 0.8
        y = self.net.tensor(self.shape, "int8", Quantization([self.scale], 11))
        self.net.operator("ADD", [before, self.last], y, "AddOptions", FusedActivationFunction=0)
        self.last = y

    def pooled(self, kind: str) -> None:
        """Add the average or the mean of the map."""
        _, height, width, channels = self.shape
        same = self.net.tensors[self.last][2]
        if kind == "MEAN":
            y = self.net.tensor((1, channels), "int8", Quantization([self.scale * 0.6], -30))
            axes = self.net.constant(np.array([1, 2], np.int32))
            self.net.operator(kind, [self.last, axes], y, "ReducerOptions", KeepDims=0)
            self.scale *= 0.6
        else:
            y = self.net.tensor((1, 1, 1, channels), "int8", same)
            fields = {"FilterHeight": height, "FilterWidth": width, "StrideH": height, "StrideW": width, "Padding": 1}
            self.net.operator(kind, [self.last], y, "Pool2DOptions", **fields)
        self.last, self.shape = y, (1, channels)

    def dense(self, outputs: int) -> None:
        """Add a fully connected layer."""
        self.weighted("FULLY_CONNECTED", (outputs, self.shape[-1]), (1, outputs), 0)

    def save(self, path: Path) -> Path:
        """Write the file."""
        return self.net.save(path, [self.given], [self.last])


def random_network(rng: np.random.Generator, path: Path) -> Path:
    """Write a network of convolutions, a residual block, a pool and two fully connected layers."""
    network = Network(rng, int(rng.integers(6, 13)), int(rng.integers(1, 5)))
    network.conv(8, 3, int(rng.integers(1, 3)))
    before, scale = network.last, network.scale
    network.depthwise()
    network.conv(8, 1, activation=0)
    network.residual(before, scale)
    network.conv(12, 3, activation=int(rng.choice([0, RELU6])))
    network.pooled(str(rng.choice(["MEAN", "AVERAGE_POOL_2D"])))
    network.dense(20)
    network.dense(6)
    return network.save(path)


def samples(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int8]:
    """Return noise on a level of its own in each sample, so that averages differ."""
    levels = rng.integers(-128, 128, (shape[0], *[1] * (len(shape) - 1)))
    return (levels + rng.integers(-60, 61, shape)).clip(-128, 127).astype(np.int8)


def litert_integers(path: Path, x: NDArray[Any]) -> NDArray[np.int64]:
    """Return the integer outputs of LiteRT's reference kernels."""
    kind = litert.OpResolverType.BUILTIN_REF
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    given, result = interpreter.get_input_details()[-1], interpreter.get_output_details()[0]
    outputs = []
    for sample in x:
        interpreter.set_tensor(given["index"], sample[np.newaxis])
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(result["index"]).ravel().astype(np.int64))
    return np.array(outputs)


def own_integers(path: Path, x: NDArray[Any]) -> NDArray[np.int64]:
    """Return the integer outputs of the boards for a file whose sums all have its requantization."""
    graph = import_model(path)
    loaded = load_samples(SampleArrays(x, None), graph)
    quantized = quantize_model(graph, path, loaded, 8, Console(quiet=True)).quantized
    own = [each.formats.requantization for each in quantized.layers if each.formats.weight_bits]
    assert own
    assert all(isinstance(each, TfliteRequantization) for each in own)
    (values,), zero_point = quantized.output_formats, interpreter_zero_point(path)
    return run_integer(quantized, loaded.x).reshape(len(x), -1).astype(np.int64) - values.zero_point + zero_point


def interpreter_zero_point(path: Path) -> int:
    """Return the zero point of the output."""
    return int(litert.Interpreter(str(path)).get_output_details()[0]["quantization"][1])


@pytest.mark.parametrize("seed", range(8))
def test_a_random_network_computes_the_integers_of_litert(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    path = random_network(rng, tmp_path / "net.tflite")
    shape = litert.Interpreter(str(path)).get_input_details()[0]["shape"]
    x = samples(rng, (64, *shape[1:]))
    expected = litert_integers(path, x)
    assert np.unique(expected).size > 20
    steps = np.abs(own_integers(path, x) - expected)
    assert (steps <= 1).mean() >= LEAST_SHARE
    assert (steps == 0).mean() >= LEAST_EQUAL


@pytest.mark.skipif(not PUBLISHED, reason=f"{FOLDER / 'tflite'} has no published .tflite files")
@pytest.mark.parametrize("path", PUBLISHED, ids=[each.stem for each in PUBLISHED])
def test_a_published_network_is_within_a_step_of_litert(path: Path) -> None:
    (given,) = litert.Interpreter(str(path)).get_input_details()
    if given["dtype"] != np.int8:
        pytest.skip(f"its input is {np.dtype(given['dtype']).name}, not int8")
    x = samples(np.random.default_rng(5), (16, *given["shape"][1:]))
    steps = np.abs(own_integers(path, x) - litert_integers(path, x))
    assert (steps <= 1).mean() >= LEAST_SHARE
