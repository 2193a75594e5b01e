"""The layers found so far, and the ways in which an operator can read the activation before it."""

import numpy as np

from tinysplit.errors import InputError
from tinysplit.layers import Layer, Pads, Shape
from tinysplit.onnx_import.layout import IndexArray, Layout
from tinysplit.onnx_import.node import Node, Tensor


class Chain:
    """Builds the layers of a `Graph` in topological order."""

    def __init__(self, input_name: str) -> None:
        self.input_name = input_name
        self.input_order: IndexArray | None = None  # None until a layer has said how it wants the input
        self.layers: list[Layer] = []

    def source(self, producer: Layer | None) -> str:
        """Return the name of the ONNX value that `producer` (None: the network's input) offers."""
        return producer.output if producer else self.input_name

    def append(self, layer: Layer) -> Layer:
        """Add `layer` and return it."""
        self.layers.append(_checked(layer))
        return layer

    def replace(self, layer: Layer, fused: Layer) -> Layer:
        """Put `fused` in the place of `layer` and return it."""
        self.layers = [_checked(fused) if other is layer else other for other in self.layers]
        return fused

    def as_map(self, node: Node) -> tuple[Layer | None, Shape, Pads]:
        """Return who computes the node's activation, its height x width x channels, and the Pad in front of the node.

        Raises InputError when the elements are not stored in that order: moving them is not supported.
        """
        found = node.tensor.layout.unpadded_map()
        if found is None:
            raise node.error(
                f"reads {node.tensor.layout}: a map of batch x channels x height x width (or x width) is needed"
            )
        order, pads = found
        shape = Shape(*order.shape)
        producer, order = self._settle(node.tensor, order, shape)
        if not np.array_equal(order.ravel(), np.arange(shape.size)):
            raise node.error(
                f"reads {node.tensor.layout} in another order than '{self.source(producer)}' has it: "
                "moving data between layers (Transpose, Reshape across channels) is not supported"
            )
        return producer, shape, pads

    def as_stored(self, tensor: Tensor) -> tuple[Layer | None, Shape, IndexArray]:
        """Return who computes `tensor`, its shape as stored, and the order in which ONNX reads it."""
        order = tensor.layout.order
        vector = Shape(1, 1, order.size)
        producer, order = self._settle(tensor, order, vector)
        return producer, producer.out_shape if producer else vector, order

    def _settle(self, tensor: Tensor, order: IndexArray, shape: Shape) -> tuple[Layer | None, IndexArray]:
        """Store the network's input as `shape` in `order`, and add the layers that waited for that."""
        if tensor.producer is not None:
            return tensor.producer, order
        self.input_order = order.ravel()
        producer = None
        for step in tensor.pending:
            producer = step.reordered(self.input_order).apply(self, producer, shape)
        return producer, Layout.identity(order.shape).order


def _checked(layer: Layer) -> Layer:
    for name, values in layer.parameters.items():
        if not np.isfinite(values).all():
            raise InputError(f"layer '{layer.name}' has {name} that are not finite (NaN or infinity)")
    return layer
