"""Softmax over the channels of every pixel, or over the whole vector."""

from math import prod

import numpy as np

from tinysplit.layers import Shape, Softmax
from tinysplit.onnx_import.chain import Chain
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Tensor

ONE_AXIS_OPSET = 13  # before it, Softmax ran over all axes from `axis` on


def softmax(node: Node, chain: Chain) -> Tensor:
    """Add a `Softmax`; the elements of one softmax have to be neighbours in memory."""
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
        raise node.error(
            f"runs over axis {axis} of {node.tensor.layout}: only the channels of every pixel are supported"
        )
    in_shape = stored_shape if length == stored_shape.channels else Shape(1, order.size // length, length)
    layer = Softmax(name=node.name, inputs=(chain.source(producer),), output=node.output, in_shape=in_shape)
    return Tensor(Layout(order), chain.append(layer))
