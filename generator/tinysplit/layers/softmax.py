"""Softmax over the channels of every pixel."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tinysplit.layers.base import FLOAT_BITS, Layer, Shape
from tinysplit.qformat import IntArray

if TYPE_CHECKING:
    from tinysplit.quantized import QuantizedLayer

MACC_PER_ELEMENT = 15  # X-CUBE-AI 7.1's count for exp, sum and division


@dataclass(frozen=True, eq=False, kw_only=True)
class Softmax(Layer):
    """exp(x_i) / sum_j exp(x_j), from tables of exp in Q0.15; the output is Q0.7 or Q0.15."""

    kind: ClassVar[str] = "softmax"

    @property
    def out_shape(self) -> Shape:
        """Shape of the output, which is that of the input."""
        return self.in_shape

    @property
    def operator_macc(self) -> int:
        """15 an element."""
        return MACC_PER_ELEMENT * self.in_shape.size

    def weights_bytes(self, bits: int) -> int:
        """One table of 256 16-bit values for 8 bits, two for 16."""
        return 0 if bits == FLOAT_BITS else 256 * 2 * (bits // 8)

    def integer_reference(self, quantized: "QuantizedLayer", x: IntArray) -> IntArray:
        """See `Layer.integer_reference`."""
        raise NotImplementedError
