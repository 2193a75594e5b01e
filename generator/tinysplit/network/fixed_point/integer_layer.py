"""Input of a layer's integer reference: formats, constants and the clamp of the output."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.layer_formats import Bounds, LayerFormats


@dataclass(frozen=True, eq=False)
class IntegerParameters:
    """Weights and bias of a layer as integers.

    `weights` have the axes of the float weights and the width of the formats, symmetric around 0 (-127 to 127 in 8
    bits). `bias` (output channels) counts in the scale of the accumulator.
    """

    weights: IntArray
    bias: NDArray[np.int32]


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerLayer(ABC):
    """A layer in fixed point: all that its arithmetic depends on.

    `bounds` are the smallest and largest integer that each input provably takes; empty where none are known.
    """

    formats: LayerFormats
    bounds: tuple[Bounds, ...] = ()

    @property
    @abstractmethod
    def constants(self) -> Mapping[str, IntArray]:
        """Integer arrays that the kernel reads, by name."""

    @property
    @abstractmethod
    def clamp(self) -> Bounds:
        """Smallest and largest output integer: the range of `y`, narrowed by the fused activation."""

    @property
    def x_bounds(self) -> Bounds:
        """Smallest and largest integer of the first input."""
        return self.bounds[0] if self.bounds else (self.formats.x.low, self.formats.x.high)

    def requantize(self, sums: IntArray) -> IntArray:
        """Requantize accumulators (... x channels) to integers of `y`, clamped.

        Raises ValueError for layers without requantization.
        """
        requantization = self.formats.requantization
        if requantization is None:
            raise ValueError("this layer has no requantization")
        return self.clamped(requantization.apply(sums, self.formats.y.zero_point))

    def clamped(self, values: IntArray) -> IntArray:
        """Saturate integers (... x channels) of the output's format and apply the fused activation."""
        low, high = self.clamp
        return values.clip(low, high).astype(self.formats.y.dtype)
