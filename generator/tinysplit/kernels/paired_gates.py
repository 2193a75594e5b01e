"""Recurrent cells on two values at a time: a word of two, times one of their weights for every gate of a unit.

That is SMLAD on cores with the DSP extension; others load half as often.
"""

from collections.abc import Mapping
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cost_table import Work, recurrent_work
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.recurrent import Recurrent
from tinysplit.network.quantized_graph import QuantizedLayer


class PairedGates(Kernel):
    """The loops of `direct` over pairs of values; a weight of 0 is beside the last value of an odd number."""

    name: ClassVar[str] = "paired_gates"

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        return isinstance(layer, Recurrent)

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        return cast("Recurrent", layer).state_bytes

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        # two values at a time
        return recurrent_work(cast("Recurrent", layer), 2)

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        own = cast("Recurrent", layer)
        return own.weights_bytes(widths.w) + 2 * own.cell.gates * own.units * sum(count % 2 for count in _counts(own))

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # words of weights of a unit: pairs of values x gates
        layer = cast("Recurrent", quantized.layer)
        weights, inputs = quantized.constants["weights"], layer.in_shape.channels
        padded = [
            np.pad(own, ((0, 0), (0, own.shape[1] % 2), (0, 0))) for own in (weights[:, :inputs], weights[:, inputs:])
        ]
        values = np.concatenate(padded, axis=1)
        pairs = values.reshape(layer.units, -1, 2, layer.cell.gates).swapaxes(2, 3)
        return {**quantized.constants, "weights": np.ascontiguousarray(pairs).view(np.int32)[..., 0]}


def _counts(layer: Recurrent) -> tuple[int, int]:
    """Return the values of the input and of the hidden state."""
    return layer.in_shape.channels, layer.units
