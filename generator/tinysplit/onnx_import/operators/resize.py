"""Resize to whole multiples by repeating pixels."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import Upsample
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.node import Node, Tensor
from tinysplit.onnx_import.operators.window import MAP_RANKS

SCALES, SIZES = 2, 3  # operands
FloatArray = NDArray[np.floating]
ROUNDINGS: dict[bytes, Callable[[FloatArray], FloatArray]] = {
    b"round_prefer_floor": lambda at: np.ceil(at - 0.5),
    b"round_prefer_ceil": lambda at: np.floor(at + 0.5),
    b"floor": np.floor,
    b"ceil": np.ceil,
}


def resize(node: Node, builder: GraphBuilder) -> Tensor:
    """Add an `Upsample` that repeats every pixel a whole number of times.

    Raises InputError for other factors and modes.
    """
    shape = node.tensor.layout.shape
    factors = _factors(node, shape)
    if node.rank not in MAP_RANKS or any(factor != 1 for factor in factors[:2]):
        raise node.error(f"resizes {node.tensor.layout} by {factors}: only height and width of a map can grow")
    if node.attributes.get("mode", b"nearest") != b"nearest":
        raise node.error(f"interpolates in mode {node.attributes['mode'].decode()}: only nearest is supported")
    for size, factor in zip(shape[2:], factors[2:], strict=True):
        _check_repeats(node, size, factor)
    producer, in_shape, _ = builder.as_map(node)
    by_axis = (1, *map(int, factors[2:]))[-2:]
    layer = Upsample(
        name=node.name,
        inputs=(builder.source(producer),),
        output=node.output,
        in_shape=in_shape,
        factors=(by_axis[0], by_axis[1]),
    )
    return Tensor(Layout.of_map(layer.out_shape, node.rank - 2), builder.append(layer))


def _factors(node: Node, shape: tuple[int, ...]) -> tuple[float, ...]:
    """Return the growth of every axis, 1 for those that the node does not name."""
    scales, sizes = node.optional(SCALES), node.optional(SIZES)
    axes = [axis % node.rank for axis in node.attributes.get("axes", range(node.rank))]
    if sizes is not None and sizes.size:
        own = _in_proportion(node, [float(new) / shape[axis] for new, axis in zip(sizes.tolist(), axes, strict=True)])
    else:
        own = scales.tolist() if scales is not None else []
    by_axis = dict(zip(axes, own, strict=True))
    return tuple(by_axis.get(axis, 1.0) for axis in range(node.rank))


def _in_proportion(node: Node, factors: list[float]) -> list[float]:
    """Return the factors of given sizes, all alike where the node keeps the aspect ratio."""
    policy = node.attributes.get("keep_aspect_ratio_policy", b"stretch")
    if policy == b"stretch":
        return factors
    return [min(factors) if policy == b"not_larger" else max(factors)] * len(factors)


def _check_repeats(node: Node, size: int, factor: float) -> None:
    """Refuse what is no repetition: the source of output i (ONNX operators, Resize) has to be i // factor."""
    if factor < 1 or factor % 1:
        raise node.error(f"resizes by {factor:g}: only whole factors are supported")
    at = np.arange(size * factor)
    mode = node.attributes.get("coordinate_transformation_mode", b"half_pixel")
    positions: dict[bytes, FloatArray] = {
        b"half_pixel": (at + 0.5) / factor - 0.5,
        b"pytorch_half_pixel": (at + 0.5) / factor - 0.5 if at.size > 1 else at * 0.0,
        b"asymmetric": at / factor,
        b"align_corners": at * (size - 1) / max(at.size - 1, 1),
    }
    rounding = node.attributes.get("nearest_mode", b"round_prefer_floor")
    source = ROUNDINGS[rounding](positions[mode]).clip(0, size - 1) if mode in positions else None
    if source is None or (source != at // int(factor)).any():
        raise node.error(
            f"takes pixels by {mode.decode()} and {rounding.decode()}, which does not repeat each {factor:g} times: "
            "not supported"
        )
