"""Softmax over the channels of every pixel, the whole vector, or another axis, which is moved to the channels."""

from math import prod

import numpy as np

from tinysplit.network.layers import Shape, Softmax
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Tensor

ONE_AXIS_OPSET = 13  # before it, Softmax ran over all axes from `axis` on


def softmax(node: Node, builder: GraphBuilder) -> Tensor:
    """Add a `Softmax`, after a reordering where the elements of one softmax are not contiguous in memory."""
    shape = node.tensor.layout.shape
    if node.opset >= ONE_AXIS_OPSET:
        axis = node.attributes.get("axis", -1) % node.rank
        length = shape[axis]
    else:
        axis = node.attributes.get("axis", 1) % node.rank
        length = prod(shape[axis:])
    producer, stored_shape, order = builder.as_stored(node.tensor)
    by_softmax = np.moveaxis(order, axis, -1) if node.opset >= ONE_AXIS_OPSET else order
    members = by_softmax.reshape(-1, length) // length
    if (members != members[:, :1]).any():
        return _moved_softmax(node, builder, axis)
    in_shape = stored_shape if length == stored_shape.channels else Shape(1, order.size // length, length)
    layer = Softmax(name=node.name, inputs=(builder.source(producer),), output=node.output, in_shape=in_shape)
    return Tensor(Layout(order), builder.append(layer))


def _moved_softmax(node: Node, builder: GraphBuilder, axis: int) -> Tensor:
    """Add a `Softmax` over an axis that is moved to the channels."""
    layout = node.tensor.layout
    others = [other for other in range(node.rank) if other != axis]
    moved = layout.transpose((axis, *others)).reshape((1, layout.shape[axis], -1))
    producer, in_shape, _ = builder.as_map(node.reading(moved))
    layer = Softmax(name=node.name, inputs=(builder.source(producer),), output=node.output, in_shape=in_shape)
    back = Layout.of_map(layer.out_shape, 1).reshape([layout.shape[k] for k in (axis, *others)])
    return Tensor(back.transpose(np.argsort((axis, *others)).tolist()), builder.append(layer))
