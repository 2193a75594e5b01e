"""The layers found so far, and the ways in which an operator can read an activation."""

from dataclasses import replace

import numpy as np

from tinysplit.common.errors import InputError
from tinysplit.network.layers import Layer, Pad, Pads, Permute, Shape
from tinysplit.network.layers.permute import is_walkable
from tinysplit.onnx_import.layout import IndexArray, Layout
from tinysplit.onnx_import.node import Node, Tensor
from tinysplit.onnx_import.pointwise import Affine, Clamp

MAP_RANK = 4  # batch, channels, height, width


class Chain:
    """Builds the layers of a `Graph` in topological order."""

    def __init__(self, input_name: str) -> None:
        self.input_name = input_name
        self.input_order: IndexArray | None = None  # None until a layer has said how it wants the input
        self.layers: list[Layer] = []
        self.pads: dict[str, Tensor] = {}  # by the name of the padded value
        self.moves: dict[tuple[str, tuple[int, ...]], Layer] = {}  # by value and the order that it was brought into
        self.applied: dict[Affine | Clamp, Layer] = {}  # what waited for the input's order, and has been added

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

    def apply(self, step: Affine | Clamp, producer: Layer | None, shape: Shape) -> Layer:
        """Fold `step` into `producer`, or append a layer that computes it on an activation of `shape`."""
        fused = step.fused(producer, shape) if producer else None
        if producer and fused:
            return self.replace(producer, fused)
        return self.append(step.layer(self.source(producer), shape))

    def as_map(self, node: Node) -> tuple[Layer | None, Shape, Pads]:
        """Return who computes the node's activation, its height x width x channels, and the Pad in front of the node.

        Where the elements are not stored in that order, a layer is added that moves them.
        """
        found = node.tensor.layout.unpadded_map()
        if found is None:
            raise node.error(
                f"reads {node.tensor.layout}: a map of batch x channels x height x width (or x width) is needed"
            )
        order, pads = found
        shape = Shape(*order.shape)
        producer, order = self._settle(node.tensor, order, order, shape)
        if not np.array_equal(order.ravel(), np.arange(shape.size)):
            producer = self.moved(node, node.tensor, producer, order.ravel(), shape)
        return producer, shape, pads

    def moved(self, node: Node, tensor: Tensor, producer: Layer | None, order: IndexArray, shape: Shape) -> Layer:
        """Return the layer that brings what `producer` stores into `order`, as `shape`; it serves all who want that.

        Raises InputError when no nested loops walk this order, or nothing is known about the values in it.
        """
        name = node.name_of(tensor)
        key = (self.source(producer), tuple(order.tolist()))
        if key in self.moves:
            return self.moves[key]
        if tensor.layout.is_padded or name in (self.input_name, self.source(producer)):
            raise node.error(f"reads '{name}' in another order than it is stored, which cannot be changed here")
        if not is_walkable(order):
            raise node.error(f"reads '{name}' in an order that no nested loops walk: not supported")
        inputs, in_shape = (self.source(producer),), producer.out_shape if producer else Shape(1, 1, order.size)
        layer = Permute(
            name=f"{name} moved", inputs=inputs, output=name, in_shape=in_shape, new_shape=shape, order=order
        )
        self.moves[key] = self.append(layer)
        return layer

    def padded(self, node: Node, tensor: Tensor) -> Tensor:
        """Return a padded activation as a layer that pads computes it, for what has no window to take the Pad."""
        name = node.name_of(tensor)
        if name not in self.pads:
            if tensor.layout.unpadded_map() is None:
                raise node.error(f"reads '{name}', padded elsewhere than around a map: not supported")
            producer, shape, pads = self.as_map(replace(node, operands=(tensor,), names=(name,)))
            value, inputs = tensor.layout.pad_value, (self.source(producer),)
            layer = Pad(name=f"{name} padded", inputs=inputs, output=name, in_shape=shape, pads=pads, value=value)
            self.pads[name] = Tensor(Layout.of_map(layer.out_shape, len(tensor.layout.shape) - 2), self.append(layer))
        return self.pads[name]

    def as_stored(self, tensor: Tensor) -> tuple[Layer | None, Shape, IndexArray]:
        """Return who computes `tensor`, its shape as stored, and the order in which ONNX reads it."""
        order, shape = tensor.layout.order, Shape(1, 1, tensor.layout.order.size)
        wanted = order
        found = tensor.layout.unpadded_map() if order.ndim == MAP_RANK else None
        if found:  # whoever reads the network's input after this one may want a map
            wanted, shape = found[0], Shape(*found[0].shape)
        producer, order = self._settle(tensor, order, wanted, shape)
        return producer, producer.out_shape if producer else shape, order

    def _settle(
        self, tensor: Tensor, order: IndexArray, wanted: IndexArray, shape: Shape
    ) -> tuple[Layer | None, IndexArray]:
        """Return who computes `tensor`, and `order` (of what ONNX sees) as the one of what is stored.

        Where the network's input is read for the first time, it is stored as `shape` in the order `wanted`. The layers
        that waited for that are added.
        """
        if tensor.producer is not None:
            return tensor.producer, order
        if self.input_order is None:
            self.input_order = wanted.ravel()
        producer = None
        for step in tensor.pending:
            if step not in self.applied:
                self.applied[step] = self.apply(step.reordered(self.input_order), producer, shape)
            producer = self.applied[step]
        return producer, np.argsort(self.input_order)[order]


def _checked(layer: Layer) -> Layer:
    for name, values in layer.parameters.items():
        if not np.isfinite(values).all():
            raise InputError(f"layer '{layer.name}' has {name} that are not finite (NaN or infinity)")
    return layer
