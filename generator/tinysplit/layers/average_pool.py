"""Average over windows; global average pooling is the window as large as the map."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tinysplit.layers.base import Layer, Shape
from tinysplit.layers.window import Window
from tinysplit.qformat import IntArray

if TYPE_CHECKING:
    from tinysplit.quantized import QuantizedLayer


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragePool(Layer):
    """A pool over `window`, channel by channel."""

    kind: ClassVar[str] = "average_pool"

    window: Window
    count_include_pad: bool = False  # ONNX: whether padded elements count in the divisor

    @property
    def out_shape(self) -> Shape:
        """Shape of the output."""
        return self.window.out_shape(self.in_shape, self.in_shape.channels)

    @property
    def operator_macc(self) -> int:
        """Elements of all windows."""
        return self.out_shape.size * self.window.elements

    def integer_reference(self, quantized: "QuantizedLayer", x: IntArray) -> IntArray:
        """See `Layer.integer_reference`."""
        raise NotImplementedError
