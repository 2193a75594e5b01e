"""Operators that join branches: Add, Sub and Mul of activations that are no functions of one value, and Concat."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np

from tinysplit.network.layers import Add, Concat, Lookup, Mul, Shape
from tinysplit.network.layers.permute import has_loops
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import IndexArray, Layout
from tinysplit.onnx_import.node import Node, Producer, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import operator
from tinysplit.onnx_import.operators.functions import of_one_value
from tinysplit.onnx_import.size_limits import check_value_size

OTHER_SHAPES = Refusal("joins {}: the shapes do not match")
WITH_CONSTANTS = Refusal("joins activations and constants ({}): compute the constant part apart")
ELEMENTWISE_REFUSALS = (OTHER_SHAPES,)


@dataclass(frozen=True, eq=False)
class _Operand:
    """A value with its shape in memory, the order in which ONNX reads it, and its sign in a sum."""

    name: str
    shape: Shape
    order: IndexArray
    tensor: Tensor
    producer: Producer
    sign: int = 1


@operator("Sum", layers=(Add, Lookup), refusals=(*ELEMENTWISE_REFUSALS, WITH_CONSTANTS), joins=True)
def add(node: Node, builder: GraphBuilder) -> Tensor:
    """Add activations."""
    return of_one_value(node, builder, np.add) or _sum(node, builder, [1] * len(node.tensors))


def sub(node: Node, builder: GraphBuilder) -> Tensor:
    """Subtract the second activation from the first."""
    return of_one_value(node, builder, np.subtract) or _sum(node, builder, [1, -1])


def mul(node: Node, builder: GraphBuilder) -> Tensor:
    """Multiply two activations. Raises InputError for shapes that do not match."""
    function = of_one_value(node, builder, np.multiply)
    if function:
        return function
    operands = _aligned(node, builder, _operands(node, builder))
    return Tensor(Layout(operands[0].order), producer=builder.append(Mul(**_fields(node, operands))))


@operator("Concat", attributes=("axis",), layers=(Concat,), refusals=(WITH_CONSTANTS,), joins=True)
def concat(node: Node, builder: GraphBuilder) -> Tensor:
    """Concatenate activations: what each has of a pixel, of a row, or all of it, one after the other."""
    axis = node.attributes["axis"] % node.rank
    size = sum(tensor.layout.shape[axis] for tensor in node.tensors)
    check_value_size([size if k == axis else n for k, n in enumerate(node.tensor.layout.shape)])
    operands = _operands(node, builder)
    joined = next((own for own in _divided(operands, axis) if _is_in_order(_by_pixel(own, axis))), None)
    if joined is None:
        whole = [replace(operand, shape=Shape(1, 1, operand.order.size)) for operand in operands]
        has_order = has_loops(_by_pixel(whole, axis).ravel())
        joined = whole if has_order else _in_onnx_order(builder, operands, axis)
    return Tensor(Layout(_by_pixel(joined, axis)), producer=builder.append(Concat(**_fields(node, joined))))


def _divided(operands: list[_Operand], axis: int) -> Iterator[list[_Operand]]:
    """Yield the operands of a concatenation as they are, as rows, whole, and as ONNX has what is before its axis."""
    shapes = [operand.shape for operand in operands]
    if len({shape[:2] for shape in shapes}) == 1:
        yield operands
    rows = {shape.height for shape in shapes}
    for pixels in (*(rows if len(rows) == 1 else ()), 1, prod(operands[0].order.shape[:axis])):
        yield [replace(each, shape=Shape(1, pixels, each.order.size // pixels)) for each in operands]


def _in_onnx_order(builder: GraphBuilder, operands: list[_Operand], axis: int) -> list[_Operand]:
    """Return the operands of a concatenation stored as ONNX has them, each after a layer that moves it there."""
    pixels = prod(operands[0].order.shape[:axis])
    ordered = []
    for operand in operands:
        size = operand.order.size
        shape = Shape(1, pixels, size // pixels)
        name = operand.name
        if not np.array_equal(operand.order.ravel(), np.arange(size)):
            name = builder.moved(operand.tensor, operand.producer, operand.order.ravel(), shape).output
        ordered.append(replace(operand, name=name, shape=shape, order=np.arange(size).reshape(operand.order.shape)))
    return ordered


def _sum(node: Node, builder: GraphBuilder, signs: list[int]) -> Tensor:
    operands = [replace(op, sign=sign) for op, sign in zip(_operands(node, builder), signs, strict=True)]
    operands = _aligned(node, builder, operands)
    layer = Add(signs=tuple(operand.sign for operand in operands), **_fields(node, operands))
    return Tensor(Layout(operands[0].order), producer=builder.append(layer))


def _operands(node: Node, builder: GraphBuilder) -> list[_Operand]:
    if len(node.tensors) != len(node.operands):
        raise node.error(WITH_CONSTANTS, node.shapes)
    return [_operand(tensor, builder) for tensor in node.tensors]


def _operand(tensor: Tensor, builder: GraphBuilder) -> _Operand:
    producer, shape, order = builder.as_stored(tensor)
    return _Operand(builder.source(producer), shape, order, tensor, producer)


def _aligned(node: Node, builder: GraphBuilder, operands: list[_Operand]) -> list[_Operand]:
    """Return the operands, a largest one first, such that all others have its order, or one value per channel."""
    try:
        shape = np.broadcast_shapes(*(operand.order.shape for operand in operands))
    except ValueError:
        raise node.error(OTHER_SHAPES, node.shapes) from None
    whole = [operand for operand in operands if operand.order.size == np.prod(shape)]
    whole.sort(
        key=lambda operand: operand.name != operand.tensor.name
    )  # those in the memory order of their producer come first
    if not whole:
        repeated = replace(operands[0].tensor, layout=Layout(np.broadcast_to(operands[0].tensor.layout.order, shape)))
        operands = [_operand(repeated, builder), *operands[1:]]
        whole = operands[:1]
    first = replace(whole[0], order=whole[0].order.reshape(shape), shape=_most_rows(whole))
    first = _by_vectors(first, operands)
    others = [_as_first(builder, operand, first) for operand in operands if operand is not whole[0]]
    return [first, *others]


def _most_rows(whole: list[_Operand]) -> Shape:
    """Return that of the shapes of the first operand's values in memory that has most rows: they can be computed apart.

    The layer is elementwise, so that any division of its values is valid.
    """
    alike = (operand for operand in whole if np.array_equal(operand.order.ravel(), whole[0].order.ravel()))
    return max((operand.shape for operand in alike), key=lambda shape: shape.height)


def _by_vectors(first: _Operand, operands: list[_Operand]) -> _Operand:
    """Return the largest operand as pixels of as many channels as a smaller one has values, where its order is theirs.

    The layer is elementwise, so that any division into pixels is valid.
    """
    sizes = {operand.order.size for operand in operands} - {first.order.size}
    channels = sizes.pop() if len(sizes) == 1 else first.shape.channels
    if channels == first.shape.channels or first.order.size % channels:
        return first
    return replace(first, shape=Shape(1, first.order.size // channels, channels))


def _as_first(builder: GraphBuilder, operand: _Operand, first: _Operand) -> _Operand:
    """Return an operand in the shape that it has beside `first`: the same one, or a vector of its channels.

    What has another order, or has to be repeated along other axes, is copied.
    """
    order = np.broadcast_to(operand.order, first.order.shape)
    channels = first.shape.channels
    if operand.order.size == channels and np.array_equal(order, first.order % channels):
        return replace(operand, shape=Shape(1, 1, channels))
    if np.array_equal(order, first.order):
        return replace(operand, shape=first.shape)
    wanted = np.empty(order.size, np.int64)
    wanted[first.order.ravel()] = order.ravel()
    moved = builder.moved(operand.tensor, operand.producer, wanted, first.shape)
    return replace(operand, name=moved.output, shape=first.shape)


def _by_pixel(operands: list[_Operand], axis: int) -> IndexArray:
    """Return ONNX's order of the concatenation when every pixel has the channels of all operands, one after another."""
    counts = [operand.shape.channels for operand in operands]
    starts, total = accumulate(counts, initial=0), sum(counts)
    parts = [
        operand.order // count * total + start + operand.order % count
        for operand, count, start in zip(operands, counts, starts, strict=False)
    ]
    return np.concatenate(parts, axis)


def _is_in_order(order: IndexArray) -> bool:
    """Whether a value of this order is stored as ONNX has it, or as a map of height x width x channels."""
    unpadded = Layout(order).unpadded_map()
    stored = [order, *([unpadded[0]] if unpadded else [])]
    return any(np.array_equal(each.ravel(), np.arange(order.size)) for each in stored)


def _fields(node: Node, operands: list[_Operand]) -> dict[str, Any]:
    """Return the fields that all layers with several inputs have."""
    first, *others = operands
    return {
        "name": node.name,
        "inputs": tuple(operand.name for operand in operands),
        "output": node.output,
        "in_shape": first.shape,
        "other_shapes": tuple(operand.shape for operand in others),
    }
