"""LeakyReLU and PRelu: values below zero times a slope, one for all or one per channel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import FLOAT_BITS, Layer, Shape
from tinysplit.network.layers.joining import Alignment, coarse_enough, reach

FACTOR_BYTES = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class PRelu(Layer):
    """y = x for x >= 0, slopes[channel] * x below; `slopes` has one value a channel."""

    kind: ClassVar[str] = "prelu"

    slopes: NDArray[np.float32]

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output, which is that of the input."""
        return self.in_shape

    @property
    @override
    def operator_macc(self) -> int:
        """One an element."""
        return self.in_shape.size

    @property
    @override
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The slopes below zero, one per channel."""
        return {"slopes": self.slopes}

    @override
    def is_elementwise(self, _: int) -> bool:
        return True

    @override
    def weights_bytes(self, bits: int) -> int:
        """Return the bytes of one factor per channel."""
        return self.slopes.size * (4 if bits == FLOAT_BITS else FACTOR_BYTES)

    def alignment(self, formats: LayerFormats) -> Alignment:
        """Return how x - zero_point is brought to the output's format: the first factor is that above zero."""
        ratio = formats.x.scale / formats.y.scale
        ratios = [ratio, float(np.abs(self.slopes).max()) * ratio]  # upper bound of both
        largest = -formats.x.low + abs(formats.x.zero_point)
        slopes = (self.slopes.astype(np.float64) * ratio).tolist()
        return Alignment.of(ratios, [0, 0], formats.y.zero_point, largest, instead=slopes)

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as its steps of every product fit in 32 bits."""
        return coarse_enough(wanted, (1 + float(np.abs(self.slopes).max())) * 2 * reach(inputs[0]))

    @override
    def constants(self, formats: LayerFormats) -> dict[str, IntArray]:
        """Return the `factors` below zero, one per channel: slope * x.scale / y.scale * 2^shift."""
        steps = self.slopes.astype(np.float64) * formats.x.scale / formats.y.scale
        return {"factors": np.rint(steps * 2.0 ** self.alignment(formats).shift).astype(np.int32)}

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        (factor, _), offset, shift = self.alignment(quantized.formats)
        value = x.astype(np.int64) - quantized.formats.x.zero_point
        factors = np.where(value < 0, quantized.constants["factors"].astype(np.int64), factor)
        return quantized.clamped((value * factors + offset) >> shift)
