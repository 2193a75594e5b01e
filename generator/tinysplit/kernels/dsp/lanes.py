"""Add, Mul, Concat and normalization, and pools of 16 bits: four bytes or two halfwords of a word at a time in SIMD.

CMSIS-NN adds element by element in 32 bits (arm_elementwise_add_s8); here sums whose ratios of scales are powers of
two stay in their lanes (`tinysplit.kernels.lane_sums`), and other bytes are multiplied one by one, from
the halves of a word.
"""

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from tinysplit.kernels.base import Kernel, KernelContext
from tinysplit.kernels.copy_maps import copies_lead
from tinysplit.kernels.cores import DSP_CORES
from tinysplit.kernels.cost_table import Work, concat_work, exact_concat_parts, expected_concat_work
from tinysplit.kernels.in_place import Lead, channelwise_lead, groups_lead
from tinysplit.kernels.lane_sums import LaneSum, concat_shifts, exact_sum_work, has_byte_sums, sum_work
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.add import Add
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.mul import Mul
from tinysplit.network.layers.normalization import Normalization
from tinysplit.network.layers.pool import Pool
from tinysplit.network.quantized_graph import QuantizedLayer

WORD_BITS = 32
POOL_BITS, POOL_LANES = 16, 2
BYTE_LANES = 4
LARGEST_WINDOW = 1 << 15  # elements of 16 bits whose sum always fits 32 bits


@dataclass(frozen=True)
class LanesContext(KernelContext):
    """Template context: how an Add sums lanes (None: with factors, by words or not), and the shifts of a Concat."""

    sum: LaneSum | None
    has_byte_sums: bool
    shifts: tuple[int | None, ...]
    lane_count: int  # values in a word


class Lanes(Kernel):
    """Words of all inputs in order; where scales or widths do not allow lanes, element by element."""

    name: ClassVar[str] = "lanes"

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in DSP_CORES or widths.x != widths.y:
            return False
        if isinstance(layer, Pool):
            has_sums = layer.window.elements <= LARGEST_WINDOW
            return widths.x == POOL_BITS and layer.in_shape.channels % POOL_LANES == 0 and has_sums
        lane_count = WORD_BITS // widths.x
        if isinstance(layer, Normalization):
            return lane_count == BYTE_LANES and layer.in_shape.channels // layer.groups % BYTE_LANES == 0
        if isinstance(layer, Concat):
            return all(shape.channels % lane_count == 0 for shape in layer.in_shapes)
        are_alike = layer.in_shapes == (layer.out_shape, layer.out_shape)
        if isinstance(layer, Mul):
            return are_alike or layer.out_shape.channels % lane_count == 0
        return isinstance(layer, Add) and are_alike

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        return 0

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # a word is written after all inputs of its channels were read
        if isinstance(layer, Pool):
            return channelwise_lead(layer, layer.window, widths)
        if isinstance(layer, Concat):
            return copies_lead(layer, k, widths)
        if isinstance(layer, Normalization):
            return groups_lead(layer, widths)
        return super().lead(layer, k, widths)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        if isinstance(layer, Concat):
            return expected_concat_work(layer, WORD_BITS // widths.x)
        return sum_work(layer, WORD_BITS // widths.x) if isinstance(layer, Add) else super().work(layer, widths)

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # formats decide how words are added
        if isinstance(layer, Add):
            lanes, is_weighted = WORD_BITS // quantized.formats.y.bits, has_byte_sums(quantized)
            return exact_sum_work(quantized, layer, lanes, LaneSum.of(quantized), is_weighted=is_weighted)
        if isinstance(layer, Concat):
            shifts = concat_shifts(quantized)
            parts = exact_concat_parts(quantized, layer, shifts)
            return {**concat_work(layer, WORD_BITS // quantized.formats.y.bits, shifts), **parts}
        return super().exact_work(layer, work, quantized)

    @override
    def context(self, quantized: QuantizedLayer) -> LanesContext:
        return LanesContext(
            sum=LaneSum.of(quantized),
            has_byte_sums=has_byte_sums(quantized),
            shifts=concat_shifts(quantized),
            lane_count=WORD_BITS // quantized.formats.y.bits,
        )
