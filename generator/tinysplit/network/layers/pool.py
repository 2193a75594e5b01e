"""What maximum and average pooling have in common: a window that moves over each channel."""

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.window import Window


@dataclass(frozen=True, eq=False, kw_only=True)
class Pool(Layer):
    """A layer that reduces each window of each channel to one value."""

    takes_clamp: ClassVar[bool] = True

    window: Window

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output."""
        return self.window.out_shape(self.in_shape, self.in_shape.channels)

    @property
    @override
    def operator_macc(self) -> int:
        """Elements of all windows."""
        return self.out_shape.size * self.window.elements
