"""Gemm and MatMul, mostly with constant weights: fully connected layers, and 1x1 convolutions of several rows."""

from dataclasses import replace

import numpy as np

from tinysplit.network.layers import Conv, Dense, Layer, MatMul, Window
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Constant, Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import operator
from tinysplit.onnx_import.operators.matmul import product_of_activations

CONSTANT_LEFT = Refusal("has a constant on its left: only activation * weights is supported")
OTHER_ROWS = Refusal("adds {}, other values to each row: only one row for all is supported")
NO_MATRIX = Refusal("multiplies {}: only one weight matrix for all is supported")


@operator(
    "Gemm",
    attributes=("alpha", "beta", "transA", "transB"),
    layers=(Dense, Conv),
    refusals=(CONSTANT_LEFT, OTHER_ROWS),
)
def gemm(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute alpha * A * B + beta * C, with A or B transposed where the attributes say so; A is the activation.

    Raises InputError if A is a constant or C differs between rows.
    """
    if not isinstance(node.operands[0], Tensor):
        raise node.error(CONSTANT_LEFT)
    x = node.tensor.layout
    if node.attributes.get("transA", 0):
        x = x.transpose((1, 0))
    weights = node.constant(1) * node.attributes.get("alpha", 1.0)
    if not node.attributes.get("transB", 0):
        weights = weights.T
    c = node.optional(2)
    bias = np.zeros(1) if c is None else c * node.attributes.get("beta", 1.0)
    if bias.ndim > 1 and bias.shape[0] > 1:
        raise node.error(OTHER_ROWS, node.shapes.split(", ")[-1])
    return _product(node, builder, x, weights, np.broadcast_to(bias, (1, len(weights)))[0])


@operator("MatMul", layers=(Dense, Conv, MatMul), refusals=(NO_MATRIX,), joins=True)
def matmul(node: Node, builder: GraphBuilder) -> Tensor:
    """Multiply an activation by a weight matrix or vector, a weight matrix by one, or the matrices of two activations.

    Raises InputError if the constant is no matrix.
    """
    if len(node.tensors) > 1:
        return product_of_activations(node, builder)
    if not isinstance(node.operands[0], Tensor):
        return _constant_first(node, builder)
    weights = node.constant(1)
    if weights.ndim not in {1, 2}:
        raise node.error(NO_MATRIX, node.shapes)
    columns = weights.reshape(len(weights), -1)
    product = _product(node, builder, node.tensor.layout, columns.T, np.zeros(columns.shape[1]))
    shape = product.layout.shape
    return product if weights.ndim > 1 else replace(product, layout=product.layout.reshape(shape[:-1]))


def _constant_first(node: Node, builder: GraphBuilder) -> Tensor:
    """Multiply a weight matrix by those of the activation: A * X is the transposed product of X' and A'."""
    weights, x = node.constant(0), node.tensor.layout
    weights = weights.reshape(weights.shape[-2:]) if weights.size == np.prod(weights.shape[-2:]) else weights
    if weights.ndim != 2 or len(x.shape) < 2:  # noqa: PLR2004 - a matrix has two axes
        raise node.error(NO_MATRIX, node.shapes)
    swapped = (*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2)
    product = _product(node, builder, x.transpose(swapped), weights, np.zeros(len(weights)))
    return replace(product, layout=product.layout.transpose(swapped))


def _product(node: Node, builder: GraphBuilder, x: Layout, weights: Constant, bias: Constant) -> Tensor:
    """Multiply the rows of `x` by `weights` (outputs x inputs)."""
    multiply = _dense if x.order.size == weights.shape[1] else _rows
    return multiply(node, builder, x, weights, bias)


def _rows(node: Node, builder: GraphBuilder, x: Layout, weights: Constant, bias: Constant) -> Tensor:
    """Add a 1x1 convolution: each row is a pixel, of the map that is read or of a row of its own, with its channels."""
    outputs, inputs = weights.shape
    pixels = x.reshape((-1, inputs)).transpose((1, 0)).reshape((1, inputs, -1, 1))
    producer, in_shape, _ = builder.as_map(node.reading(pixels))
    if isinstance(producer, Layer) and producer.out_shape.channels == inputs:
        in_shape = producer.out_shape
    layer = Conv(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=in_shape,
        weights=weights.reshape(outputs, 1, 1, inputs).astype(np.float32),
        bias=bias.astype(np.float32),
        window=Window((1, 1)),
    )
    layout = Layout.identity((*x.shape[:-1], outputs))
    return Tensor(layout, producer=builder.append(layer))


def _dense(node: Node, builder: GraphBuilder, x: Layout, weights: Constant, bias: Constant) -> Tensor:
    """Add a `Dense`; the columns of `weights` (outputs x inputs) get the memory order of the activation."""
    producer, in_shape, order = builder.as_stored(node.tensor)
    columns = np.empty_like(weights, dtype=np.float32)
    columns[:, order.ravel()] = weights
    layer = Dense(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=in_shape,
        weights=columns,
        bias=bias.astype(np.float32),
    )
    return Tensor(Layout.identity((*x.shape[:-1], len(weights))), producer=builder.append(layer))
