"""Ten small networks of different kinds, made here, with random weights and samples."""

from collections.abc import Callable
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from common.networks import NETWORKS
from models.onnx_builder import OnnxBuilder, weights
from models.qdq_networks import Form, X, conv_and_dense
from tinysplit.network.samples import load_samples

SAME = [1, 1, 1, 1]
SAMPLES = 8
CLASSES = 6


def _conv(b: OnnxBuilder, out: int, in_: int, kernel: tuple[int, ...] = (3, 3), **attributes: Any) -> str:  # noqa: ANN401
    return b.node("Conv", _scaled(b, in_ * prod(kernel), out, in_, *kernel), b.constant(weights(out) / 4), **attributes)


def _gemm(b: OnnxBuilder, inputs: int, outputs: int) -> None:
    b.node("Gemm", _scaled(b, inputs, inputs, outputs), b.constant(weights(outputs) / 4))


def _scaled(b: OnnxBuilder, inputs: int, *shape: int) -> str:
    """Add weights that keep the size of values, for outputs that do not saturate."""
    return b.constant(weights(*shape) / sqrt(inputs))


def _classes(b: OnnxBuilder, inputs: int, head: str) -> None:
    b.node("Flatten")
    _gemm(b, inputs, CLASSES)
    b.node(head)


def _separable() -> OnnxBuilder:
    """Return depthwise and pointwise convolutions, as of keyword spotting."""
    b = OnnxBuilder([1, 1, 49, 10])
    _conv(b, 16, 1, (10, 4), strides=[2, 2], pads=[4, 1, 5, 1])
    b.node("Relu")
    for _ in range(2):
        _conv(b, 16, 1, group=16, pads=SAME)
        b.node("Relu")
        _conv(b, 16, 16, (1, 1))
        b.node("Relu")
    b.node("GlobalAveragePool")
    _classes(b, 16, "Softmax")
    return b


def _residual() -> OnnxBuilder:
    """Return two residual blocks; the second one halves the map."""
    b = OnnxBuilder([1, 3, 16, 16])
    _conv(b, 8, 3, pads=SAME)
    first = b.node("Relu")
    _conv(b, 8, 8, pads=SAME)
    b.node("Relu")
    _conv(b, 8, 8, pads=SAME)
    b.node("Add", first)
    second = b.node("Relu")
    beside = _conv(b, 12, 8, (1, 1), strides=[2, 2])
    b.value = second
    _conv(b, 12, 8, pads=SAME, strides=[2, 2])
    b.node("Add", beside)
    b.node("Relu")
    b.node("GlobalAveragePool")
    _classes(b, 12, "Sigmoid")
    return b


def _branches() -> OnnxBuilder:
    """Return branches of windows and pools that are joined."""
    b = OnnxBuilder([1, 3, 16, 16])
    _conv(b, 8, 3, pads=SAME)
    first = b.node("Relu")
    branches = [_conv(b, 4, 8, (1, 1))]
    for pool in ("MaxPool", "AveragePool"):
        b.value = first
        branches.append(b.node(pool, kernel_shape=[3, 3], pads=SAME))
    b.value = first
    _conv(b, 4, 8, (5, 5), pads=[2, 2, 2, 2])
    b.node("Concat", *branches, axis=1)
    b.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    _conv(b, 4, 24, (1, 1))
    _classes(b, 256, "LogSoftmax")
    return b


def _dense() -> OnnxBuilder:
    """Return an autoencoder of fully connected layers."""
    b = OnnxBuilder([1, 64])
    for inputs, outputs, function in ((64, 32, "Relu"), (32, 8, "Tanh"), (8, 32, "Elu"), (32, 64, "Sigmoid")):
        _gemm(b, inputs, outputs)
        b.node(function)
    return b


