"""Resize to whole multiples by repeating pixels, or by linear interpolation, whatever the attributes are that say so.

Interpolation is a moving average of repeated pixels. With k of each, the average of k neighbours has the weights r / k
and 1 - r / k of two pixels for r = 0 to k - 1. With the first output at the first pixel (`asymmetric`, and
`align_corners` where k steps lead to the next pixel) it begins there, else k / 2 before it; for even k, that is the
mean of two averages. What lies outside is copies of the border.
"""

from collections.abc import Callable, Iterator, Sequence
from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import DepthwiseConv, Upsample
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

OTHER_AXES = Refusal("resizes {} by {}: only height and width of a map can grow")
NO_COPIES = Refusal("takes pixels by {} and {}, which does not repeat each {} times: not supported")
FRACTION = Refusal("resizes by {:g}: only whole factors are supported")
INTERPOLATION = Refusal(
    "interpolates in mode {} with {}: supported are nearest, and linear by up to {} with half_pixel, asymmetric, or "
    "align_corners from n pixels to a multiple of n - 1, and one"
)
TRANSFORMATION = Refusal("has the coordinate_transformation_mode {}, which ONNX does not know")


@operator(
    "Resize",
    attributes=("axes", "coordinate_transformation_mode", "keep_aspect_ratio_policy", "mode", "nearest_mode"),
    ignored=("antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value"),
    layers=(Upsample, DepthwiseConv),
    refusals=(OTHER_AXES, NO_COPIES, FRACTION, INTERPOLATION, TRANSFORMATION),
)
def resize(node: Node, builder: GraphBuilder) -> Tensor:
    """Add an `Upsample` that repeats every pixel, or copies and a `DepthwiseConv` that interpolates, by whole factors.

    Raises InputError for other factors, and where a pixel of the output is another one, or another mean.
    """
    shape = node.tensor.layout.shape
    resized = tuple(_resized(node))
    factors = tuple(new / size for size, (new, _) in zip(shape, resized, strict=True))
    if node.rank not in MAP_RANKS or any(factor != 1 for factor in factors[:2]):
        raise node.error(OTHER_AXES, node.tensor.layout, factors)
    check_value_size([new for new, _ in resized])
    averages = [_average(node, axis, *resized[axis]) for axis in range(2, node.rank)]
    found = [average for average in averages if average]
    if len(found) == len(averages) and any(len(average.weights) > 1 for average in found):
        return _interpolated(node, builder, found)
    for axis in range(2, node.rank):
        _check_repeats(node, axis, *resized[axis])
    producer, in_shape, _ = builder.as_map(node)
    by_axis = (1, *map(int, factors[2:]))[-2:]
    layer = Upsample(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=in_shape,
        factors=(by_axis[0], by_axis[1]),
    )
    return Tensor(Layout.of_map(layer.out_shape, node.rank - 2), producer=builder.append(layer))


class _Average(NamedTuple):
    """The moving average of an axis: of the pixels `sources`, with `weights` in units of 1 / `divisor`."""

    sources: NDArray[np.int64]
    weights: tuple[int, ...]
    divisor: int


def _average(node: Node, axis: int, new: int, scale: float) -> _Average | None:
    """Return what interpolates an axis linearly; None for another mode, and where no moving average does."""
    size = node.tensor.layout.shape[axis]
    mode, transformation = _mode(node), _transformation(node)
    if mode != "linear" or transformation == "tf_crop_and_resize" or new < size:
        return None
    positions = _positions(node, axis, new, scale, transformation).clip(0, size - 1)
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
    return Tensor(Layout.of_map(layer.out_shape, node.rank - 2), producer=builder.append(layer))


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
        yield floor(size * scale + rounding), scale


def _check_repeats(node: Node, axis: int, new: int, scale: float) -> None:
    """Raise InputError unless output i of `new` along an axis is input i // factor."""
    size = node.tensor.layout.shape[axis]
    if new < size or new % size:
        raise node.error(FRACTION, scale)
    mode, transformation = _mode(node), _transformation(node)
    rounding = node.attributes.get("nearest_mode", b"round_prefer_floor")
    positions = _positions(node, axis, new, scale, transformation)
    if transformation != "tf_crop_and_resize":  # which takes another value there
        positions = positions.clip(0, size - 1)
    source = ROUNDINGS[rounding](positions).clip(0, size - 1) if mode == "nearest" else positions
    if (source == np.arange(new) // (new // size)).all() and positions.min() >= 0 and positions.max() <= size - 1:
        return
    if mode != "nearest":
        raise node.error(INTERPOLATION, mode, transformation, LARGEST_FACTOR)
    raise node.error(NO_COPIES, transformation, rounding.decode(), new // size)


def _positions(node: Node, axis: int, new: int, scale: float, transformation: str) -> FloatArray:
    """Return where along an axis of the input each of `new` outputs lies (ONNX operators, Resize).

    Raises InputError for a transformation that ONNX does not know.
    """
    size, at = node.tensor.layout.shape[axis], np.arange(new)
    half_pixel = (at + 0.5) / scale - 0.5
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
        "asymmetric": at / scale,
        "align_corners": at * (size - 1) / max(new - 1, 1),
        "tf_crop_and_resize": cropped * (size - 1),
    }
    if transformation not in known:
        raise node.error(TRANSFORMATION, transformation)
    return known[transformation]
