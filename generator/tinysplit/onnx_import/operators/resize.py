"""Resize to whole multiples by repeating pixels, whatever the attributes are that say so."""

from collections.abc import Callable, Iterator
from math import floor

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import Upsample
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

OTHER_AXES = Refusal("resizes {} by {}: only height and width of a map can grow")
NO_COPIES = Refusal("takes pixels by {} and {}, which does not repeat each {} times: not supported")
FRACTION = Refusal("resizes by {:g}: only whole factors are supported")
INTERPOLATION = Refusal("interpolates in mode {}: only nearest is supported, and copies of a single pixel")
TRANSFORMATION = Refusal("has the coordinate_transformation_mode {}, which ONNX does not know")


@operator(
    "Resize",
    attributes=("axes", "coordinate_transformation_mode", "keep_aspect_ratio_policy", "mode", "nearest_mode"),
    ignored=("antialias", "cubic_coeff_a", "exclude_outside", "extrapolation_value"),
    layers=(Upsample,),
    refusals=(OTHER_AXES, NO_COPIES, FRACTION, INTERPOLATION, TRANSFORMATION),
)
def resize(node: Node, builder: GraphBuilder) -> Tensor:
    """Add an `Upsample` that repeats every pixel a whole number of times.

    Raises InputError for other factors, and where a pixel of the output is no copy of the one that repetition takes.
    """
    shape = node.tensor.layout.shape
    resized = tuple(_resized(node))
    factors = tuple(new / size for size, (new, _) in zip(shape, resized, strict=True))
    if node.rank not in MAP_RANKS or any(factor != 1 for factor in factors[:2]):
        raise node.error(OTHER_AXES, node.tensor.layout, factors)
    check_value_size([new for new, _ in resized])
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
    mode = node.attributes.get("mode", b"nearest").decode()
    transformation = node.attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
    rounding = node.attributes.get("nearest_mode", b"round_prefer_floor")
    positions = _positions(node, axis, new, scale, transformation)
    if transformation != "tf_crop_and_resize":  # which takes another value there
        positions = positions.clip(0, size - 1)
    source = ROUNDINGS[rounding](positions).clip(0, size - 1) if mode == "nearest" else positions
    if (source == np.arange(new) // (new // size)).all() and positions.min() >= 0 and positions.max() <= size - 1:
        return
    if mode != "nearest":
        raise node.error(INTERPOLATION, mode)
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
