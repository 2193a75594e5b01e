"""The layers of a `Graph` in plain float NumPy, written for tests from the ONNX operator definitions."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.graph import Graph
from tinysplit.network.layers import (
    Add,
    ArgMax,
    AveragePool,
    Cell,
    Concat,
    Conv,
    ConvTranspose,
    Dense,
    DepthwiseConv,
    Layer,
    Lookup,
    MatMul,
    MaxPool,
    Mul,
    Normalization,
    Pad,
    Permute,
    PRelu,
    Recurrent,
    Shape,
    Softmax,
    Upsample,
    Window,
)

Floats = NDArray[np.float64]


def float_outputs(graph: Graph, sample: Floats) -> Iterator[Floats]:
    """Yield the output of every layer, height x width x channels, for one sample in the shape of the ONNX input."""
    values = {graph.input_name: sample.ravel()[graph.input_order]}
    for layer in graph.layers:
        inputs = [values[name].reshape(shape) for name, shape in zip(layer.inputs, layer.in_shapes, strict=True)]
        value = _layer(layer, *inputs)
        assert value.shape == layer.out_shape
        values[layer.output] = np.clip(value, layer.activation.low, layer.activation.high)
        yield values[layer.output]


def _layer(layer: Layer, x: Floats, *others: Floats) -> Floats:  # noqa: C901, PLR0911, PLR0912 - one a kind
    match layer:
        case Add():
            return np.asarray(sum(sign * value for sign, value in zip(layer.signs, (x, *others), strict=True)))
        case Mul():
            return x * others[0]
        case MatMul():
            second = others[0].transpose(1, 2, 0) if layer.transposed else others[0].transpose(1, 0, 2)
            return np.asarray(layer.scale * (x.transpose(1, 0, 2) @ second).transpose(1, 0, 2))
        case Concat():
            return np.concatenate((x, *others), axis=-1)
        case ConvTranspose():
            return _spread(layer, x) + layer.bias
        case Lookup():
            return layer.function(x)
        case PRelu():
            return np.where(x < 0, x * layer.slopes, x)
        case Upsample():
            return np.asarray(np.kron(x, np.ones((*layer.factors, 1))))
        case Pad():
            top, left, bottom, right = layer.pads
            return np.pad(x, ((top, bottom), (left, right), layer.channels), constant_values=layer.value)
        case Permute():
            return np.asarray(x.ravel()[layer.order].reshape(layer.new_shape))
        case Conv():
            return _conv(layer, x)
        case DepthwiseConv():
            taps = layer.weights.reshape(-1, x.shape[-1])
            return np.asarray((_patches(layer.window, x) * taps).sum(axis=2) + layer.bias)
        case Dense():
            return (layer.weights @ x.ravel() + layer.bias).reshape(1, 1, -1)
        case MaxPool():
            return np.asarray(_patches(layer.window, x, -np.inf).max(axis=2))
        case AveragePool():
            counted = np.full_like(x, 1.0)
            counts = _patches(layer.window, counted, float(layer.count_include_pad)).sum(axis=2)
            return np.asarray(_patches(layer.window, x).sum(axis=2) / counts)
        case Normalization():
            return _normalized(layer, x)
        case Recurrent():
            return _recurrent(layer, x, *others)
        case ArgMax():
            return np.asarray(np.argmax(x, axis=-1, keepdims=True), np.float64)
        case Softmax():
            exps = np.exp(x - x.max(axis=-1, keepdims=True))
            exps[np.broadcast_to(False if layer.masked is None else layer.masked, x.shape)] = 0
            return np.asarray(exps / exps.sum(axis=-1, keepdims=True))
    raise NotImplementedError(layer.kind)


def _conv(layer: Conv, x: Floats) -> Floats:
    patches = _patches(layer.window, x)
    patches = patches.reshape(*patches.shape[:3], layer.groups, -1)
    weights = layer.weights.reshape(layer.groups, -1, layer.window.elements, patches.shape[-1])
    sums = np.einsum("yxkgc,gmkc->yxgm", patches, weights)
    return np.asarray(sums.reshape(layer.out_shape) + layer.bias)


def _normalized(layer: Normalization, x: Floats) -> Floats:
    grouped = x.reshape(*x.shape[:2], layer.groups, -1)
    axes = (0, 1, 3) if layer.over_map else (3,)
    if layer.centers:
        grouped = grouped - grouped.mean(axis=axes, keepdims=True)
    squares = (grouped**2).mean(axis=axes, keepdims=True)
    return np.asarray((grouped / np.sqrt(squares + layer.epsilon)).reshape(x.shape) * layer.gamma + layer.beta)


def _recurrent(layer: Recurrent, x: Floats, *given: Floats) -> Floats:
    h = np.zeros(layer.units) + (layer.first_h if layer.first_h.size else 0)
    c = np.zeros(layer.units) + (layer.first_c if layer.first_c.size else 0)
    h = given[0].ravel() if layer.given_h else h
    c = given[-1].ravel() if layer.given_c else c
    states = np.zeros((layer.steps, layer.units))
    steps = range(layer.steps)[:: -1 if layer.reverse else 1]
    for t in steps:
        of_x = np.split(layer.weights_x @ x.reshape(layer.steps, -1)[t] + layer.bias_x, layer.cell.gates)
        of_h = np.split(layer.weights_h @ h + layer.bias_h, layer.cell.gates)
        sums = [a + b for a, b in zip(of_x, of_h, strict=True)]
        match layer.cell:
            case Cell.LSTM:
                i, o, f = (_sigmoid(total) for total in sums[:3])
                c = f * c + i * np.tanh(sums[3])
                h = o * np.tanh(c)
            case Cell.GRU:
                z, r = (_sigmoid(total) for total in sums[:2])
                own = layer.weights_h[-layer.units :] @ (r * h) + layer.bias_h[-layer.units :]
                h = (1 - z) * np.tanh(of_x[2] + (r * of_h[2] if layer.resets_product else own)) + z * h
            case Cell.RNN:
                h = np.maximum(sums[0], 0) if layer.is_relu else np.tanh(sums[0])
        states[t] = h
    if layer.gives_cell:
        return c.reshape(layer.out_shape)
    return (states[steps[-1]] if layer.only_last else states).reshape(layer.out_shape)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def _patches(window: Window, x: Floats, fill: float = 0.0) -> Floats:
    """Return out_h x out_w x window elements x channels."""
    top, left, bottom, right = window.pads
    height, width, _ = window.out_shape(Shape(*x.shape), 1)
    x = x[: x.shape[0] + min(bottom, 0), : x.shape[1] + min(right, 0)]
    padded = np.pad(x, ((top, max(bottom, 0)), (left, max(right, 0)), (0, 0)), constant_values=fill)
    (k_h, k_w), (s_h, s_w), (d_h, d_w) = window.kernel, window.stride, window.dilation
    taps = [padded[i * d_h :: s_h, j * d_w :: s_w][:height, :width] for i in range(k_h) for j in range(k_w)]
    return np.stack(taps, axis=2)


def _spread(layer: ConvTranspose, x: Floats) -> Floats:
    """Add every input value times the kernel to its window of the output."""
    height, width, channels = layer.out_shape
    top, left, bottom, right = layer.pads
    whole = np.zeros((height + top + bottom, width + left + right, channels))
    for row, column in np.ndindex(x.shape[:2]):
        for i, j in np.ndindex(layer.weights.shape[1:3]):
            at = row * layer.stride[0] + i * layer.dilation[0], column * layer.stride[1] + j * layer.dilation[1]
            if at[0] < whole.shape[0] and at[1] < whole.shape[1]:
                whole[at] += layer.weights[:, i, j] @ x[row, column]
    return whole[top : top + height, left : left + width]
