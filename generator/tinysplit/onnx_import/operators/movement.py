# ruff: noqa: ARG001 - all operators have one signature, and these add no layer
"""Operators that only move data: they change the layout and add no layer."""

from dataclasses import replace
from math import prod

import numpy as np
from onnx import TensorProto

from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import IndexArray
from tinysplit.onnx_import.node import Constant, Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import TakenPad, operator
from tinysplit.onnx_import.size_limits import check_value_size

OTHER_TYPE = Refusal("makes {} of an activation: only floats are supported")
TRAINING = Refusal("drops values at random, for training: export the network for inference")
PAD_MODE = Refusal("pads in mode '{}', which ONNX does not know")
SECOND_PAD = Refusal("follows a Pad with another constant: not supported")
NOTHING = Refusal("takes no element of {}: not supported")
SEVERAL_SAMPLES = Refusal("cannot reshape {} to {}: batches other than 1 are not supported")


@operator("Identity", taken_pad=TakenPad.ANY)
def unchanged(node: Node, builder: GraphBuilder) -> Tensor:
    """Leave the values as they are."""
    return node.tensor


@operator(
    "Cast",
    attributes=("to",),
    ignored=("round_mode", "saturate"),
    refusals=(OTHER_TYPE,),
    taken_pad=TakenPad.ANY,
)
def cast(node: Node, builder: GraphBuilder) -> Tensor:
    """Leave the values as they are: all floats are computed as the others.

    Raises InputError for other types.
    """
    to = node.attributes["to"]
    if to != TensorProto.FLOAT:
        raise node.error(OTHER_TYPE, TensorProto.DataType.Name(to))
    return node.tensor


@operator("Dropout", ignored=("ratio", "seed"), refusals=(TRAINING,), taken_pad=TakenPad.ANY)
def dropout(node: Node, builder: GraphBuilder) -> Tensor:
    """Leave the values as they are, outside of training.

    Raises InputError in training mode.
    """
    ratio, training = node.optional(1), node.optional(2)
    if training is not None and training.any() and (ratio is None or ratio.any()):
        raise node.error(TRAINING)
    return node.tensor


@operator("Shape", attributes=("end", "start"), taken_pad=TakenPad.ANY)
def shape_of(node: Node, builder: GraphBuilder) -> Constant:
    """Give the shape, which is known, and so a constant."""
    shape = node.tensor.layout.shape[node.attributes.get("start", 0) : node.attributes.get("end")]
    return np.array(shape, dtype=np.int64)


@operator("Transpose", attributes=("perm",), taken_pad=TakenPad.ANY)
def transpose(node: Node, builder: GraphBuilder) -> Tensor:
    """Permute the axes; without `perm` the axes are reversed."""
    permutation = node.attributes.get("perm", range(node.rank)[::-1])
    return node.moved(node.tensor.layout.transpose(permutation))


