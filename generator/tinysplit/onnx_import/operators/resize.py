"""Resize of height and width: the pixels along each axis are multiplied by a matrix, which has simpler forms.

Where it repeats or picks pixels, they are copied. Linear interpolation by a whole factor is a moving average of
repeated pixels: with k of each, the average of k neighbours has the weights r / k and 1 - r / k of two pixels for r = 0
to k - 1. With the first output at the first pixel (`asymmetric`, and `align_corners` where k steps lead to the next
pixel) it begins there, else k / 2 before it; for even k, that is the mean of two averages. What lies outside is copies
of the border.

Any other interpolation is a 1x1 convolution, the pixels along an axis being its channels; of two axes,
network/onnx_file/composed_operators.py has made two nodes.
"""

from collections.abc import Callable, Iterator, Sequence
from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import Conv, DepthwiseConv, Layer, Upsample
from tinysplit.network.layers.window import Window
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Refusal, Tensor
from tinysplit.onnx_import.operators.declaration import operator
from tinysplit.onnx_import.operators.window import MAP_RANKS
from tinysplit.onnx_import.size_limits import check_value_size

ROI, SCALES, SIZES = 1, 2, 3  # operands
FloatArray = NDArray[np.floating]
ROUNDINGS: dict[bytes, Callable[[FloatArray], FloatArray]] = {
    b"round_prefer_floor": lambda at: np.ceil(at - 0.5),
    b"round_prefer_ceil": lambda at: np.floor(at + 0.5),
    b"floor": np.floor,
    b"ceil": np.ceil,
}
SAME_POSITION = 1e-4  # in pixels
LARGEST_FACTOR = 64  # of interpolation

OTHER_AXES = Refusal("resizes {} by {}: only height and width of a map can change")
BOTH_AXES = Refusal(
    "interpolates in mode {} along two axes, which needs constant sizes or scales, without tf_crop_and_resize and "
    "keep_aspect_ratio_policy"
)
MODE = Refusal("interpolates in mode {}: supported are nearest, linear and cubic")
ANTIALIAS = Refusal("takes fewer pixels with antialias: supported is only without")
EXTRAPOLATION = Refusal("takes pixels outside the map with tf_crop_and_resize: not supported")
TRANSFORMATION = Refusal("has the coordinate_transformation_mode {}, which ONNX does not know")


@operator(
    "Resize",
    attributes=(
        "antialias",
        "axes",
        "coordinate_transformation_mode",
        "cubic_coeff_a",
        "exclude_outside",
        "keep_aspect_ratio_policy",
        "mode",
        "nearest_mode",
    ),
    ignored=("extrapolation_value",),
    layers=(Upsample, DepthwiseConv, Conv),
    refusals=(OTHER_AXES, BOTH_AXES, MODE, ANTIALIAS, EXTRAPOLATION, TRANSFORMATION),
)
def resize(node: Node, builder: GraphBuilder) -> Tensor:
    """Add an `Upsample` that repeats every pixel, copies of pixels, these and a `DepthwiseConv`, or a `Conv`.

    Raises InputError for other axes than height and width and for values that are no sums of pixels.
    """
    shape = node.tensor.layout.shape
    resized = tuple(_resized(node))
    factors = tuple(new / size for size, (new, _) in zip(shape, resized, strict=True))
    if node.rank not in MAP_RANKS or any(factor != 1 for factor in factors[:2]):
        raise node.error(OTHER_AXES, node.tensor.layout, factors)
    check_value_size([new for new, _ in resized])
    matrices = [_matrix(node, axis, *resized[axis]) for axis in range(2, node.rank)]
    if all(map(_repeats, matrices)):
        return _repeated(node, builder, matrices)
    if all(map(_picks, matrices)):
        rows, columns = ([np.zeros(1, np.int64)] + [each.argmax(axis=1) for each in matrices])[-2:]
        return Tensor(_layout(node, copied := builder.copies(node, rows, columns)), producer=copied)
    averages = [_average(matrix) for matrix in matrices] if _mode(node) == "linear" else []
    if averages and all(averages):
        return _interpolated(node, builder, [average for average in averages if average])
    return _multiplied(node, builder, matrices)


