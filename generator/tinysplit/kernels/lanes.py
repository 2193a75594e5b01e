"""Sums element by element, and pools of 16 bits, on DSP cores: four bytes or two halves of a word in one instruction.

Where ratios of scales are powers of two, a sum y = round(a / 2^j + b / 2^i) needs no 32 bits. With i <= j:

- i <= 0: a / 2^j is rounded by itself, in j halvings, of which the first adds half a step. It is added to b with
  saturation; b * 2 + r is u + u + (r mod 2), where u = b + floor(r / 2): three saturated sums.
- i > 0: what a has below the steps of b is dropped first, which the rounding of the sum behind it would do.
"""

from typing import ClassVar, NamedTuple

from tinysplit.kernels.base import DSP_CORES, Kernel
from tinysplit.kernels.copy_maps import copies_lead
from tinysplit.kernels.in_place import Lead, channelwise_lead
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.add import Add
from tinysplit.network.layers.average_pool import AveragePool
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.joining import Alignment
from tinysplit.network.layers.max_pool import MaxPool
from tinysplit.network.layers.mul import Mul
from tinysplit.network.quantized_graph import QuantizedLayer

WORD_BITS = 32
POOL_BITS, POOL_LANES = 16, 2
LARGEST_WINDOW = 1 << 15  # elements of 16 bits whose sum fits 32


def shift_bits(alignment: Alignment) -> list[int]:
    """Return j of every input, whose ratio is 1 / 2^j; none where one is no power of two, or there are zero points."""
    factors, offset, shift = alignment
    if any(factor < 0 or factor.bit_count() != 1 for factor in factors) or offset != (1 << shift) >> 1:
        return []
    return [shift - (factor.bit_length() - 1) for factor in factors]


def run_bits(quantized: QuantizedLayer) -> list[int | None]:
    """Return by how many bits lanes of each input of a Concat are shifted right, None where it takes more than that."""
    layer, formats = quantized.layer, quantized.formats
    if not isinstance(layer, Concat):
        return []
    found = []
    for x, alignment in zip(formats.inputs, layer.alignments(formats), strict=True):
        is_same = alignment == ((1,), 0, 0)
        bits = [0] if is_same else shift_bits(alignment)
        found.append(bits[0] if bits and x.bits == formats.y.bits and abs(bits[0]) < x.bits else None)
    return found


class LaneSum(NamedTuple):
    """y = round(fine / 2^fine_bits + coarse / 2^coarse_bits) * 2^doublings; `fine_bits` is the larger, and not below 0.

    `fine` and `coarse` are numbers of inputs.
    """

    fine: int
    coarse: int
    fine_bits: int
    coarse_bits: int
    doublings: int

    @classmethod
    def of(cls, quantized: QuantizedLayer) -> "LaneSum | None":
        """Return how lanes are added; None where ratios are no powers of two, or there are zero points."""
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


class Lanes(Kernel):
    """Words of both inputs, from the first to the last; a few elements of other formats at a time."""

    name: ClassVar[str] = "lanes"

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Kernel.fits`."""
        if core not in DSP_CORES or widths.x != widths.y:
            return False
        if isinstance(layer, MaxPool | AveragePool):
            has_sums = layer.window.elements <= LARGEST_WINDOW
            return widths.x == POOL_BITS and layer.in_shape.channels % POOL_LANES == 0 and has_sums
        in_a_word = WORD_BITS // widths.x
        if isinstance(layer, Concat):
            return all(shape.channels % in_a_word == 0 for shape in layer.in_shapes)
        are_alike = layer.in_shapes == (layer.out_shape, layer.out_shape)
        if isinstance(layer, Mul):
            return are_alike or layer.out_shape.channels % in_a_word == 0
        return isinstance(layer, Add) and are_alike

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - any will do
        """See `Kernel.scratch_bytes`."""
        return 0

    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        """See `Kernel.lead`: a word is written when all of its channels was read."""
        if isinstance(layer, MaxPool | AveragePool):
            return channelwise_lead(layer, layer.window, widths)
        if isinstance(layer, Concat):
            return copies_lead(layer, k, widths)
        return super().lead(layer, k, widths)

    def facts(self, quantized: QuantizedLayer) -> dict[str, object]:
        """See `Kernel.facts`."""
        in_a_word = WORD_BITS // quantized.formats.y.bits
        return {"lanes": LaneSum.of(quantized), "runs": run_bits(quantized), "in_a_word": in_a_word}
