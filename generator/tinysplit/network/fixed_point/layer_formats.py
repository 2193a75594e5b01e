"""The number formats of one layer: of its inputs, output and weights, and its requantization."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.arithmetic import Requantization, TfliteRequantization
from tinysplit.network.fixed_point.formats import FloatArray, ValueFormat

CLIPPED_SHARES = (1.0, 0.9, 0.8, 0.7, 0.6)  # of a channel's weight range: candidates for the clipping limit

Bounds = tuple[int, int]  # smallest and largest integer of a value
Group = tuple[int, ...]  # positions, in an iteration of a kernel's loop, of inputs whose products are summed together


@dataclass(frozen=True)
class LayerFormats:
    """Formats of a layer: of the values in (`inputs`, one per input), of the values out (`y`), and the requantization.

    Weights have `weight_bits` bits (None for a layer without weights) and no zero point. Their scale follows from the
    requantization, so that the requantization is exact: the accumulator of an output channel counts in steps of
    y.scale * correction, and a weight in those steps over the input's. Singh 2024 calls the scale of the weights times
    their range the division factor.

    `packed_groups` are given where programs exist whose kernel sums products in 16 bits (kernels/armv6m/packed):
    no channel's products may exceed 16 bits in a group. They are empty for programs that are still to be generated.
    """

    inputs: tuple[ValueFormat, ...]
    y: ValueFormat
    weight_bits: int | None = None
    requantization: Requantization | TfliteRequantization | None = None
    packed_groups: tuple[Group, ...] = ()

    @property
    def x(self) -> ValueFormat:
        """Format of the first input."""
        return self.inputs[0]

    @property
    def shifted(self) -> Requantization | None:
        """The requantization, where all channels share its shifts."""
        return self.requantization if isinstance(self.requantization, Requantization) else None

    @property
    def sum_scales(self) -> NDArray[np.float64]:
        """Scale of the accumulator, per output channel or one for all.

        Raises ValueError for layers without requantization.
        """
        if self.requantization is None:
            raise ValueError("this layer has no sums to requantize")
        return self.y.scale * self.requantization.corrections

    @property
    def weight_scales(self) -> NDArray[np.float64]:
        """Scale of the weights, per output channel or one for all.

        Raises ValueError for layers without requantization.
        """
        return self.sum_scales / self.x.scale

    def round_bias(self, bias: FloatArray) -> NDArray[np.int32]:
        """Round a bias (output channels) to the nearest integers in the scale of the accumulator, saturated.

        Raises ValueError for layers without requantization.
        """
        steps = np.floor(bias.astype(np.float64) / self.sum_scales + 0.5)
        return steps.clip(-(2.0**31), 2.0**31 - 1).astype(np.int32)
