"""Elementwise operators: BatchNormalization, arithmetic with constants, Relu and Clip."""

from dataclasses import replace

import numpy as np

from tinysplit.network.layers import Activation, Add, DepthwiseConv, MaxPool, Mul
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.node import Constant, Node, Refusal, Tensor
from tinysplit.onnx_import.operators import joining
from tinysplit.onnx_import.operators.declaration import operator
from tinysplit.onnx_import.operators.joining import ELEMENTWISE_REFUSALS
from tinysplit.onnx_import.pointwise import Affine, Clamp

TRAINING = Refusal("is in training mode: export the model for inference (model.eval())")
ENLARGED = Refusal("enlarges its input {} by broadcasting a constant: not supported")
CONSTANT_DIVIDEND = Refusal("divides a constant by an activation: not supported")
BOUNDS = Refusal("has the bounds {} and {}: its output would be infinite")


@operator(
    "BatchNormalization",
    attributes=("epsilon", "training_mode"),
    ignored=("momentum",),
    layers=(DepthwiseConv,),
    refusals=(TRAINING, ENLARGED),
)
def batch_normalization(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute gamma * (x - mean) / sqrt(variance + epsilon) + beta.

    As scale and shift of every channel: scale = gamma / sqrt(variance + epsilon), shift = beta - mean * scale.

    Raises InputError in training mode.
    """
    if node.attributes.get("training_mode", 0):
        raise node.error(TRAINING)
    gamma, beta, mean, variance = (node.constant(i).astype(np.float64) for i in range(1, 5))
    with np.errstate(invalid="ignore", divide="ignore"):  # not finite: refused with the layer's name
        scale = gamma / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
        shift = beta - mean * scale
    channels = (-1, *[1] * (node.rank - 2))
    return _affine(node, builder, scale.reshape(channels), shift.reshape(channels))


@operator("Add", layers=(DepthwiseConv, Add), refusals=(ENLARGED, *ELEMENTWISE_REFUSALS), joins=True)
def add(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a constant, or two activations."""
    if len(node.tensors) > 1:
        return joining.add(node, builder)
    return _affine(node, builder, 1.0, _other(node))


@operator("Mul", layers=(Mul, DepthwiseConv), refusals=(ENLARGED, *ELEMENTWISE_REFUSALS), joins=True)
def mul(node: Node, builder: GraphBuilder) -> Tensor:
    """Multiply by a constant, or two activations."""
    if len(node.tensors) > 1:
        return joining.mul(node, builder)
    return _affine(node, builder, _other(node), 0.0)


@operator("Sub", layers=(DepthwiseConv, Add), refusals=(ENLARGED, *ELEMENTWISE_REFUSALS), joins=True)
def sub(node: Node, builder: GraphBuilder) -> Tensor:
    """Subtract a constant, subtract from one, or one activation from another."""
    if len(node.tensors) > 1:
        return joining.sub(node, builder)
    if isinstance(node.operands[0], Tensor):
        return _affine(node, builder, 1.0, -_other(node))
    return _affine(node, builder, -1.0, _other(node))


@operator("Div", layers=(DepthwiseConv,), refusals=(CONSTANT_DIVIDEND, ENLARGED))
def div(node: Node, builder: GraphBuilder) -> Tensor:
    """Divide by a constant.

    Raises InputError if the dividend is the constant.
    """
    if not isinstance(node.operands[0], Tensor):
        raise node.error(CONSTANT_DIVIDEND)
    with np.errstate(divide="ignore"):
        return _affine(node, builder, 1.0 / _other(node), 0.0)


@operator("Relu", layers=(MaxPool,))
def relu(node: Node, builder: GraphBuilder) -> Tensor:
    """max(x, 0)."""
    return _clamp(node, builder, Activation(0.0))


@operator("Clip", layers=(MaxPool,), refusals=(BOUNDS,), takes_infinity=True)
def clip(node: Node, builder: GraphBuilder) -> Tensor:
    """min(max(x, low), high); bounds are optional."""
    low, high = (node.optional(i) for i in (1, 2))
    lowest = -np.inf if low is None else float(low.item())
    highest = np.inf if high is None else float(high.item())
    if lowest == np.inf or highest == -np.inf:
        raise node.error(BOUNDS, lowest, highest)
    return _clamp(node, builder, Activation(min(lowest, highest), highest))


def _other(node: Node) -> Constant:
    return next(op for op in node.operands if not isinstance(op, Tensor) and op is not None).astype(np.float64)


def _affine(node: Node, builder: GraphBuilder, scale: Constant | float, shift: Constant | float) -> Tensor:
    """Apply scale and shift, which broadcast as in ONNX, in the memory order of the activation."""
    layout = node.tensor.layout
    shape = np.broadcast_shapes(layout.shape, np.shape(scale), np.shape(shift))
    if np.prod(shape) != layout.order.size:
        raise node.error(ENLARGED, layout)
    tensor = node.moved(layout.reshape(shape))
    order = tensor.layout.order
    stored_scale, stored_shift = np.empty(order.size), np.empty(order.size)
    stored_scale[order] = scale
    stored_shift[order] = shift
    return _applied(builder, tensor, Affine(node.name, node.output, not tensor.is_shared, stored_scale, stored_shift))


def _clamp(node: Node, builder: GraphBuilder, activation: Activation) -> Tensor:
    return _applied(builder, node.tensor, Clamp(node.name, node.output, not node.tensor.is_shared, activation))


def _applied(builder: GraphBuilder, tensor: Tensor, step: Affine | Clamp) -> Tensor:
    if tensor.producer is None:
        return replace(tensor, pending=(*tensor.pending, step), is_shared=False)
    producer = builder.apply(step, tensor.producer, tensor.producer.out_shape)
    return replace(tensor, producer=producer, is_shared=False)