def _matrix(node: Node, axis: int, new: int, scale: float) -> FloatArray:
    """Return the weights of the pixels of an axis in each of `new` outputs: outputs x pixels."""
    size = node.tensor.layout.shape[axis]
    mode, transformation = _mode(node), _transformation(node)
    positions = _positions(node, axis, new, scale, transformation)
    if new < size and node.attributes.get("antialias", 0):
        raise node.error(ANTIALIAS)
    if transformation == "tf_crop_and_resize" and (positions.min() < 0 or positions.max() > size - 1):
        raise node.error(EXTRAPOLATION)
    if size == 1:
        return np.ones((new, 1))
    pixels = np.arange(size)
    if mode == "nearest":
        rounded = ROUNDINGS[node.attributes.get("nearest_mode", b"round_prefer_floor")](positions)
        matrix: FloatArray = (rounded.clip(0, size - 1)[:, np.newaxis] == pixels).astype(np.float64)
        return matrix
    if mode == "linear":
        distances = np.abs(positions.clip(0, size - 1)[:, np.newaxis] - pixels)
        return np.asarray(np.maximum(1 - distances, 0))
    if mode == "cubic":
        return _cubic(node, positions, size)
    raise node.error(MODE, mode)


def _cubic(node: Node, positions: FloatArray, size: int) -> FloatArray:
    """Return the weights of cubic convolution interpolation (Keys 1981), with a parameter of -0.75 unless given."""
    a = node.attributes.get("cubic_coeff_a", -0.75)
    matrix = np.zeros((positions.size, size))
    first = np.floor(positions).astype(np.int64) - 1
    for tap in range(4):
        distance = np.abs(positions - (first + tap))
        near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
        far = ((distance - 5) * distance + 8) * distance * a - 4 * a
        weights = np.where(distance <= 1, near, far)
        inside = (first + tap >= 0) & (first + tap < size)
        if node.attributes.get("exclude_outside", 0):
            weights = weights * inside
        np.add.at(matrix, (np.arange(positions.size), (first + tap).clip(0, size - 1)), weights)
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def _repeats(matrix: FloatArray) -> bool:
    """Return whether every pixel is repeated equally often, one after the other."""
    new, size = matrix.shape
    return new % size == 0 and np.array_equal(matrix, np.eye(size).repeat(new // size, axis=0))


def _picks(matrix: FloatArray) -> bool:
    """Return whether each output is a pixel."""
    return bool((matrix.max(axis=1) == 1).all() and ((matrix == 0) | (matrix == 1)).all())


def _repeated(node: Node, builder: GraphBuilder, matrices: Sequence[FloatArray]) -> Tensor:
    producer, in_shape, _ = builder.as_map(node)
    rows, columns = (1, *(new // size for new, size in (matrix.shape for matrix in matrices)))[-2:]
    layer = Upsample(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=in_shape,
        factors=(rows, columns),
    )
    return Tensor(_layout(node, layer), producer=builder.append(layer))


def _multiplied(node: Node, builder: GraphBuilder, matrices: Sequence[FloatArray]) -> Tensor:
    """Add a 1x1 convolution along the axis that changes: its pixels are channels, all other values are pixels."""
    changed = [axis for axis, matrix in enumerate(matrices, 2) if not np.array_equal(matrix, np.eye(matrix.shape[1]))]
    if len(changed) > 1:
        raise node.error(BOTH_AXES, _mode(node))
    (axis,) = changed
    new, size = matrices[axis - 2].shape
    layout = node.tensor.layout
    producer, in_shape, _ = builder.as_map(node.reading(layout.channels_of(axis)))
    layer = Conv(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=in_shape,
        weights=matrices[axis - 2].reshape(new, 1, 1, size).astype(np.float32),
        bias=np.zeros(new, np.float32),
        window=Window((1, 1)),
    )
    resized = [new if other == axis else old for other, old in enumerate(layout.shape)]
    back = Layout.of_map(layer.out_shape, 1).from_channels(resized, axis)
    return Tensor(back, producer=builder.append(layer))


def _layout(node: Node, layer: Layer) -> Layout:
    return Layout.of_map(layer.out_shape, node.rank - 2)


class _Average(NamedTuple):
    """The moving average of an axis: of the pixels `sources`, with `weights` in units of 1 / `divisor`."""

    sources: NDArray[np.int64]
    weights: tuple[int, ...]
    divisor: int


def _average(matrix: FloatArray) -> _Average | None:
    """Return the moving average that interpolates an axis linearly, None where there is none."""
    new, size = matrix.shape
    if new < size:
        return None
    positions = matrix @ np.arange(size)
    for average in _averages(size, new):
        sources, length = average.sources, len(average.weights)
        means = np.convolve(sources, average.weights, "valid") / average.divisor
        are_neighbours = (sources[length - 1 :] - sources[: sources.size - length + 1]).max() <= 1
        if are_neighbours and np.allclose(means, positions, rtol=0, atol=SAME_POSITION):
            return average
    return None


def _averages(size: int, new: int) -> Iterator[_Average]:
    """Yield repetition, and the averages that begin at the first pixel and around it, of `size` pixels to `new`."""
    yield _Average((np.arange(new) * size) // new, (1,), 1)
    aligned = (new - 1) // max(size - 1, 1)
    for factor in {min(new // size, LARGEST_FACTOR), min(aligned, LARGEST_FACTOR)} - {0}:
        even = (1, *[2] * (factor - 1), 1)
        for begin, weights in ((0, (1,) * factor), (factor // 2, even if factor % 2 == 0 else (1,) * factor)):
            at = np.arange(new + len(weights) - 1) - begin
            yield _Average((at // factor).clip(0, size - 1), weights, sum(weights))


def _interpolated(node: Node, builder: GraphBuilder, averages: Sequence[_Average]) -> Tensor:
    """Add a layer that copies pixels, and a `DepthwiseConv` whose weights are whole multiples of their step."""
    once = _Average(np.zeros(1, np.int64), (1,), 1)
    rows, columns = (once, *averages)[-2:]
    copied = builder.copies(node, rows.sources, columns.sources)
    channels = copied.out_shape.channels
    step = 1 / (rows.divisor * columns.divisor)
    weights = np.multiply.outer(rows.weights, columns.weights)[..., np.newaxis] * step
    layer = DepthwiseConv(
        name=node.name,
        inputs=(copied.output,),
        output=node.output,
        in_shape=copied.out_shape,
        weights=np.repeat(weights, channels, axis=2).astype(np.float32),
        bias=np.zeros(channels, np.float32),
        window=Window((len(rows.weights), len(columns.weights))),
        qdq_scales=np.array([step]),
    )
    return Tensor(_layout(node, layer), producer=builder.append(layer))


def _mode(node: Node) -> str:
    mode: str = node.attributes.get("mode", b"nearest").decode()
    return mode


def _transformation(node: Node) -> str:
    transformation: str = node.attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
    return transformation


def _axes(node: Node) -> list[int]:
    """Return the axes that the operands are about."""
    return [axis % node.rank for axis in node.attributes.get("axes", range(node.rank))]


def _resized(node: Node) -> Iterator[tuple[int, float]]:
    """Yield new size and scale of every axis (ONNX operators, Resize); axes that the node does not name keep theirs."""
    shape, axes = node.tensor.layout.shape, _axes(node)
    scales, sizes = node.optional(SCALES), node.optional(SIZES)
    if sizes is not None and sizes.size:
        given = [new / shape[axis] for new, axis in zip(sizes.tolist(), axes, strict=True)]
        policy = node.attributes.get("keep_aspect_ratio_policy", b"stretch")
        if policy != b"stretch":
            given = [min(given) if policy == b"not_larger" else max(given)] * len(given)
        rounding = 0.5
    else:
        given = scales.tolist() if scales is not None else []
        rounding = 0.0
    by_axis = dict(zip(axes, given, strict=True))
    for axis, size in enumerate(shape):
        scale = by_axis.get(axis, 1.0)
        yield floor(np.float32(size) * np.float32(scale) + rounding), scale  # in float32, as ONNX Runtime


def _positions(node: Node, axis: int, new: int, scale: float, transformation: str) -> FloatArray:
    """Return where along an axis of the input each of `new` outputs lies (ONNX operators, Resize).

    In float32, as ONNX Runtime: rounding decides which of two pixels is the nearest.

    Raises InputError for a transformation that ONNX does not know.
    """
    size, at = node.tensor.layout.shape[axis], np.arange(new, dtype=np.float32)
    half_pixel = (at + 0.5) / np.float32(scale) - 0.5
    begin, end = 0.0, 1.0
    if transformation == "tf_crop_and_resize":
        axes, roi = _axes(node), node.constant(ROI).tolist()
        begin = roi[axes.index(axis)]
        end = roi[len(axes) + axes.index(axis)]
    cropped = np.linspace(begin, end, new) if new > 1 else np.array([(begin + end) / 2])
    known: dict[str, FloatArray] = {
        "half_pixel": half_pixel,
        "pytorch_half_pixel": half_pixel if new > 1 else at * 0.0,
        "half_pixel_symmetric": half_pixel + size / 2 * (1 - new / (scale * size)),
        "tf_half_pixel_for_nn": half_pixel + 0.5,
        "asymmetric": at / np.float32(scale),
        "align_corners": at * (size - 1) / max(new - 1, 1),
        "tf_crop_and_resize": cropped * (size - 1),
    }
    if transformation not in known:
        raise node.error(TRANSFORMATION, transformation)
    return known[transformation]
