"""Sums of several values packed in a word, where ratios of scales are powers of two.

A sum y = round(a / 2^j + b / 2^i) with i <= j then needs no 32-bit arithmetic:

- i <= 0: a / 2^j is rounded by itself, by j halvings, the first of which adds half a step. It is added to b with
  saturation; b * 2 + r is u + u + (r mod 2), where u = b + floor(r / 2): three saturating additions.
- i > 0: the bits of a below the step of b are dropped first; rounding the sum would drop them anyway.
"""

from typing import NamedTuple

from tinysplit.kernels.cost_table import Work
from tinysplit.network.layers.add import Add
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.joining import Alignment
from tinysplit.network.quantized_graph import QuantizedLayer

BYTES_IN_WORD = 4
BYTE_BITS = 8
LARGEST_FACTOR = 1 << 23  # of a byte in the upper byte of a half
LARGEST_BYTE_WINDOW = 256  # elements of a pool whose sum always fits 16 bits


def shift_bits(alignment: Alignment) -> list[int]:
    """Return j of every input, whose ratio is 1 / 2^j; empty if a ratio is no power of two or a zero point is not 0."""
    factors, offset, shift = alignment
    if any(factor < 0 or factor.bit_count() != 1 for factor in factors) or offset != (1 << shift) >> 1:
        return []
    return [shift - (factor.bit_length() - 1) for factor in factors]


def has_byte_sums(quantized: QuantizedLayer) -> bool:
    """Return whether an Add of bytes has factors whose products with bytes SMLAW makes exactly."""
    layer, formats = quantized.layer, quantized.formats
    if not isinstance(layer, Add) or any(each.bits != BYTE_BITS for each in (*formats.inputs, formats.y)):
        return False
    return all(abs(factor) < LARGEST_FACTOR for factor in layer.alignment(formats).factors)


def concat_shifts(quantized: QuantizedLayer) -> tuple[int | None, ...]:
    """Return the right shift that requantizes each input of a Concat; None where a shift is not enough."""
    layer, formats = quantized.layer, quantized.formats
    if not isinstance(layer, Concat):
        return ()
    shifts: list[int | None] = []
    for x, alignment in zip(formats.inputs, layer.alignments(formats), strict=True):
        is_same = alignment == ((1,), 0, 0)
        bits = [0] if is_same else shift_bits(alignment)
        shifts.append(bits[0] if bits and x.bits == formats.y.bits and abs(bits[0]) < x.bits else None)
    return tuple(shifts)


def sum_work(layer: Add, lanes: int) -> Work:
    """Return the work of a sum whose ratios of scales are 1 and 1 / 2, before values have formats.

    Parts: `words` of `lanes` values, `rest`: values that fill no two words, and of all words `halvings`, saturated
    `sums`, `clamps`, and `whole` ones whose saturated sum is not followed by a lower clamp. `weighted` words
    are sums with factors. `element`: all values, if their formats do not suit words.
    """
    has_clamp = layer.activation.low >= 0
    return _lane_work(layer, lanes, halvings=1, sums=1, clamps=has_clamp, whole=not has_clamp)


def exact_sum_work(
    quantized: QuantizedLayer, layer: Layer, lanes: int, found: "LaneSum | None", *, is_weighted: bool = False
) -> Work:
    """Return the work of a sum, or rows of it, with its formats; `found` as the kernel uses it.

    Else factors multiply words if it `is_weighted`.
    """
    (low, high), y, size = quantized.clamp, quantized.formats.y, layer.out_shape.size
    if found is None and is_weighted:
        return _lane_work(layer, lanes, weighted=1)
    if found is None:
        return {"rest": size % 4, "element": size}
    clamps = (low > y.low) + (high < y.high)
    whole = found.sums > 0 and low == y.low
    return _lane_work(layer, lanes, halvings=found.halvings, sums=found.sums, clamps=clamps, whole=whole)


def _lane_work(layer: Layer, lanes: int, **of_a_word: float) -> Work:
    rest = layer.out_shape.size % (2 * lanes)
    words = (layer.out_shape.size - rest) / lanes
    return {"words": words, "rest": rest} | {part: count * words for part, count in of_a_word.items()}


class LaneSum(NamedTuple):
    """y = round(fine / 2^fine_bits + coarse / 2^coarse_bits) * 2^doublings, where fine_bits >= max(coarse_bits, 0).

    `fine` and `coarse` are indices of the inputs.
    """

    fine: int
    coarse: int
    fine_bits: int
    coarse_bits: int
    doublings: int

    @property
    def halvings(self) -> int:
        """Halvings of a word, among them the one that adds two words."""
        return self.fine_bits + max(-self.coarse_bits, 0)

    @property
    def sums(self) -> int:
        """Saturated sums of two words."""
        return self.doublings + (1 - 2 * self.coarse_bits if self.coarse_bits <= 0 else 0)

    @classmethod
    def of(cls, quantized: QuantizedLayer) -> "LaneSum | None":
        """Return the sum that an Add computes; None if a ratio is no power of two or a zero point is not 0."""
        layer, formats = quantized.layer, quantized.formats
        if not isinstance(layer, Add) or any(x.bits != formats.y.bits for x in formats.inputs):
            return None
        bits = shift_bits(layer.alignment(formats))
        if not bits:
            return None
        (coarse_bits, coarse), (fine_bits, fine) = sorted((own, k) for k, own in enumerate(bits))
        doublings = max(-fine_bits, 0)
        found = cls(fine, coarse, fine_bits + doublings, coarse_bits + doublings, doublings)
        return found if max(map(abs, found[2:])) < formats.y.bits else None
