"""The sliding window that convolutions and pools share: kernel, stride, dilation, padding."""

from dataclasses import dataclass
from typing import NamedTuple

from tinysplit.layers.base import Shape


class Pads(NamedTuple):
    """Rows and columns added around a map."""

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

    @property
    def elements(self) -> int:
        """Positions of one window."""
        return self.kernel[0] * self.kernel[1]

    def out_shape(self, in_shape: Shape, channels: int) -> Shape:
        """Return the shape after the window has moved over a padded `in_shape` (ONNX operators, Conv)."""
        padded = (
            in_shape.height + self.pads.top + self.pads.bottom,
            in_shape.width + self.pads.left + self.pads.right,
        )
        height, width = (
            (size - d * (k - 1) - 1) // s + 1
            for size, k, s, d in zip(padded, self.kernel, self.stride, self.dilation, strict=True)
        )
        return Shape(height, width, channels)