@operator("Reshape", attributes=("allowzero",), refusals=(SEVERAL_SAMPLES,), taken_pad=TakenPad.ANY)
def reshape(node: Node, builder: GraphBuilder) -> Tensor:
    """Reshape to constant sizes; 0 keeps a size (unless `allowzero`) and -1 is the remaining size.

    Raises InputError for sizes that do not match or a batch other than 1.
    """
    wanted = node.constant(1).tolist()
    old = node.tensor.layout
    if not node.attributes.get("allowzero", 0):
        wanted = [old.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    try:
        return node.moved(old.reshape(wanted))
    except ValueError:
        raise node.error(SEVERAL_SAMPLES, old, "x".join(map(str, wanted))) from None


@operator("Flatten", attributes=("axis",), taken_pad=TakenPad.ANY)
def flatten(node: Node, builder: GraphBuilder) -> Tensor:
    """Flatten to two dimensions."""
    layout = node.tensor.layout
    axis = node.attributes.get("axis", 1)
    return node.moved(layout.reshape((prod(layout.shape[:axis]), -1)))


@operator("Squeeze", attributes=("axes",), taken_pad=TakenPad.ANY)
def squeeze(node: Node, builder: GraphBuilder) -> Tensor:
    """Squeeze the given axes, or all of size 1."""
    layout = node.tensor.layout
    return node.moved(layout.reshape(layout.order.squeeze(node.axes()).shape))


@operator("Unsqueeze", attributes=("axes",), taken_pad=TakenPad.ANY)
def unsqueeze(node: Node, builder: GraphBuilder) -> Tensor:
    """Insert axes of size 1."""
    layout = node.tensor.layout
    return node.moved(layout.reshape(np.expand_dims(layout.order, node.axes() or ()).shape))


@operator("Slice", refusals=(NOTHING,), taken_pad=TakenPad.ANY)
def slice_of(node: Node, builder: GraphBuilder) -> Tensor:
    """Take a range of constant ends and steps along each axis.

    Raises InputError for a range without elements.
    """
    starts, ends = (node.constant(index).tolist() for index in (1, 2))
    axes, steps = (None if given is None else given.tolist() for given in (node.optional(3), node.optional(4)))
    ranges = [slice(None)] * node.rank
    for axis, start, end, step in zip(axes or range(node.rank), starts, ends, steps or [1] * len(starts), strict=False):
        ranges[axis] = slice(start, end, step)
    return _part(node, node.tensor.layout.order[tuple(ranges)])


@operator("Split", attributes=("axis", "num_outputs", "split"), refusals=(NOTHING,), taken_pad=TakenPad.ANY)
def split(node: Node, builder: GraphBuilder) -> tuple[Tensor, ...]:
    """Divide an axis, equally or in parts of constant sizes."""
    order, axis = node.tensor.layout.order, node.attributes.get("axis", 0)
    operand = node.optional(1)
    sizes = node.attributes.get("split") if operand is None else operand.tolist()
    if not sizes:
        n_parts = node.attributes.get("num_outputs", len(node.outputs))
        sizes = [-(-order.shape[axis] // n_parts)] * (n_parts - 1)
        ends = np.cumsum(sizes)
    else:
        ends = np.cumsum(sizes)[:-1]
    return tuple(replace(_part(node, part), is_shared=True) for part in np.split(order, ends, axis))


@operator("Gather", attributes=("axis",), refusals=(NOTHING,), taken_pad=TakenPad.ANY)
def gather(node: Node, builder: GraphBuilder) -> Tensor:
    """Take elements by constant indices along an axis."""
    order, indices, axis = node.tensor.layout.order, node.constant(1), node.attributes.get("axis", 0)
    check_value_size([order.size // order.shape[axis], indices.size])
    return _part(node, order.take(indices, axis))


@operator("Expand", taken_pad=TakenPad.ANY)
def expand(node: Node, builder: GraphBuilder) -> Tensor:
    """Repeat along axes of size 1, up to constant sizes."""
    order = node.tensor.layout.order
    shape = np.broadcast_shapes(order.shape, tuple(node.constant(1).tolist()))
    check_value_size(shape)
    return _part(node, np.broadcast_to(order, shape))


@operator("DepthToSpace", attributes=("blocksize", "mode"), taken_pad=TakenPad.ANY)
def depth_to_space(node: Node, builder: GraphBuilder) -> Tensor:
    """Move channels to blocks of rows and columns."""
    _, channels, height, width = node.tensor.layout.shape
    size = node.attributes["blocksize"]
    rest = channels // size**2
    if node.attributes.get("mode", b"DCR") == b"DCR":
        blocks = node.tensor.layout.reshape((1, size, size, rest, height, width)).transpose((0, 3, 4, 1, 5, 2))
    else:
        blocks = node.tensor.layout.reshape((1, rest, size, size, height, width)).transpose((0, 1, 4, 2, 5, 3))
    return node.moved(blocks.reshape((1, rest, height * size, width * size)))


@operator("SpaceToDepth", attributes=("blocksize", "mode"), taken_pad=TakenPad.ANY)
def space_to_depth(node: Node, builder: GraphBuilder) -> Tensor:
    """Move blocks of rows and columns to channels."""
    _, channels, height, width = node.tensor.layout.shape
    size = node.attributes["blocksize"]
    blocks = node.tensor.layout.reshape((1, channels, height // size, size, width // size, size))
    order = (0, 3, 5, 1, 2, 4) if node.attributes.get("mode", b"DCR") == b"DCR" else (0, 1, 3, 5, 2, 4)
    return node.moved(blocks.transpose(order).reshape((1, channels * size**2, height // size, width // size)))


def _part(node: Node, order: IndexArray) -> Tensor:
    """Return the elements of the node's activation that have these indices."""
    if not order.size:
        raise node.error(NOTHING, node.tensor.layout)
    return node.moved(replace(node.tensor.layout, order=order))


@operator(
    "Pad",
    attributes=("mode",),
    refusals=(PAD_MODE, NOTHING, SECOND_PAD),
    taken_pad=TakenPad.ANY,
    takes_infinity=True,
)
def pad(node: Node, builder: GraphBuilder) -> Tensor:
    """Pad with a constant, which the window of the next operator may absorb, or with copies; negative pads cut.

    Raises InputError for other modes, and for a Pad with one constant after a Pad with another one.
    """
    mode = node.attributes.get("mode", b"constant").decode()
    widths, axes, value = node.constant(1).tolist(), node.optional(3), node.optional(2)
    constant = 0.0 if value is None else float(value.item())
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise node.error(PAD_MODE, mode)
    padded = range(node.rank) if axes is None else axes.tolist()
    both = [(0, 0)] * node.rank
    for axis, before, after in zip(padded, widths, widths[len(padded) :], strict=False):
        both[axis] = (before, after)
    layout = node.tensor.layout
    kept = [
        slice(max(-before, 0), size - max(-after, 0)) for (before, after), size in zip(both, layout.shape, strict=True)
    ]
    tensor = _part(node, layout.order[tuple(kept)])
    added = [(max(before, 0), max(after, 0)) for before, after in both]
    if not np.any(added):
        return tensor
    if mode != "constant":
        return node.moved(tensor.layout.pad(added, layout.pad_value, mode))
    if layout.is_padded and constant != layout.pad_value:
        raise node.error(SECOND_PAD)
    return replace(node.moved(tensor.layout.pad(added, constant)), padded=node.output)
