"""Add, Concat and pools of 8-bit values on Cortex-M0+, four in a word: SIMD within a register (SWAR) in plain C.

The arithmetic is that of firmware/common/swar.h.
"""

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from tinysplit.kernels.armv6m import common
from tinysplit.kernels.base import Kernel, KernelContext
from tinysplit.kernels.copy_maps import copies_lead
from tinysplit.kernels.cores import NARROW_CORES
from tinysplit.kernels.cost_table import Work, concat_work, exact_concat_parts, expected_concat_work
from tinysplit.kernels.in_place import Lead, channelwise_lead
from tinysplit.kernels.lane_sums import (
    BYTES_IN_WORD,
    LARGEST_BYTE_WINDOW,
    LaneSum,
    concat_shifts,
    exact_sum_work,
    sum_work,
)
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.add import Add
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.max_pool import MaxPool
from tinysplit.network.layers.pool import Pool
from tinysplit.network.quantized_graph import QuantizedLayer

ANY_BYTE, POSITIVE_BYTE = (-128, 127), (0, 127)  # clamps that words are brought to


@dataclass(frozen=True)
class SwarContext(KernelContext):
    """Template context: the sum of words of an Add (None: element by element), shifts of a Concat's inputs."""

    sum: LaneSum | None
    shifts: tuple[int | None, ...]
    is_signed: bool  # whether values of a pool may be negative


class Swar(Kernel):
    """Words of four channels or elements; where scales or signs do not allow it, one value after the other."""

    name: ClassVar[str] = "swar"

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in NARROW_CORES or widths != Widths.all(common.BITS):
            return False
        if isinstance(layer, Pool):
            return layer.in_shape.channels % BYTES_IN_WORD == 0 and layer.window.elements <= LARGEST_BYTE_WINDOW
        if isinstance(layer, Concat):
            return all(shape.channels % BYTES_IN_WORD == 0 for shape in layer.in_shapes)
        return isinstance(layer, Add) and layer.in_shapes == (layer.out_shape, layer.out_shape)

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        return 0

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # a word is written after all inputs of its channels were read
        if isinstance(layer, Pool):
            return channelwise_lead(layer, layer.window, widths)
        return copies_lead(layer, k, widths) if isinstance(layer, Concat) else super().lead(layer, k, widths)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        if isinstance(layer, Concat):
            return expected_concat_work(layer, BYTES_IN_WORD)
        if isinstance(layer, MaxPool) and layer.x_clamp.low < 0:  # negative values are compared one by one
            return {f"signed_{part}": count for part, count in super().work(layer, widths).items() if part != "signed"}
        return sum_work(layer, BYTES_IN_WORD) if isinstance(layer, Add) else super().work(layer, widths)

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # formats decide how words are added
        if isinstance(layer, Add):
            return exact_sum_work(quantized, layer, BYTES_IN_WORD, _sum(quantized))
        if isinstance(layer, Concat):
            shifts = self.context(quantized).shifts
            parts = exact_concat_parts(quantized, layer, shifts)
            return {**concat_work(layer, BYTES_IN_WORD, shifts), **parts}
        return super().exact_work(layer, work, quantized)

    @override
    def context(self, quantized: QuantizedLayer) -> SwarContext:
        shifts, has_any_byte = concat_shifts(quantized), quantized.clamp == ANY_BYTE
        return SwarContext(
            sum=_sum(quantized),
            shifts=tuple(bits if has_any_byte and bits is not None and bits >= 0 else None for bits in shifts),
            is_signed=common.is_signed(quantized),
        )


def _sum(quantized: QuantizedLayer) -> LaneSum | None:
    """Return the sum of words of an Add; None if its formats do not suit words of four."""
    found = LaneSum.of(quantized)
    suits = found and found.coarse_bits >= 0 and found.doublings == 0 and quantized.clamp in {ANY_BYTE, POSITIVE_BYTE}
    return found if suits else None
