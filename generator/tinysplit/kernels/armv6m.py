"""What the kernels of Cortex-M0+ share: it multiplies 32 bits in one cycle, and has no other fast arithmetic.

Its kernels read values of 8 bits as unsigned: as they are where none is negative, otherwise as x + 128, from 0 to 255,
and the bias takes 128 * sum(w) away.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tinysplit.kernels.cost_table import Work
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedLayer

if TYPE_CHECKING:
    from tinysplit.network.layers.window import Window

CORE = "cortex-m0plus"
BITS = 8
_SIGN = 1 << (BITS - 1)
WORD_BYTES = 4
STRAIGHT = 4  # values that are copied without a loop
TOGETHER = 12  # words that are copied at once: templates/copy_values.j2


@dataclass(frozen=True)
class UnsignedLayer:
    """A layer as these kernels compute it: values of 8 bits from 0 to `x_high`."""

    weights: NDArray[np.int64]  # output channels x the rest
    bias: NDArray[np.int64]
    factors: NDArray[np.int64] | None  # of the requantization; None where all are 1
    x_high: int

    @classmethod
    def of(cls, quantized: QuantizedLayer) -> "UnsignedLayer":
        """Return the integers of a layer for unsigned values."""
        layer, constants = quantized.layer, quantized.constants
        weights = layer.by_channel(constants["weights"]).astype(np.int64)
        shift = _sign(quantized)
        bias = constants["bias"].astype(np.int64) - shift * weights.sum(axis=1)
        requantization = quantized.formats.requantization
        factors = np.array(requantization.factors if requantization else 1, np.int64)
        every_factor = np.broadcast_to(factors, len(weights)) if factors.max() > 1 else None
        return cls(weights, bias, every_factor, quantized.x_bounds[1] + shift)


def is_signed(quantized: QuantizedLayer) -> bool:
    """Whether values of the input may be negative, so that they have to be copied as x + 128."""
    return _sign(quantized) > 0


def facts(quantized: QuantizedLayer) -> dict[str, object]:
    """Return what the templates of all these kernels print: how values are copied, and the requantization."""
    formats = quantized.formats
    requantization = formats.requantization
    bits = formats.x.bits
    words = quantized.layer.in_shape.channels * bits // 8 % WORD_BYTES == 0
    unit = sum(1 << place for place in range(0, 8 * WORD_BYTES, bits)) if words else 1
    sign = _sign(quantized)
    return {
        "words": words,
        "sign": hex(sign * unit) if sign else "",
        "zero": hex((formats.x.zero_point ^ sign) % (1 << bits) * unit),
        "has_factors": bool(requantization and max(requantization.factors) > 1),
        "shifts": (requantization.pre_shift, requantization.post_shift) if requantization else (0, 0),
    }


def may_be_signed(layer: Layer, widths: Widths) -> bool:
    """Whether values have to be copied as x + 128, as far as the graph tells."""
    return widths.x == BITS and layer.x_clamp.low < 0


def expected_high(layer: Layer) -> int:
    """Return the largest unsigned value, as far as the graph tells."""
    return 2 * _SIGN - 1 if layer.x_clamp.low < 0 else _SIGN - 1


def copy_work(layer: Layer, widths: Widths, values: float, runs: float = 1, *, signed: bool) -> dict[str, float]:
    """Return what it takes to copy runs of so many neighbouring values.

    `twelves`: words that are copied twelve at a time, `words` and `values`: one at a time, `straight` ones without a
    loop; `signed`: as x + 128.
    """
    sign = "signed_" if signed else ""
    if layer.in_shape.channels * widths.x // 8 % WORD_BYTES:
        return {f"{sign}{'straight_' if values <= STRAIGHT else ''}values": runs * values}
    words = values * widths.x // 8 // WORD_BYTES
    twelves = 0 if signed else words // TOGETHER
    return {"twelves": runs * twelves, f"{sign}words": runs * (words - TOGETHER * twelves)}


def windows_work(layer: Layer, widths: Widths, passes: int) -> dict[str, float]:
    """Return what it takes to copy the windows of all pixels, so many times.

    Kernel rows inside the map are copied as a whole (`run`), others position by position (`piece`); `outside`:
    positions in the padding, with so many `filled_` words or values.
    """
    window: Window | None = getattr(layer, "window", None)
    signed = may_be_signed(layer, widths)
    if window is None:
        return copy_work(layer, widths, layer.in_shape.size, passes, signed=signed)
    rows, columns = window.covered(layer.in_shape)
    whole = (columns == window.kernel[1]) & (window.dilation[1] == 1)
    runs, pieces = float(passes * rows.sum() * whole.sum()), float(passes * rows.sum() * columns[~whole].sum())
    outside = float(passes * rows.size * whole.size * window.elements) - runs * window.kernel[1] - pieces
    channels = layer.in_shape.channels
    filled = copy_work(layer, widths, channels, outside, signed=True)
    every = (
        {"run": runs, "piece": pieces, "outside": outside},
        copy_work(layer, widths, window.kernel[1] * channels, runs, signed=signed),
        copy_work(layer, widths, channels, pieces, signed=signed),
        {name.replace("signed", "filled"): count for name, count in filled.items()},
    )
    return sum_of(*every)


def sum_of(*works: Work) -> dict[str, float]:
    """Return the runs of every part in all of them."""
    total: dict[str, float] = {}
    for work in works:
        for part, count in work.items():
            total[part] = total.get(part, 0.0) + count
    return total


def _sign(quantized: QuantizedLayer) -> int:
    return _SIGN if quantized.formats.x.bits == BITS and quantized.x_bounds[0] < 0 else 0
