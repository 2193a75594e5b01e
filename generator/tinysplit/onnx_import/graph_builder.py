"""Builds the layers of a graph, and brings activations into the memory order that an operator needs."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.errors import InputError
from tinysplit.common.input_files.limits import NETWORK_ELEMENTS
from tinysplit.network.layers import Layer, Pad, Pads, Permute, Shape
from tinysplit.network.layers.permute import has_loops
from tinysplit.onnx_import.constant_budget import ConstantBudget
from tinysplit.onnx_import.layout import PADDING, IndexArray, Layout
from tinysplit.onnx_import.node import InputSource, Node, Producer, Refusal, Tensor
from tinysplit.onnx_import.parts import Part
from tinysplit.onnx_import.pieces import Pieces
from tinysplit.onnx_import.pointwise import Step, merged
from tinysplit.onnx_import.qdq import QdqFormats
from tinysplit.onnx_import.size_limits import check_value_size

MAP_RANK = 4  # batch, channels, height, width
NO_MAP = Refusal("reads {}: a map of batch x channels x height x width (or x width) is needed")
OTHER_PADDING = Refusal("reads '{}', padded elsewhere than around a map: not supported")


class GraphBuilder:
    """Builds the layers of a `Graph` in topological order."""

    def __init__(
        self,
        inputs: Sequence[InputSource],
        names: Iterable[str],
        readers: Mapping[str, int],
        in_parts: Collection[str],
        qdq: QdqFormats,
        budget: ConstantBudget,
        pieces: Mapping[str, Pieces],
    ) -> None:
        self.readers = readers  # how many nodes read a value
        self.in_parts = in_parts  # values of which nobody reads the whole
        self.inputs = inputs
        self.names = set(names)  # of all values and nodes, and of layers that are added between
        self.qdq = qdq
        self.layers: list[Layer] = []
        self.elements = 0  # of the outputs of the layers and of values in other layouts
        self.constants = budget
        self.pieces = pieces  # normalizations, by the value that the last of their nodes computes
        self.pads: dict[str, Tensor] = {}  # by the name of the padded value
        self.moves: dict[tuple[str, bytes], Layer] = {}  # by value and memory order
        self.applied: dict[tuple[str, Step], Layer] = {}  # by value, and step on it that waited for a reader
        self.parts: dict[tuple[str, bytes], Tensor] = {}  # by name and elements; a layer computes nothing else

    def source(self, producer: Producer) -> str:
        """Return the name of the ONNX value that `producer` computes."""
        return producer.output

    def append(self, layer: Layer) -> Layer:
        """Add `layer` and return it.

        Raises InputError if a parameter is not finite, or the network computes more than the limit.
        """
        self.count(layer.out_shape.size, layer.name)
        scales = self.qdq.weight_scales.get(layer.name, layer.qdq_scales)
        self.layers.append(_checked(replace(layer, qdq_scales=scales)))
        return self.layers[-1]

    def count(self, n_elements: int, name: str) -> None:
        """Count the elements of a value. Raises InputError if the network computes more than the limit."""
        self.elements += n_elements
        if self.elements > NETWORK_ELEMENTS:
            raise InputError(
                f"the network computes more than {NETWORK_ELEMENTS} elements, the limit, up to '{name}': "
                "give a smaller network"
            )

    def replace(self, layer: Layer, fused: Layer) -> Layer:
        """Replace `layer` by `fused` and return it. Raises InputError if a parameter is not finite."""
        self.layers = [_checked(fused) if other is layer else other for other in self.layers]
        return fused

    def apply(self, step: Step, tensor: Tensor) -> Tensor:
        """Fold `step` into the layer that computes `tensor`, or let it wait for a reader of its result."""
        tensor = self.stored(tensor)
        fused = None if tensor.pending else self._fused(step, tensor.producer)
        if fused:
            return replace(tensor, producer=fused, is_shared=False)
        return replace(tensor, pending=(*tensor.pending, step), is_shared=False)

    def _fused(self, step: Step, producer: Producer) -> Layer | None:
        """Fold `step` into `producer`; None where it cannot take it.

        What a pair between them saturates stays so: a clamp has its bounds, too, and nothing else is folded.
        """
        if isinstance(producer, InputSource):
            return None
        fused = step.fused(self.qdq.saturated(producer), producer.out_shape)
        return fused and self.replace(producer, fused)

    def as_map(self, node: Node) -> tuple[Producer, Shape, Pads]:
        """Return the producer of the node's activation, its height x width x channels, and the Pad before the node.

        Where the elements have another memory order, a layer that reorders them is added.

        Raises InputError if the activation is not a map.
        """
        tensor = self.computed_part(node.tensor) or node.tensor
        unpadded = tensor.layout.unpadded_map()
        if unpadded is None:
            raise node.error(NO_MAP, tensor.layout)
        order, pads = unpadded
        shape = Shape(*order.shape)
        producer, order = self._resolve_order(tensor, order, order, shape)
        if not np.array_equal(order.ravel(), np.arange(self._size(producer))):
            producer = self.moved(tensor, producer, order.ravel(), shape)
        return producer, shape, pads

    def _size(self, producer: Producer) -> int:
        """Return the elements of what `producer` computes."""
        return producer.out_shape.size if isinstance(producer, Layer) else producer.layout.order.size

    def is_whole(self, tensor: Tensor) -> bool:
        """Return whether a tensor has each element of what its producer computes, and each once; a Pad adds some."""
        found = np.sort(tensor.layout.order[tensor.layout.order != PADDING])
        return np.array_equal(found, np.arange(self._size(tensor.producer)))

    def moved(self, tensor: Tensor, producer: Producer, order: IndexArray, shape: Shape) -> Layer:
        """Return the layer that copies the output of `producer` in `order`, with `shape`; its readers share it.

        A permutation that no nested loops produce takes two layers, with the order of ONNX between them, if they do.
        """
        key = (self.source(producer), order.tobytes())
        if key in self.moves:
            return self.moves[key]
        name = tensor.name
        inputs = (self.source(producer),)
        in_shape = producer.out_shape if isinstance(producer, Layer) else Shape(1, 1, self._size(producer))
        if not has_loops(order) and order.size == in_shape.size:
            between = self._onnx_order(producer)
            rest = np.argsort(between)[order]
            if has_loops(between) and has_loops(rest):
                first = self.moved(tensor, producer, between, Shape(1, 1, order.size))
                inputs = (first.output,)
                in_shape = first.out_shape
                order = rest
        added = self.unused(f"{name} moved")
        output, moves = self._named(added, self.onnx_value(producer) if tensor.padded else name)
        if np.unique(order).size < order.size:  # the ONNX value may have each element once
            output, moves = added, moves or output
        layer = Permute(
            name=added,
            inputs=inputs,
            output=output,
            moves=moves,
            in_shape=in_shape,
            new_shape=shape,
            order=order,
        )
        self.moves[key] = self.append(layer)
        return layer

    def unused(self, name: str) -> str:
        """Return a name that no value, node or layer has: this one, or one with a number behind it."""
        numbered = (f"{name} {number}" for number in count(2))
        unused = next(each for each in chain((name,), numbered) if each not in self.names)
        self.names.add(unused)
        return unused

    def _named(self, added: str, value: str) -> tuple[str, str | None]:
        """Return `output` and `moves` of an added layer with the numbers of an ONNX value, which another may have."""
        is_stored = value in {*(each.output for each in self.inputs), *(layer.output for layer in self.layers)}
        return (added, value) if is_stored else (value, None)

    def onnx_value(self, producer: Producer) -> str:
        """Return the name of the ONNX value with the numbers of what `producer` computes, in some layout."""
        return producer.onnx_value if isinstance(producer, Layer) else producer.output

    def _natural_order(self, producer: Producer) -> tuple[IndexArray, Shape]:
        """Return order and shape of an input of the network, as a map or else as ONNX has it, or of a layer's map."""
        layout = Layout.of_map(producer.out_shape, 2) if isinstance(producer, Layer) else producer.layout
        unpadded = layout.unpadded_map()
        order = unpadded[0] if unpadded else layout.order
        return order, Shape(*order.shape) if unpadded else Shape(1, 1, order.size)

    def _onnx_order(self, producer: Producer) -> IndexArray:
        """Return the order in which ONNX has the elements of a stored value: that of the input, or of a map."""
        if isinstance(producer, InputSource):
            return np.argsort(np.asarray(producer.order))
        return Layout.of_map(producer.out_shape, 2).order.ravel()

    def padded(self, node: Node, tensor: Tensor) -> Tensor:
        """Return a padded activation as the output of a padding layer, for readers that cannot absorb the Pad.

        Raises InputError if the activation is no map.
        """
        name, layout = tensor.name, tensor.layout
        if layout.order.ndim == 1:  # without a batch
            raise node.error(OTHER_PADDING, name)
        if name not in self.pads:
            real = np.flatnonzero((layout.order != PADDING).any(axis=(0, *range(2, layout.order.ndim))))
            begin, end = int(real[0]), int(real[-1]) + 1
            inner = replace(tensor, layout=replace(layout, order=layout.order[:, begin:end]))
            if inner.layout.unpadded_map() is None:
                raise node.error(OTHER_PADDING, name)
            producer, shape, pads = self.as_map(replace(node, operands=(inner,), names=(name,)))
            added = self.unused(f"{name} padded")
            output, moves = self._named(added, tensor.padded or name)
            layer = Pad(
                name=added,
                inputs=(self.source(producer),),
                output=output,
                moves=moves,
                in_shape=shape,
                pads=pads,
                channels=(begin, layout.shape[1] - end),
                value=layout.pad_value,
            )
            padded = Layout.of_map(layer.out_shape, layout.order.ndim - 2)
            self.pads[name] = Tensor(padded, self.append(layer), name)
        return self.pads[name]

    def zeros_around(self, node: Node, producer: Producer, shape: Shape, pads: Pads) -> Layer:
        """Return a layer that pads the map that `producer` computes, of `shape`, with zeros."""
        name = self.unused(f"{node.name} padded")
        layer = Pad(
            name=name,
            inputs=(self.source(producer),),
            output=name,
            moves=self.onnx_value(producer),
            in_shape=shape,
            pads=pads,
            value=0.0,
        )
        return self.append(layer)

    def copies(self, node: Node, rows: IndexArray, columns: IndexArray) -> Layer:
        """Return a layer that copies these rows and columns of the node's map, some of them several times."""
        producer, shape, _ = self.as_map(node)
        check_value_size((rows.size, columns.size, shape.channels))
        order = np.arange(shape.size).reshape(shape)[rows][:, columns]
        name = self.unused(f"{node.name} copied")
        layer = Permute(
            name=name,
            inputs=(self.source(producer),),
            output=name,
            moves=self.onnx_value(producer),
            in_shape=shape,
            new_shape=Shape(*order.shape),
            order=order.ravel(),
        )
        return self.append(layer)

    def as_stored(self, tensor: Tensor) -> tuple[Producer, Shape, IndexArray]:
        """Return the producer of `tensor`, its shape in memory, and the order in which ONNX reads it."""
        tensor = self.stored(tensor)
        order = tensor.layout.order
        shape = Shape(1, 1, order.size)
        wanted = order
        unpadded = tensor.layout.unpadded_map() if order.ndim == MAP_RANK else None
        if unpadded:  # later readers of the network's input may need a map
            wanted, shape = unpadded[0], Shape(*unpadded[0].shape)
        producer, order = self._resolve_order(tensor, order, wanted, shape)
        return producer, producer.out_shape if isinstance(producer, Layer) else shape, order

    def stored(self, tensor: Tensor) -> Tensor:
        """Return `tensor`; a part of what its producer computes, or a repetition, as the output of a layer."""
        if self.is_whole(tensor):
            return tensor
        return self.computed_part(tensor) or self._copied(tensor)

    def computed_part(self, tensor: Tensor) -> Tensor | None:
        """Return a part as the output of a layer that computes nothing else; None if there is none.

        None either for a part of a whole that others read, or that has a format of a QDQ network.
        """
        producer, order = tensor.producer, tensor.layout.order
        if (
            isinstance(producer, InputSource)
            or tensor.pending
            or producer.output not in self.in_parts
            or self.is_whole(tensor)
        ):
            return None
        elements = np.unique(order)
        layout = replace(tensor.layout, order=np.searchsorted(elements, order))
        key = (tensor.name, elements.tobytes())
        if key in self.parts:
            return replace(self.parts[key], layout=layout)
        part = Part.of(elements, producer.out_shape) if elements.size == order.size else None
        computed = part.computed(producer) if part else None
        if computed is None or producer.output in self.qdq.values:
            return None
        name = self.unused(f"{producer.name} part")
        output, moves = self._named(name, tensor.name)
        layer = self.append(replace(computed, name=name, output=output, moves=moves))
        is_shared = self.readers[tensor.name] > 1
        self.parts[key] = Tensor(layout, layer, tensor.name, is_shared=is_shared)
        return self.parts[key]

    def _copied(self, tensor: Tensor) -> Tensor:
        """Return a part or repetition as the output of a layer that copies it.

        It is stored as a map or as ONNX has it: in the order in memory if one of them is, so that it may be in place.
        """
        natural = self._natural_order(tensor.producer)
        producer, order = self._resolve_order(tensor, tensor.layout.order, *natural)
        unpadded = Layout(order).unpadded_map()
        as_map = [Shape(*unpadded[0].shape)] if unpadded else []
        stored = [(shape, Layout.of_map(shape, order.ndim - 2)) for shape in as_map]
        source = producer.out_shape if isinstance(producer, Layer) else natural[1]
        part = Part.of(np.unique(order), source)
        shape = part.shape if part and part.shape.size == order.size else Shape(1, 1, order.size)
        stored.append((shape, Layout.identity(order.shape)))
        copies = []
        for shape, layout in stored:
            elements = np.empty(order.size, np.int64)
            elements[layout.order] = order
            copies.append((shape, layout, elements))
        shape, layout, elements = next((copy for copy in copies if (np.diff(copy[2]) > 0).all()), copies[0])
        return Tensor(layout, self.moved(tensor, producer, elements, shape), tensor.name, is_shared=True)

    def filled(self, tensor: Tensor, values: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return `values`, one for all or those of the elements of `tensor` in ONNX's order, in the order in memory."""
        filled = np.full(self._size(tensor.producer), np.ravel(values)[0])
        if np.size(values) > 1:
            filled[tensor.layout.order] = values
        return filled

    def _resolve_order(
        self, tensor: Tensor, order: IndexArray, wanted: IndexArray, shape: Shape
    ) -> tuple[Producer, IndexArray]:
        """Return the producer of `tensor`, and `order` (of the ONNX value) as that of the value in memory.

        The first reader of an input of the network determines its shape `shape` and memory order `wanted`. Steps that
        waited for a reader become layers.
        """
        producer, in_memory = tensor.producer, None
        if isinstance(producer, Layer):
            shape = producer.out_shape
        else:
            if producer.order is None:
                first, producer.shape = (wanted, shape) if self.is_whole(tensor) else self._natural_order(producer)
                producer.order = first.ravel()
            in_memory = producer.order
        for step, last in merged(tensor.pending, self.qdq.values):
            key = self.source(producer), last
            if key not in self.applied:
                ordered = step if in_memory is None else step.reordered(in_memory)
                self.applied[key] = self._fused(ordered, producer) or self.append(ordered.layer(key[0], shape))
            producer = self.applied[key]
        return producer, order if in_memory is None else np.argsort(in_memory)[order]


def _checked(layer: Layer) -> Layer:
    for name, values in layer.parameters.items():
        if not np.isfinite(values).all():
            raise InputError(f"layer '{layer.name}' has {name} that are not finite (NaN or infinity)")
    return layer
