"""What the techniques of Cortex-M0+ share: it multiplies 32 bits in one cycle, and has no other fast arithmetic.

Its kernels read values of 8 bits as unsigned: as they are where none is negative, otherwise as x + 128, from 0 to 255,
and the bias takes 128 * sum(w) away.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tinysplit.quantized import QuantizedLayer

CORE = "cortex-m0plus"
BITS = 8
_SIGN = 1 << (BITS - 1)
WORD_BYTES = 4


@dataclass(frozen=True)
class UnsignedLayer:
    """A layer as these kernels compute it: values of 8 bits from 0 to `x_high`."""

    weights: NDArray[np.int64]  # output channels x the rest
    bias: NDArray[np.int64]
    factors: NDArray[np.int64] | None  # of the requantization; None where all are 1
    x_high: int

    @classmethod
    def of(cls, quantized: "QuantizedLayer") -> "UnsignedLayer":
        """Return the integers of a layer for unsigned values."""
        layer, constants = quantized.layer, quantized.constants
        weights = layer.by_channel(constants["weights"]).astype(np.int64)
        shift = _sign(quantized)
        bias = constants["bias"].astype(np.int64) - shift * weights.sum(axis=1)
        requantization = quantized.formats.requantization
        factors = np.array(requantization.factors if requantization else 1, np.int64)
        every_factor = np.broadcast_to(factors, len(weights)) if factors.max() > 1 else None
        return cls(weights, bias, every_factor, quantized.x_bounds[1] + shift)


def is_signed(quantized: "QuantizedLayer") -> bool:
    """Whether values of the input may be negative, so that they have to be copied as x + 128."""
    return _sign(quantized) > 0


def facts(quantized: "QuantizedLayer") -> dict[str, object]:
    """Return what the templates of all these techniques print: how values are copied, and the requantization."""
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


def _sign(quantized: "QuantizedLayer") -> int:
    return _SIGN if quantized.formats.x.bits == BITS and quantized.x_bounds[0] < 0 else 0
