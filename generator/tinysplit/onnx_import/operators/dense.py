"""Gemm and MatMul with constant weights: fully connected layers."""

import numpy as np

from tinysplit.layers import Dense
from tinysplit.onnx_import.chain import Chain
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Constant, Node, Tensor


def gemm(node: Node, chain: Chain) -> Tensor:
    """Compute alpha * A * B + beta * C, with A or B transposed where the attributes say so; A is the activation."""
    if not isinstance(node.operands[0], Tensor):
        raise node.error("has a constant on its left: only activation * weights is supported")
    x = node.tensor.layout
    if node.attributes.get("transA", 0):
        x = x.transpose((1, 0))
    weights = node.constant(1) * node.attributes.get("alpha", 1.0)
    if not node.attributes.get("transB", 0):
        weights = weights.T
    c = node.optional(2)
    bias = np.zeros(1) if c is None else c * node.attributes.get("beta", 1.0)
    return _dense(node, chain, x, weights, np.broadcast_to(bias, (1, len(weights)))[0])


def matmul(node: Node, chain: Chain) -> Tensor:
    """Multiply the activation by a weight matrix."""
    weights = node.constant(1) if isinstance(node.operands[0], Tensor) else None
    if weights is None or weights.ndim != 2:  # noqa: PLR2004 - a matrix
        raise node.error(f"multiplies {node.shapes}: only activation * weight matrix is supported")
    return _dense(node, chain, node.tensor.layout, weights.T, np.zeros(weights.shape[1]))


def _dense(node: Node, chain: Chain, x: Layout, weights: Constant, bias: Constant) -> Tensor:
    """Add a `Dense`; the columns of `weights` (outputs x inputs) are brought into the order of the activation."""
    if x.order.size != weights.shape[1] or x.shape[-1] != weights.shape[1]:
        raise node.error(f"multiplies several rows at once ({x}): only one vector a sample is supported")
    producer, in_shape, order = chain.as_stored(node.tensor)
    columns = np.empty_like(weights, dtype=np.float32)
    columns[:, order.ravel()] = weights
    layer = Dense(
        name=node.name,
        inputs=(chain.source(producer),),
        output=node.output,
        in_shape=in_shape,
        weights=columns,
        bias=bias.astype(np.float32),
    )
    return Tensor(Layout.identity((*x.shape[:-1], len(weights))), chain.append(layer))
