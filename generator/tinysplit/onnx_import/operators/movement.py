# ruff: noqa: ARG001 - all operators have one signature, and these add no layer
"""Operators that only move data: they change the layout and add no layer."""

from dataclasses import replace
from math import prod

import numpy as np

from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.node import Constant, Node, Tensor


def unchanged(node: Node, builder: GraphBuilder) -> Tensor:
    """Leave the values as they are."""
    return node.tensor


def dropout(node: Node, builder: GraphBuilder) -> Tensor:
    """Leave the values as they are, outside of training. Raises InputError in training mode."""
    ratio, training = node.optional(1), node.optional(2)
    if training is not None and training.any() and (ratio is None or ratio.any()):
        raise node.error("drops values at random, for training: export the network for inference")
    return node.tensor


def shape_of(node: Node, builder: GraphBuilder) -> Constant:
    """Give the shape, which is known, and so a constant."""
    shape = node.tensor.layout.shape[node.attributes.get("start", 0) : node.attributes.get("end")]
    return np.array(shape, dtype=np.int64)


def transpose(node: Node, builder: GraphBuilder) -> Tensor:
    """Permute the axes; without `perm` the axes are reversed."""
    permutation = node.attributes.get("perm", range(node.rank)[::-1])
    return node.moved(node.tensor.layout.transpose(permutation))


def reshape(node: Node, builder: GraphBuilder) -> Tensor:
    """Reshape to constant sizes; 0 keeps a size (unless `allowzero`) and -1 is the remaining size.

    Raises InputError for sizes that do not match or a batch other than 1.
    """
    wanted = node.constant(1).tolist()
    old = node.tensor.layout
    if not node.attributes.get("allowzero", 0):
        wanted = [old.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    return _reshaped(node, wanted)


def flatten(node: Node, builder: GraphBuilder) -> Tensor:
    """Flatten to two dimensions. Raises InputError for a batch other than 1."""
    axis = node.attributes.get("axis", 1)
    return _reshaped(node, (prod(node.tensor.layout.shape[:axis]), -1))


def squeeze(node: Node, builder: GraphBuilder) -> Tensor:
    """Squeeze the given axes, or all of size 1."""
    shape, axes = node.tensor.layout.shape, node.axes()
    squeezed = {axis for axis, size in enumerate(shape) if size == 1} if axes is None else {a % node.rank for a in axes}
    return _reshaped(node, [size for axis, size in enumerate(shape) if axis not in squeezed])


def unsqueeze(node: Node, builder: GraphBuilder) -> Tensor:
    """Insert axes of size 1."""
    axes = node.axes() or ()
    rank = node.rank + len(axes)
    sizes = iter(node.tensor.layout.shape)
    inserted = {axis % rank for axis in axes}
    return _reshaped(node, [1 if axis in inserted else next(sizes) for axis in range(rank)])


def pad(node: Node, builder: GraphBuilder) -> Tensor:
    """Pad with a constant; the window of the next operator absorbs it if it supports the constant.

    Raises InputError for other modes, negative pads, and a Pad after a Pad.
    """
    mode = node.attributes.get("mode", b"constant").decode()
    widths = node.constant(1).tolist()
    value = node.optional(2)
    axes = node.optional(3)
    if mode != "constant":
        raise node.error(f"pads in mode '{mode}': only constant padding is supported")
    if min(widths, default=0) < 0:
        raise node.error(f"has negative pads {widths}: cropping is not supported")
    if node.tensor.layout.is_padded:
        raise node.error("follows another Pad: merge the two")
    padded = range(node.rank) if axes is None else axes.tolist()
    both = [(0, 0)] * node.rank
    for axis, before, after in zip(padded, widths, widths[len(padded) :], strict=False):
        both[axis] = (before, after)
    layout = node.tensor.layout.pad(both, 0.0 if value is None else float(value.item()))
    return replace(node.moved(layout), padded=node.output)


def _reshaped(node: Node, shape: list[int] | tuple[int, ...]) -> Tensor:
    layout = node.tensor.layout
    try:
        return node.moved(layout.reshape(shape))
    except ValueError:
        sizes = "x".join(map(str, shape))
        raise node.error(f"cannot reshape {layout} to {sizes}: batches other than 1 are not supported") from None
