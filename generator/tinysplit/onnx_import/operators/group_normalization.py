"""Normalization of groups of values by their own mean and deviation: layers, instances, groups, RMS and L2."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod, sqrt

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.typing import NDArray

from tinysplit.network.layers import Normalization, Shape
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import IndexArray, Layout
from tinysplit.onnx_import.node import Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import operator
from tinysplit.onnx_import.pieces import Pieces

FloatArray = NDArray[np.float64]

OTHER_NORM = Refusal("divides by the sum of absolute values: only p=2 is supported")
OTHER_SCALES = Refusal("has another scale or shift for each group: not supported")
OTHER_GROUPS = Refusal("has {} channels in {} groups of one size: not possible")


@operator(
    "LayerNormalization",
    attributes=("axis", "epsilon"),
    ignored=("stash_type",),
    layers=(Normalization,),
    refusals=(OTHER_SCALES,),
)
def layer_normalization(node: Node, builder: GraphBuilder) -> Tensor:
    """Normalize over the axes from `axis` on by mean and deviation, with scale and shift."""
    return _over_last_axes(node, builder, centers=True)


@operator(
    "RMSNormalization",
    attributes=("axis", "epsilon"),
    ignored=("stash_type",),
    layers=(Normalization,),
    refusals=(OTHER_SCALES,),
)
def rms_normalization(node: Node, builder: GraphBuilder) -> Tensor:
    """Divide by the root of the mean square over the axes from `axis` on, with a scale."""
    return _over_last_axes(node, builder, centers=False)


@operator("InstanceNormalization", attributes=("epsilon",), layers=(Normalization,))
def instance_normalization(node: Node, builder: GraphBuilder) -> Tensor:
    """Normalize each channel of a map by its mean and deviation, with scale and shift."""
    return _over_maps(node, builder, node.tensor.layout.shape[1])


@operator(
    "GroupNormalization",
    attributes=("epsilon", "num_groups"),
    ignored=("stash_type",),
    layers=(Normalization,),
    refusals=(OTHER_GROUPS,),
)
def group_normalization(node: Node, builder: GraphBuilder) -> Tensor:
    """Normalize groups of channels of a map by their mean and deviation, with scale and shift."""
    return _over_maps(node, builder, node.attributes["num_groups"])


@operator("LpNormalization", attributes=("axis", "p"), layers=(Normalization,), refusals=(OTHER_NORM,))
def lp_normalization(node: Node, builder: GraphBuilder) -> Tensor:
    """Divide by the root of the sum of squares over an axis."""
    if node.attributes.get("p", 2) != 2:  # noqa: PLR2004 - L2
        raise node.error(OTHER_NORM)
    return of_pieces(node, builder, Pieces(node.tensor.name, (node.attributes.get("axis", -1),), is_sum=True))


def of_pieces(node: Node, builder: GraphBuilder, pieces: Pieces) -> Tensor:
    """Normalize over axes without scale and shift."""
    numbers = _numbers(node, [normalize_axis_index(axis, node.rank) for axis in pieces.axes])
    elements = node.tensor.layout.order.size // (int(numbers.max()) + 1) if pieces.is_sum else 1
    layer = _fields(node, pieces.epsilon / elements, centers=pieces.centers)
    return _normalized(node, builder, numbers, np.array(1 / sqrt(elements)), np.zeros(1), layer)


def _over_last_axes(node: Node, builder: GraphBuilder, *, centers: bool) -> Tensor:
    first = normalize_axis_index(node.attributes.get("axis", -1), node.rank)
    scale = node.constant(1).astype(np.float64)
    shift = node.optional(2)
    shift = np.zeros(1) if shift is None else shift.astype(np.float64)
    if any(max(values.shape[: first - node.rank], default=1) > 1 for values in (scale, shift)):
        raise node.error(OTHER_SCALES)
    layer = _fields(node, node.attributes.get("epsilon", 1e-5), centers=centers)
    return _normalized(node, builder, _numbers(node, range(first, node.rank)), scale, shift, layer)


def _over_maps(node: Node, builder: GraphBuilder, groups: int) -> Tensor:
    channels = node.tensor.layout.shape[1]
    if groups < 1 or channels % groups:
        raise node.error(OTHER_GROUPS, channels, groups)
    by_channel = (-1, *[1] * (node.rank - 2))
    scale, shift = (node.constant(i).astype(np.float64) for i in (1, 2))
    numbers = np.arange(groups).repeat(channels // groups).reshape(by_channel)
    layer = _fields(node, node.attributes.get("epsilon", 1e-5), centers=True)
    return _normalized(node, builder, numbers, scale.reshape(by_channel), shift.reshape(by_channel), layer)


def _numbers(node: Node, axes: Sequence[int]) -> IndexArray:
    """Return the number of the group of each element, of groups over these axes; they have a size of 1."""
    kept = [1 if axis in axes else size for axis, size in enumerate(node.tensor.layout.shape)]
    return np.arange(prod(kept)).reshape(kept)


def _fields(node: Node, epsilon: float, *, centers: bool) -> dict[str, object]:
    return {"name": node.name, "output": node.output, "epsilon": float(epsilon), "centers": centers}


def _normalized(
    node: Node,
    builder: GraphBuilder,
    numbers: IndexArray,
    scale: FloatArray,
    shift: FloatArray,
    fields: dict[str, object],
) -> Tensor:
    """Add a `Normalization`, after a reordering where groups, scale or shift are not those of one in memory.

    `numbers` (of the groups), `scale` and `shift` broadcast to the shape of the activation.
    """
    producer, stored_shape, order = builder.as_stored(node.tensor)
    groups = _in_memory(order, numbers)
    for shape, count, over_map in _divisions(groups, stored_shape):
        gamma, beta = (_in_memory(order, values).reshape(-1, shape.channels) for values in (scale, shift))
        if (gamma == gamma[0]).all() and (beta == beta[0]).all():
            layer = Normalization(
                **fields,  # type: ignore[arg-type]
                inputs=(builder.source(producer),),
                in_shape=shape,
                gamma=gamma[0].astype(np.float32),
                beta=beta[0].astype(np.float32),
                groups=count,
                over_map=over_map,
            )
            return Tensor(Layout(order), producer=builder.append(layer))
    moved = replace(node, operands=(_by_groups(node, builder, numbers),))
    return _normalized(moved, builder, numbers, scale, shift, fields)


def _in_memory(order: IndexArray, values: NDArray[np.generic]) -> NDArray[np.generic]:
    """Return `values` (that broadcast to ONNX's shape) in the order in memory."""
    stored = np.empty(order.size, values.dtype)
    stored[order] = values
    return stored


def _divisions(groups: NDArray[np.generic], shape: Shape) -> Iterator[tuple[Shape, int, bool]]:
    """Yield shape, number of groups and `over_map` of layers that normalize these groups of values in memory."""
    elements = groups.size // (int(groups.max()) + 1)
    runs = groups.reshape(-1, elements)
    if (runs == runs[:, :1]).all():
        if shape.height == shape.width == 1 and len(runs) > 1:  # rows can be computed apart
            yield Shape(len(runs), 1, elements), 1, False
        if shape.channels % elements == 0:
            yield shape, shape.channels // elements, False
        if len(runs) == 1:
            yield shape, 1, True
        yield Shape(len(runs), 1, elements), 1, False
    pixels = groups.reshape(-1, shape.channels)
    if elements % len(pixels) == 0 and (pixels == pixels[0]).all():
        channels = pixels[0].reshape(-1, elements // len(pixels))
        if (channels == channels[:, :1]).all():
            yield shape, len(channels), True


def _by_groups(node: Node, builder: GraphBuilder, numbers: IndexArray) -> Tensor:
    """Return the activation stored group by group, or as a map where groups are those of its channels."""
    layout = node.tensor.layout
    if numbers.ndim < node.rank:  # of channels
        producer, shape, _ = builder.as_map(node)
        return replace(node.tensor, layout=Layout.of_map(shape, node.rank - 2), producer=producer, pending=())
    groups = np.broadcast_to(numbers, layout.shape).ravel()
    order = np.argsort(groups, kind="stable")
    count = int(groups.max()) + 1
    by_groups = Layout(layout.order.ravel()[order].reshape(1, count, -1)).transpose((0, 2, 1))
    producer, _, _ = builder.as_map(node.reading(by_groups))
    stored = np.argsort(order).reshape(layout.shape)
    return replace(node.tensor, layout=Layout(stored), producer=producer, pending=())
