"""Softmax over the channels of every pixel, the whole vector, or another axis, which is moved to the channels."""

from math import prod

import numpy as np

from tinysplit.network.layers import Shape, Softmax
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Tensor
from tinysplit.onnx_import.operators.declaration import operator

ONE_AXIS_OPSET = 13  # before it, Softmax ran over all axes from `axis` on


@operator("Softmax", attributes=("axis",), layers=(Softmax,))
def softmax(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a `Softmax`, after a reordering where the elements of one softmax are not contiguous in memory."""
    shape = node.tensor.layout.shape
    if node.opset >= ONE_AXIS_OPSET:
        view = shape
        axis = node.attributes.get("axis", -1) % node.rank
    else:
        first = node.attributes.get("axis", 1) % node.rank
        view, axis = (prod(shape[:first]), prod(shape[first:])), 1
    producer, stored_shape, order = builder.as_stored(node.tensor)
    length = view[axis]
    members = np.moveaxis(order.reshape(view), axis, -1).reshape(-1, length) // length
    if (members != members[:, :1]).any():
        return _moved_softmax(node, builder, view, axis)
    in_shape = stored_shape if length == stored_shape.channels else Shape(1, order.size // length, length)
    layer = Softmax(name=node.name, inputs=(builder.source(producer),), output=node.output, in_shape=in_shape)
    return Tensor(Layout(order), producer=builder.append(layer))


def _moved_softmax(node: Node, builder: GraphBuilder, view: tuple[int, ...], axis: int) -> Tensor:
    """Add a `Softmax` over an axis, of the activation in the shape `view`, that is moved to the channels."""
    layout = node.tensor.layout
    producer, in_shape, _ = builder.as_map(node.reading(layout.reshape(view).channels_of(axis)))
    layer = Softmax(name=node.name, inputs=(builder.source(producer),), output=node.output, in_shape=in_shape)
    back = Layout.of_map(layer.out_shape, 1).from_channels(view, axis)
    return Tensor(back.reshape(layout.shape), producer=builder.append(layer))
