# ruff: noqa: ARG001 - all operators have one signature, and these add no layer
"""Operators that only move data: they change the layout and add no layer."""

from dataclasses import replace
from math import prod

import numpy as np

from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.node import Constant, Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import TakenPad, operator

TRAINING = Refusal("drops values at random, for training: export the network for inference")
PAD_MODE = Refusal("pads in mode '{}': only constant padding is supported")
CROPPING = Refusal("has negative pads {}: cropping is not supported")
SECOND_PAD = Refusal("follows another Pad: merge the two")
SEVERAL_SAMPLES = Refusal("cannot reshape {} to {}: batches other than 1 are not supported")


@operator("Identity", taken_pad=TakenPad.ANY)
def unchanged(node: Node, builder: GraphBuilder) -> Tensor:
    """Leave the values as they are."""
    return node.tensor


@operator("Dropout", ignored=("ratio", "seed"), refusals=(TRAINING,), taken_pad=TakenPad.ANY)
def dropout(node: Node, builder: GraphBuilder) -> Tensor:
    """Leave the values as they are, outside of training.

    Raises InputError in training mode.
    """
    ratio, training = node.optional(1), node.optional(2)
    if training is not None and training.any() and (ratio is None or ratio.any()):
        raise node.error(TRAINING)
    return node.tensor


@operator("Shape", attributes=("end", "start"), taken_pad=TakenPad.ANY)
def shape_of(node: Node, builder: GraphBuilder) -> Constant:
    """Give the shape, which is known, and so a constant."""
    shape = node.tensor.layout.shape[node.attributes.get("start", 0) : node.attributes.get("end")]
    return np.array(shape, dtype=np.int64)


@operator("Transpose", attributes=("perm",), taken_pad=TakenPad.ANY)
def transpose(node: Node, builder: GraphBuilder) -> Tensor:
    """Permute the axes; without `perm` the axes are reversed."""
    permutation = node.attributes.get("perm", range(node.rank)[::-1])
    return node.moved(node.tensor.layout.transpose(permutation))


@operator("Reshape", attributes=("allowzero",), refusals=(SEVERAL_SAMPLES,), taken_pad=TakenPad.ANY)
def reshape(node: Node, builder: GraphBuilder) -> Tensor:
    """Reshape to constant sizes; 0 keeps a size (unless `allowzero`) and -1 is the remaining size.

    Raises InputError for sizes that do not match or a batch other than 1.
    """
    wanted = node.constant(1).tolist()
    old = node.tensor.layout
    if not node.attributes.get("allowzero", 0):
        wanted = [old.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    try:
        return node.moved(old.reshape(wanted))
    except ValueError:
        raise node.error(SEVERAL_SAMPLES, old, "x".join(map(str, wanted))) from None


@operator("Flatten", attributes=("axis",), taken_pad=TakenPad.ANY)
def flatten(node: Node, builder: GraphBuilder) -> Tensor:
    """Flatten to two dimensions."""
    layout = node.tensor.layout
    axis = node.attributes.get("axis", 1)
    return node.moved(layout.reshape((prod(layout.shape[:axis]), -1)))


@operator("Squeeze", attributes=("axes",), taken_pad=TakenPad.ANY)
def squeeze(node: Node, builder: GraphBuilder) -> Tensor:
    """Squeeze the given axes, or all of size 1."""
    layout = node.tensor.layout
    return node.moved(layout.reshape(layout.order.squeeze(node.axes()).shape))


@operator("Unsqueeze", attributes=("axes",), taken_pad=TakenPad.ANY)
def unsqueeze(node: Node, builder: GraphBuilder) -> Tensor:
    """Insert axes of size 1."""
    layout = node.tensor.layout
    return node.moved(layout.reshape(np.expand_dims(layout.order, node.axes() or ()).shape))


@operator(
    "Pad",
    attributes=("mode",),
    refusals=(PAD_MODE, CROPPING, SECOND_PAD),
    taken_pad=TakenPad.ANY,
    takes_infinity=True,
)
def pad(node: Node, builder: GraphBuilder) -> Tensor:
    """Pad with a constant; the window of the next operator absorbs it if it supports the constant.

    Raises InputError for other modes, negative pads, and a Pad after a Pad.
    """
    mode = node.attributes.get("mode", b"constant").decode()
    widths = node.constant(1).tolist()
    value = node.optional(2)
    axes = node.optional(3)
    if mode != "constant":
        raise node.error(PAD_MODE, mode)
    if min(widths, default=0) < 0:
        raise node.error(CROPPING, widths)
    if node.tensor.layout.is_padded:
        raise node.error(SECOND_PAD)
    padded = range(node.rank) if axes is None else axes.tolist()
    both = [(0, 0)] * node.rank
    for axis, before, after in zip(padded, widths, widths[len(padded) :], strict=False):
        both[axis] = (before, after)
    layout = node.tensor.layout.pad(both, 0.0 if value is None else float(value.item()))
    return replace(node.moved(layout), padded=node.output)
