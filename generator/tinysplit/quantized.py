"""The network in fixed point: the Q formats of every layer and the integers that its C kernel reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinysplit import fixed_point
from tinysplit.graph import Graph
from tinysplit.layers.base import Layer
from tinysplit.qformat import IntArray, QFormat


@dataclass(frozen=True)
class LayerFormats:
    """Q formats of a layer: values in (`x`), values out (`y`), weights (`w`, None for a layer without weights).

    `x` is the format of the first input, `others` are those of inputs behind it.
    """

    x: QFormat
    y: QFormat
    w: QFormat | None = None
    others: tuple[QFormat, ...] = ()

    @property
    def inputs(self) -> tuple[QFormat, ...]:
        """Formats of all inputs."""
        return (self.x, *self.others)

    @property
    def accumulator(self) -> QFormat:
        """The 32-bit accumulator: products of values and weights."""
        return QFormat(32, self.x.fraction_bits + (self.w.fraction_bits if self.w else 0))

    @property
    def shift(self) -> int:
        """Bits by which the accumulator is shifted right to reach `y`; negative means left."""
        return self.accumulator.fraction_bits - self.y.fraction_bits

    @property
    def rounding(self) -> int:
        """Half a step of `y` in the accumulator's steps, which is added before the shift."""
        return 1 << (self.shift - 1) if self.shift > 0 else 0


@dataclass(frozen=True, eq=False)
class QuantizedLayer:
    """A layer with its formats and the constants of its kernel."""

    layer: Layer
    formats: LayerFormats

    @cached_property
    def constants(self) -> Mapping[str, IntArray]:
        """Integer arrays that the kernel reads, by name."""
        return self.layer.constants(self.formats)

    @cached_property
    def clamp(self) -> tuple[int, int]:
        """Smallest and largest output integer: the range of `y`, narrowed by the fused activation."""
        y, activation = self.formats.y, self.layer.activation
        low = y.low if np.isneginf(activation.low) else int(y.quantize(np.array(activation.low)))
        high = y.high if np.isposinf(activation.high) else int(y.quantize(np.array(activation.high)))
        return low, high

    def requantize(self, sums: IntArray) -> IntArray:
        """Bring accumulators to the format of the output."""
        return self.clamped(fixed_point.rounded_shift(sums, self.formats.shift))

    def clamped(self, values: IntArray) -> IntArray:
        """Saturate integers of the output's format and apply the fused activation."""
        low, high = self.clamp
        return values.clip(low, high).astype(self.formats.y.dtype)

    @property
    def weights_bytes(self) -> int:
        """Bytes of all constants."""
        return sum(array.nbytes for array in self.constants.values())


@dataclass(frozen=True, eq=False)
class QuantizedGraph:
    """A network in fixed point; `bits` is 8 or 16 for all weights and values."""

    graph: Graph
    bits: int
    layers: tuple[QuantizedLayer, ...]

    @property
    def input_format(self) -> QFormat:
        """Format of the network's input."""
        return self.layers[0].formats.x

    @property
    def output_format(self) -> QFormat:
        """Format of the network's output."""
        return self.layers[-1].formats.y
