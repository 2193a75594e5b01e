"""Elementwise operators: BatchNormalization, arithmetic with constants, Relu and Clip."""

import numpy as np

from tinysplit.network.layers import Activation, Add, DepthwiseConv, Lookup, MaxPool, Mul, Normalization
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Constant, Node, Refusal, Tensor
from tinysplit.onnx_import.operators import joining
from tinysplit.onnx_import.operators.declaration import operator
from tinysplit.onnx_import.operators.group_normalization import of_pieces
from tinysplit.onnx_import.operators.joining import ELEMENTWISE_REFUSALS
from tinysplit.onnx_import.pointwise import Affine, Clamp, Function
from tinysplit.onnx_import.size_limits import check_value_size

TRAINING = Refusal("is in training mode: export the model for inference (model.eval())")
ENLARGED = Refusal("enlarges the batch of its input {} by broadcasting a constant: not supported")
DIVIDENDS = Refusal("divides {}: a constant dividend has to be one number for all")
OTHER_CHANNELS = Refusal("has scales of {} channels, but its input has {}")
BOUNDS = Refusal("has the bounds {} and {}: its output would be infinite")


@operator(
    "BatchNormalization",
    attributes=("epsilon", "training_mode"),
    ignored=("momentum",),
    layers=(DepthwiseConv,),
    refusals=(TRAINING, OTHER_CHANNELS),
)
def batch_normalization(node: Node, builder: GraphBuilder) -> Tensor:
    """Compute gamma * (x - mean) / sqrt(variance + epsilon) + beta.

    As scale and shift of every channel: scale = gamma / sqrt(variance + epsilon), shift = beta - mean * scale.

    Raises InputError in training mode, and for another number of channels.
    """
    if node.attributes.get("training_mode", 0):
        raise node.error(TRAINING)
    in_channels = node.tensor.layout.shape[1]
    gamma, beta, mean, variance = (node.constant(i).astype(np.float64) for i in range(1, 5))
    with np.errstate(invalid="ignore", divide="ignore"):  # not finite: refused with the layer's name
        scale = gamma / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
        shift = beta - mean * scale
    if scale.size != in_channels:
        raise node.error(OTHER_CHANNELS, scale.size, in_channels)
    channels = (-1, *[1] * (node.rank - 2))
    return _affine(node, builder, scale.reshape(channels), shift.reshape(channels))


@operator(
    "Add",
    layers=(DepthwiseConv, Lookup, Add),
    refusals=(ENLARGED, *ELEMENTWISE_REFUSALS),
    joins=True,
    takes_infinity=True,
)
def add(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a constant, or two activations; a constant with large negative numbers or -infinity masks a softmax."""
    if len(node.tensors) > 1:
        return joining.add(node, builder)
    return _affine(node, builder, 1.0, _other(node))


@operator(
    "Mul", layers=(Mul, DepthwiseConv, Lookup, Normalization), refusals=(ENLARGED, *ELEMENTWISE_REFUSALS), joins=True
)
def mul(node: Node, builder: GraphBuilder) -> Tensor:
    """Multiply by a constant, or two activations; a normalization where exporters wrote one in pieces."""
    if node.output in builder.pieces:
        return of_pieces(node, builder, builder.pieces[node.output])
    if len(node.tensors) > 1:
        return joining.mul(node, builder)
    return _affine(node, builder, _other(node), 0.0)


@operator("Sub", layers=(DepthwiseConv, Lookup, Add), refusals=(ENLARGED, *ELEMENTWISE_REFUSALS), joins=True)
def sub(node: Node, builder: GraphBuilder) -> Tensor:
    """Subtract a constant, subtract from one, or one activation from another."""
    if len(node.tensors) > 1:
        return joining.sub(node, builder)
    if isinstance(node.operands[0], Tensor):
        return _affine(node, builder, 1.0, -_other(node))
    return _affine(node, builder, -1.0, _other(node))


@operator("Where", layers=(DepthwiseConv,), refusals=(ENLARGED,), takes_infinity=True)
def where(node: Node, builder: GraphBuilder) -> Tensor:
    """Take elements of an activation or of a constant, by a constant condition: a mask, where a softmax follows."""
    is_first = isinstance(node.operands[1], Tensor)
    keeps = node.constant(0).astype(bool) == is_first
    other = node.constant(2 if is_first else 1).astype(np.float64)
    return _affine(node, builder, keeps.astype(np.float64), np.where(keeps, 0.0, other))


@operator("IsNaN")
def is_nan(node: Node, _: GraphBuilder) -> Constant:
    """Give false: activations are numbers."""
    return np.zeros(node.tensor.layout.shape, bool)


@operator("Div", layers=(DepthwiseConv, Lookup), refusals=(DIVIDENDS, ENLARGED))
def div(node: Node, builder: GraphBuilder) -> Tensor:
    """Divide by a constant, or a number by an activation; x / y of two activations is read as x * (1 / y).

    Raises InputError for a dividend that is not the same for all elements.
    """
    other = _other(node)
    if isinstance(node.operands[0], Tensor):
        with np.errstate(divide="ignore"):
            return _affine(node, builder, 1.0 / other, 0.0)
    if other.size != 1 or other.ndim > node.rank:
        raise node.error(DIVIDENDS, node.shapes)
    return builder.apply(Function(node.name, node.output, lambda x: other.item() / x), node.tensor)


@operator("Neg", layers=(DepthwiseConv, Lookup))
def neg(node: Node, builder: GraphBuilder) -> Tensor:
    """-x."""
    return _affine(node, builder, -1.0, 0.0)


@operator("Max", layers=(MaxPool, Lookup), joins=True)
def maximum(node: Node, builder: GraphBuilder) -> Tensor:
    """Larger one of x and a number; the larger one of x and y is read as y + max(x - y, 0)."""
    return _clamp(node, builder, Activation(max(_numbers(node))))


@operator("Min", layers=(MaxPool, Lookup), joins=True)
def minimum(node: Node, builder: GraphBuilder) -> Tensor:
    """Smaller one of x and a number; the smaller one of x and y is read as y - max(y - x, 0)."""
    return _clamp(node, builder, Activation(high=min(_numbers(node))))


@operator("Relu", layers=(MaxPool, Lookup))
def relu(node: Node, builder: GraphBuilder) -> Tensor:
    """max(x, 0)."""
    return _clamp(node, builder, Activation(0.0))


@operator("Clip", layers=(MaxPool, Lookup), refusals=(BOUNDS,), takes_infinity=True)
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
    if np.prod(shape) == layout.order.size:
        layout = layout.reshape(shape)
    elif shape[0] == 1 or shape[0] == layout.shape[0]:
        check_value_size(shape)
        layout = Layout(np.broadcast_to(layout.order, shape))  # repeated by a copy
    else:
        raise node.error(ENLARGED, layout)
    tensor = node.moved(layout)
    if np.all(scale == 1) and np.all(shift == 0) and node.output not in builder.qdq.values:
        return tensor
    tensor = builder.stored(tensor)
    stored_scale, stored_shift = (builder.filled(tensor, values) for values in (scale, shift))
    return builder.apply(Affine(node.name, node.output, not tensor.is_shared, stored_scale, stored_shift), tensor)


def _numbers(node: Node) -> list[float]:
    return [float(each.item()) for each in node.operands if each is not None and not isinstance(each, Tensor)]


def _clamp(node: Node, builder: GraphBuilder, activation: Activation) -> Tensor:
    tensor = builder.stored(node.tensor)
    return builder.apply(Clamp(node.name, node.output, not tensor.is_shared, activation), tensor)
