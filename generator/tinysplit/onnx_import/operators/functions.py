"""Elementwise functions: from lookup tables, or with a slope below zero."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import Lookup, PRelu
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import operator

FloatArray = NDArray[np.float64]

ENLARGED_BY_SLOPE = Refusal("enlarges its input {} by broadcasting its slope: not supported")
SLOPES = Refusal("has slopes of shape {}: supported are one for all or one per channel")


@operator("Sigmoid", layers=(Lookup,))
def sigmoid(node: Node, builder: GraphBuilder) -> Tensor:
    """1 / (1 + exp(-x))."""
    return _lookup(node, builder, _sigmoid)


@operator("Tanh", layers=(Lookup,))
def tanh(node: Node, builder: GraphBuilder) -> Tensor:
    """Hyperbolic tangent."""
    return _lookup(node, builder, np.tanh)


@operator("HardSigmoid", attributes=("alpha", "beta"), layers=(Lookup,))
def hard_sigmoid(node: Node, builder: GraphBuilder) -> Tensor:
    """max(0, min(1, alpha * x + beta))."""
    alpha, beta = node.attributes.get("alpha", 0.2), node.attributes.get("beta", 0.5)
    return _lookup(node, builder, partial(_hard_sigmoid, alpha, beta))


@operator("HardSwish", layers=(Lookup,))
def hard_swish(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute x * max(0, min(1, x / 6 + 0.5))."""
    return _lookup(node, builder, _hard_swish)


@operator("Elu", attributes=("alpha",), layers=(Lookup,))
def elu(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute x above zero, alpha * (exp(x) - 1) below."""
    return _lookup(node, builder, partial(_elu, node.attributes.get("alpha", 1.0)))


@operator("LeakyRelu", attributes=("alpha",), layers=(PRelu,))
def leaky_relu(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute x above zero, alpha * x below."""
    return _prelu(node, builder, np.array(node.attributes.get("alpha", 0.01)))


@operator("PRelu", layers=(PRelu,), refusals=(ENLARGED_BY_SLOPE, SLOPES))
def prelu(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute x above zero, slope * x below; the slope is a constant, one for all or per channel.

    Raises InputError for slopes of other shapes.
    """
    return _prelu(node, builder, node.constant(1).astype(np.float64))


def _lookup(node: Node, builder: GraphBuilder, function: Callable[[FloatArray], FloatArray]) -> Tensor:
    producer, shape, order = builder.as_stored(node.tensor)
    layer = Lookup(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=shape,
        function=function,
    )
    return Tensor(Layout(order), builder.append(layer))


def _prelu(node: Node, builder: GraphBuilder, slope: FloatArray) -> Tensor:
    producer, shape, order = builder.as_stored(node.tensor)
    if np.broadcast_shapes(order.shape, slope.shape) != order.shape:
        raise node.error(ENLARGED_BY_SLOPE, node.tensor.layout)
    stored = np.empty(order.size)
    stored[order] = slope
    by_pixel = stored.reshape(-1, shape.channels)
    if (by_pixel != by_pixel[0]).any():
        raise node.error(SLOPES, slope.shape)
    layer = PRelu(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=shape,
        slopes=by_pixel[0].astype(np.float32),
    )
    return Tensor(Layout(order), builder.append(layer))


def _sigmoid(x: FloatArray) -> FloatArray:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * x))


def _hard_sigmoid(alpha: float, beta: float, x: FloatArray) -> FloatArray:
    return np.clip(alpha * x + beta, 0, 1)


def _hard_swish(x: FloatArray) -> FloatArray:
    return x * np.clip(x / 6 + 0.5, 0, 1)


def _elu(alpha: float, x: FloatArray) -> FloatArray:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)
