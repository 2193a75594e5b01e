"""Softmax over the channels of every pixel, over the whole vector, or over another axis, which becomes the channels."""

from math import prod

import numpy as np

from tinysplit.network.layers import Shape, Softmax
from tinysplit.onnx_import.chain import Chain
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Tensor

ONE_AXIS_OPSET = 13  # before it, Softmax ran over all axes from `axis` on


def softmax(node: Node, chain: Chain) -> Tensor:
    """Add a `Softmax`; where the elements of one softmax are no neighbours in memory, they are moved before."""
    shape = node.tensor.layout.shape
    if node.opset >= ONE_AXIS_OPSET:
        axis = node.attributes.get("axis", -1) % node.rank
        length = shape[axis]
    else:
        axis = node.attributes.get("axis", 1) % node.rank
        length = prod(shape[axis:])
    producer, stored_shape, order = chain.as_stored(node.tensor)
    by_softmax = np.moveaxis(order, axis, -1) if node.opset >= ONE_AXIS_OPSET else order
    members = by_softmax.reshape(-1, length) // length
    if (members != members[:, :1]).any():
        return _moved_softmax(node, chain, axis)
    in_shape = stored_shape if length == stored_shape.channels else Shape(1, order.size // length, length)
    layer = Softmax(name=node.name, inputs=(chain.source(producer),), output=node.output, in_shape=in_shape)
    return Tensor(Layout(order), chain.append(layer))


def _moved_softmax(node: Node, chain: Chain, axis: int) -> Tensor:
    """Add a `Softmax` over an axis that is brought to the place of the channels."""
    layout = node.tensor.layout
    others = [other for other in range(node.rank) if other != axis]
    moved = layout.transpose((axis, *others)).reshape((1, layout.shape[axis], -1))
    producer, in_shape, _ = chain.as_map(node.reading(moved))
    layer = Softmax(name=node.name, inputs=(chain.source(producer),), output=node.output, in_shape=in_shape)
    back = Layout.of_map(layer.out_shape, 1).reshape([layout.shape[k] for k in (axis, *others)])
    return Tensor(back.transpose(np.argsort((axis, *others)).tolist()), chain.append(layer))