def _signal() -> OnnxBuilder:
    """Return dilated convolutions along time."""
    b = OnnxBuilder([1, 6, 64])
    for inputs, dilation in ((6, 1), (8, 2), (8, 4)):
        _conv(b, 8, inputs, (3,), dilations=[dilation], pads=[dilation, dilation])
        b.node("LeakyRelu", alpha=0.1)
    b.node("MaxPool", kernel_shape=[4], strides=[4])
    b.node("GlobalMaxPool")
    _classes(b, 8, "Softmax")
    return b


def _recurrent() -> OnnxBuilder:
    """Return a GRU over time, of which the last state counts."""
    b = OnnxBuilder([1, 12, 5])
    b.node("Transpose", perm=[1, 0, 2])
    operands = [b.constant(0.5 * weights(1, 24, inputs)) for inputs in (5, 8)]
    b.node("GRU", *operands, b.constant(weights(1, 48)), hidden_size=8, linear_before_reset=1)
    b.nodes[-1].output[:] = ["", "state"]
    b.value = "state"
    b.node("Reshape", b.shape(1, -1))
    _classes(b, 8, "Softmax")
    return b


def _decoder() -> OnnxBuilder:
    """Return an image from a small map: transposed convolution, and upsampling."""
    b = OnnxBuilder([1, 8, 6, 6])
    b.node("ConvTranspose", _scaled(b, 32, 8, 6, 4, 4), strides=[2, 2], pads=SAME)
    b.node("Relu")
    b.node("Resize", "", b.constant([1.0, 1.0, 2.0, 2.0]), nearest_mode="round_prefer_floor")
    _conv(b, 2, 6, pads=SAME)
    b.node("HardSigmoid")
    return b


def _attention() -> OnnxBuilder:
    """Return one head of attention over normalized steps."""
    b = OnnxBuilder([1, 10, 12], 17)
    start = b.value
    normalized = b.node("LayerNormalization", b.constant(weights(12)), b.constant(weights(12)))
    read = []
    for _ in range(3):
        b.value = normalized
        read.append(b.node("MatMul", _scaled(b, 12, 12, 12)))
    queries, keys, values = read
    b.value = keys
    turned = b.node("Transpose", perm=[0, 2, 1])
    b.value = queries
    b.node("MatMul", turned)
    b.node("Softmax")
    b.node("MatMul", values)
    b.node("Add", start)
    b.node("ReduceMean", axes=[1], keepdims=0)
    _classes(b, 12, "Softmax")
    return b


def _quantized() -> OnnxBuilder:
    """Return a network that is quantized in its file."""
    return conv_and_dense(Form(), 13)


MADE: dict[str, Callable[[], OnnxBuilder]] = {
    "separable": _separable,
    "residual": _residual,
    "branches": _branches,
    "dense": _dense,
    "signal": _signal,
    "recurrent": _recurrent,
    "decoder": _decoder,
    "attention": _attention,
    "quantized": _quantized,
}


def write_networks(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Write networks and samples into `folder`, and return the files of each, Tiny-CNN first."""
    files = {"Tiny-CNN": (NETWORKS["Tiny-CNN"].model, few_samples("Tiny-CNN", folder))}
    for name, make in MADE.items():
        model = make().model()
        shape = [each.dim_value for each in model.graph.input[0].type.tensor_type.shape.dim]
        rng = np.random.default_rng(SAMPLES)
        x = X if name == "quantized" else rng.normal(size=(SAMPLES, *shape[1:])).astype(np.float32)
        files[name] = folder / f"{name}.onnx", folder / f"{name}.npz"
        onnx.save(model, files[name][0])
        np.savez(files[name][1], x=x)
    return files


def few_samples(name: str, folder: Path, count: int = SAMPLES) -> Path:
    """Write the first `count` samples of one of `NETWORKS` into `folder`, and return the file."""
    network, path = NETWORKS[name], folder / f"{name} samples.npz"
    np.savez(path, x=load_samples(network.samples or path, network.graph()).x[:count])
    return path
