"""Softmax over the channels of every pixel, the whole vector, or another axis, which is moved to the channels.

Masks of attention are constants that an Add or a Where puts before it. What is 100 below the largest of its numbers has
a probability of 0 (exp(-100) = 4e-44): the softmax leaves such elements out, so that their size ruins no format.
"""

from dataclasses import replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import Shape, Softmax
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import operator
from tinysplit.onnx_import.pointwise import LEAST_SHIFT, Affine, Clamp, Step

ONE_AXIS_OPSET = 13  # before it, Softmax ran over all axes from `axis` on
MASKED = 100.0
MASKS_ALL = Refusal("has a mask of all elements of some softmax: export it without these")
MASK_OF_NUMBERS = Refusal("has a mask with other numbers beside it ('{}'): add these in a node of their own")
CHANGED_MASK = Refusal("has a mask that is changed behind it ('{}'): put the mask right before the softmax")

Mask = NDArray[np.bool_]


@operator("Softmax", attributes=("axis",), layers=(Softmax,), refusals=(MASKS_ALL, MASK_OF_NUMBERS, CHANGED_MASK))
def softmax(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a `Softmax`, after a reordering where the elements of one softmax are not contiguous in memory."""
    shape = node.tensor.layout.shape
    if node.opset >= ONE_AXIS_OPSET:
        view = shape
        axis = node.attributes.get("axis", -1) % node.rank
    else:
        first = node.attributes.get("axis", 1) % node.rank
        view, axis = (prod(shape[:first]), prod(shape[first:])), 1
    node, masked = _unmasked(node, builder, view, axis)
    producer, stored_shape, order = builder.as_stored(node.tensor)
    length = view[axis]
    members = np.moveaxis(order.reshape(view), axis, -1).reshape(-1, length)
    if (members // length != members[:, :1] // length).any():
        return _moved_softmax(node, builder, view, axis, masked)
    in_shape = stored_shape if length == stored_shape.channels else Shape(1, order.size // length, length)
    if masked is not None:
        stored = np.empty(order.size, bool)
        stored[members] = masked
        masked = stored
    layer = _layer(node, builder.source(producer), in_shape, masked)
    return Tensor(Layout(order), producer=builder.append(layer))


def _moved_softmax(node: Node, builder: GraphBuilder, view: tuple[int, ...], axis: int, masked: Mask | None) -> Tensor:
    """Add a `Softmax` over an axis, of the activation in the shape `view`, that is moved to the channels."""
    layout = node.tensor.layout
    producer, in_shape, _ = builder.as_map(node.reading(layout.reshape(view).channels_of(axis)))
    layer = _layer(node, builder.source(producer), in_shape, masked)
    back = Layout.of_map(layer.out_shape, 1).from_channels(view, axis)
    return Tensor(back.reshape(layout.shape), producer=builder.append(layer))


def _layer(node: Node, source: str, shape: Shape, masked: Mask | None) -> Softmax:
    """Return the layer; `masked` has its elements in memory."""
    if masked is not None:
        masked = masked.reshape(shape)
        if (masked == masked[:, :1]).all():
            masked = masked[:, :1]
    return Softmax(name=node.name, inputs=(source,), output=node.output, in_shape=shape, masked=masked)


def _unmasked(node: Node, builder: GraphBuilder, view: tuple[int, ...], axis: int) -> tuple[Node, Mask | None]:
    """Return the node reading its activation without masks that wait for it, and what they mask: softmaxes x elements.

    What follows a mask keeps it from being infinite.
    """
    tensor = node.tensor
    masked: Mask | None = None
    kept: list[Step] = []
    for step in tensor.pending:
        if masked is not None and isinstance(step, Clamp) and step.activation.low <= LEAST_SHIFT:
            continue
        own = _masked(node, step, view, axis) if step.output not in builder.qdq.values else None
        if own is None:
            if masked is not None:
                raise node.error(CHANGED_MASK, step.output)
            kept.append(step)
            continue
        masked = own if masked is None else masked | own
    if masked is None:
        return node, None
    if masked.all(axis=1).any():
        raise node.error(MASKS_ALL)
    name = kept[-1].output if kept else builder.onnx_value(tensor.producer)
    return replace(node, operands=(replace(tensor, pending=tuple(kept), name=name),), names=(name,)), masked


def _masked(node: Node, step: Step, view: tuple[int, ...], axis: int) -> Mask | None:
    """Return the elements that a step masks, softmaxes x elements; None for a step that masks none.

    Raises InputError for a mask that also adds or multiplies.
    """
    if not isinstance(step, Affine):
        return None
    order = np.moveaxis(node.tensor.layout.order.reshape(view), axis, -1).reshape(-1, view[axis])
    scale, shift = step.scale[order], step.shift[order]
    largest = shift.max(axis=1, keepdims=True)
    masked: Mask = (shift <= largest - MASKED) | (shift <= LEAST_SHIFT)
    if not masked.any():
        return None
    if ((shift == largest) & (scale == 1) | masked).all():
        return masked
    if shift.min() <= LEAST_SHIFT:
        raise node.error(MASK_OF_NUMBERS, step.output)
    return None
