"""Layouts: the position of each element of an ONNX value in the activation in a board's memory.

Operators that only move data (Transpose, Reshape, Slice, Gather, Expand, Pad and others) are operations on an array of
indices, which may lack some elements or repeat them. They cost no time on a board where the next layer's weights or
window absorb them, or the layer before computes a part alone; elsewhere `GraphBuilder.moved` and `GraphBuilder.padded`
make them layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.layers import Pads, Shape
from tinysplit.onnx_import.size_limits import check_value_size

IndexArray = NDArray[np.int64]
PADDING = -1


@dataclass(frozen=True, eq=False)
class Layout:
    """`onnx_value = activation.flat[order]`; `order` has the ONNX shape, batch included, and -1 where Pad added."""

    order: IndexArray
    pad_value: float = 0.0

    @override
    def __str__(self) -> str:
        return "x".join(str(size) for size in self.shape) or "a scalar"

    @classmethod
    def identity(cls, shape: Sequence[int]) -> Self:
        """Return the layout of a value that is stored as ONNX has it."""
        check_value_size(shape)
        return cls(np.arange(np.prod(shape, dtype=np.int64)).reshape(shape))

    @classmethod
    def of_map(cls, shape: Shape, spatial_dimensions: int) -> Self:
        """Return the layout of an ONNX map, 1 x C x H x W or 1 x C x W, that is stored as H x W x C."""
        check_value_size(shape)
        order = np.arange(shape.size).reshape(shape).transpose(2, 0, 1)
        spatial = shape[:2] if spatial_dimensions == 2 else (shape.width,)  # noqa: PLR2004 - height and width
        return cls(order.reshape(1, shape.channels, *spatial))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the ONNX value, batch included."""
        return self.order.shape

    @property
    def is_padded(self) -> bool:
        """Whether the value contains padding that a window has yet to absorb."""
        return bool((self.order == PADDING).any())

    def transpose(self, permutation: Sequence[int]) -> Self:
        """ONNX Transpose."""
        return replace(self, order=self.order.transpose(permutation))

    def reshape(self, shape: Sequence[int]) -> Self:
        """Return the same elements in another ONNX shape."""
        return replace(self, order=self.order.reshape(shape))

    def channels_of(self, axis: int) -> Self:
        """Return a map of one row whose channels are the elements along an axis."""
        return self.transpose(_axis_first(self.order.ndim, axis)).reshape((1, self.shape[axis], -1))

    def from_channels(self, shape: Sequence[int], axis: int) -> Self:
        """Return such a map as a value of `shape`, whose `axis` has the elements of its channels."""
        axes = _axis_first(len(shape), axis)
        return self.reshape([shape[each] for each in axes]).transpose(np.argsort(axes).tolist())

    def pad(
        self,
        widths: Sequence[tuple[int, int]],
        value: float,
        mode: Literal["constant", "edge", "reflect", "wrap"] = "constant",
    ) -> Self:
        """ONNX Pad, (before, after) of every dimension, with a constant or with copies."""
        check_value_size([size + sum(width) for size, width in zip(self.shape, widths, strict=True)])
        constants = {"constant_values": PADDING} if mode == "constant" else {}
        order: IndexArray = np.pad(self.order, widths, mode, **constants)  # type: ignore[call-overload]
        return replace(self, order=order, pad_value=value)

    def unpadded_map(self) -> tuple[IndexArray, Pads] | None:
        """Return the order of a map (1 x C x H x W, or 1 x C x W) as H x W x C, and the padding around it.

        None when the value is no map: another rank, a batch, or padding elsewhere than around the map.
        """
        if self.order.ndim not in (3, 4) or self.order.shape[0] != 1:
            return None
        channels, width = self.order.shape[1], self.order.shape[-1]
        order = self.order.reshape(channels, -1, width).transpose(1, 2, 0)
        real = order != PADDING
        rows, columns = np.flatnonzero(real.any(axis=(1, 2))), np.flatnonzero(real.any(axis=(0, 2)))
        top = rows[0]
        bottom = rows[-1] + 1
        left = columns[0]
        right = columns[-1] + 1
        inner = order[top:bottom, left:right]
        if (inner == PADDING).any():
            return None
        pads = Pads(int(top), int(left), int(order.shape[0] - bottom), int(order.shape[1] - right))
        return inner, pads


def _axis_first(rank: int, axis: int) -> tuple[int, ...]:
    return axis, *(other for other in range(rank) if other != axis)
