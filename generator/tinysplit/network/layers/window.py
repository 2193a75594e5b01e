"""The sliding window that convolutions and pools share: kernel, stride, dilation, padding."""

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer, Shape, T


class Pads(NamedTuple):
    """Rows and columns added around a map; below 0 at its end where no window reaches it."""

    top: int = 0
    left: int = 0
    bottom: int = 0
    right: int = 0


@dataclass(frozen=True)
class Window:
    """Height before width in every pair."""

    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: Pads = Pads()

    @override
    def __str__(self) -> str:
        (k_h, k_w), (s_h, s_w), (d_h, d_w) = self.kernel, self.stride, self.dilation
        return f"window {k_h}x{k_w}, stride {s_h}x{s_w}, dilation {d_h}x{d_w}, padding {'/'.join(map(str, self.pads))}"

    @property
    def elements(self) -> int:
        """Positions of one window."""
        return self.kernel[0] * self.kernel[1]

    @property
    def is_clipped(self) -> bool:
        """Whether windows at the border reach over the map."""
        return any(pad > 0 for pad in self.pads)

    def under(self, positions: range, axis: int = 0) -> range:
        """Return the rows (axis 1: columns) under the windows of output rows (columns), padding included."""
        stride, begin = self.stride[axis], self.pads[axis]
        extent = (self.kernel[axis] - 1) * self.dilation[axis] + 1
        return range(positions.start * stride - begin, (positions.stop - 1) * stride - begin + extent)

    def patches(self, x: NDArray[T], fill: int = 0) -> NDArray[T]:
        """Return a view of `x` (N x H x W x C) as N x out_h x out_w x k_h x k_w x C; the padding contains `fill`."""
        top, left, bottom, right = self.pads
        padded = x[:, : x.shape[1] + min(bottom, 0), : x.shape[2] + min(right, 0)]
        if self.is_clipped:
            around = ((0, 0), (top, max(bottom, 0)), (left, max(right, 0)), (0, 0))
            padded = np.pad(padded, around, constant_values=fill)
        extent = tuple(d * (k - 1) + 1 for k, d in zip(self.kernel, self.dilation, strict=True))
        views = sliding_window_view(padded, extent, axis=(1, 2))
        (s_h, s_w), (d_h, d_w) = self.stride, self.dilation
        patches: NDArray[T] = views[:, ::s_h, ::s_w, :, ::d_h, ::d_w].transpose(0, 1, 2, 4, 5, 3)
        return patches

    def counts(self, in_shape: Shape) -> IntArray:
        """Return how many elements of the map each window covers: 1 x out_h x out_w x 1."""
        rows, columns = self.covered(in_shape)
        counts: IntArray = np.multiply.outer(rows, columns)[np.newaxis, ..., np.newaxis]
        return counts

    def covered(self, in_shape: Shape) -> tuple[IntArray, IntArray]:
        """Return how many rows and how many columns of the map are under the windows of each row and column."""
        begins, ends = self.pads[:2], self.pads[2:]
        rows, columns = (
            _covered(size, self.kernel[axis], self.stride[axis], self.dilation[axis], (begins[axis], ends[axis]))
            for axis, size in enumerate(in_shape[:2])
        )
        return rows, columns

    def out_shape(self, in_shape: Shape, channels: int) -> Shape:
        """Return the shape after the window has moved over a padded `in_shape` (ONNX operators, Conv)."""
        pads, (rows, columns), (down, right) = self.pads, self.dilation, self.stride
        height = in_shape.height + pads.top + pads.bottom - rows * (self.kernel[0] - 1) - 1
        width = in_shape.width + pads.left + pads.right - columns * (self.kernel[1] - 1) - 1
        return Shape(height // down + 1, width // right + 1, channels)


def layer_window(layer: Layer) -> Window | None:
    """Return the window of a layer that has one."""
    window: Window | None = getattr(layer, "window", None)
    return window


@lru_cache
def _covered(size: int, kernel: int, stride: int, dilation: int, pads: tuple[int, int]) -> IntArray:
    begins = np.arange(-pads[0], size + pads[1] - dilation * (kernel - 1), stride)
    before = -(begins // dilation)
    inside = -((begins - size) // dilation)  # positions before the map and its end
    covered: IntArray = inside.clip(0, kernel) - before.clip(0, kernel)
    covered.flags.writeable = False
    return covered
