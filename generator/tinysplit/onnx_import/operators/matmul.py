"""MatMul of two activations, as in attention: its operands stay as they are in memory where a layer can read them."""

from dataclasses import replace
from math import prod

import numpy as np

from tinysplit.network.layers import MatMul, Shape
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Tensor
from tinysplit.onnx_import.pointwise import Affine

MATRIX_RANK = 2


def product_of_activations(node: Node, builder: GraphBuilder) -> Tensor:
    """Multiply the matrices of two activations; a vector is a matrix of one row or column."""
    first, second = (_matrices(tensor, axis) for axis, tensor in enumerate(node.tensors))
    (rows, terms), columns = first.shape[-2:], second.shape[-1]
    batch = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    heads = 1 if prod(second.shape[:-2]) == 1 else prod(batch)
    if heads == 1:  # one matrix for all rows
        first, second = first.reshape((1, -1, terms)), second.reshape((1, terms, columns))
    else:
        first, second = (
            Layout(np.broadcast_to(each.order, (*batch, *each.shape[-2:]))).reshape((heads, *each.shape[-2:]))
            for each in (first, second)
        )
    (a, a_scale), (b, b_scale) = (_unscaled(builder, tensor) for tensor in node.tensors)
    a_name, a_shape = _mapped(node, builder, replace(a, layout=first.transpose((2, 1, 0))))
    by_terms = _as_it_is(builder, replace(b, layout=second.transpose((1, 0, 2))))
    b_name, b_shape = by_terms or _mapped(node, builder, replace(b, layout=second.transpose((1, 2, 0))))
    layer = MatMul(
        name=node.name,
        inputs=(a_name, b_name),
        output=node.output,
        in_shape=a_shape,
        other_shapes=(b_shape,),
        transposed=by_terms is None,
        scale=a_scale * b_scale,
    )
    shape = (*batch, rows, columns)
    vectors = [axis - MATRIX_RANK for axis, tensor in enumerate(node.tensors) if len(tensor.layout.shape) == 1]
    shape = tuple(size for axis, size in enumerate(shape, -len(shape)) if axis not in vectors)
    order = np.arange(layer.out_shape.size).reshape(layer.out_shape).transpose(1, 0, 2)
    return Tensor(Layout(order.reshape(shape)), producer=builder.append(layer))


def _matrices(tensor: Tensor, axis: int) -> Layout:
    """Return the layout of an operand with at least two axes: a vector lies along the first or second of them."""
    shape = tensor.layout.shape
    return tensor.layout if len(shape) > 1 else tensor.layout.reshape((1, *shape) if axis == 0 else (*shape, 1))


def _unscaled(builder: GraphBuilder, tensor: Tensor) -> tuple[Tensor, float]:
    """Return an operand without the scales of all its elements that waited for a reader, and their product."""
    scale = 1.0
    for step in tensor.pending:
        if not isinstance(step, Affine) or not step.is_scale or step.output in builder.qdq.values:
            return tensor, 1.0
        scale *= float(step.scale[0])
    return replace(tensor, pending=()), scale


def _mapped(node: Node, builder: GraphBuilder, tensor: Tensor) -> tuple[str, Shape]:
    """Return the name and shape of an operand of channels x rows x heads, which is moved where it lies otherwise."""
    layout = tensor.layout.reshape((1, *tensor.layout.shape))
    operand = replace(tensor, layout=layout)
    producer, shape, _ = builder.as_map(replace(node, operands=(operand,), names=(tensor.name,)))
    return builder.source(producer), shape


def _as_it_is(builder: GraphBuilder, tensor: Tensor) -> tuple[str, Shape] | None:
    """Return the name and shape of an operand of rows x heads x channels if it lies so, and as a whole."""
    whole = tensor if builder.is_whole(tensor) else builder.computed_part(tensor)
    if whole is None:
        return None
    producer, _, order = builder.as_stored(whole)
    is_so = np.array_equal(order.ravel(), np.arange(order.size))
    return (builder.source(producer), Shape(*order.shape)) if is_so else None
