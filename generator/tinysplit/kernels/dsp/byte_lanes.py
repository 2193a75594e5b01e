"""Pools of 8-bit values, four channels in a word: SIMD within a 32-bit register, by SSUB8/SEL and SADD16.

CMSIS-NN pools 8-bit values with the same instructions (arm_max_pool_s8, arm_avgpool_s8).
"""

from typing import ClassVar

from typing_extensions import override

from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cores import DSP_CORES
from tinysplit.kernels.in_place import Lead, channelwise_lead
from tinysplit.kernels.lane_sums import BYTES_IN_WORD, LARGEST_BYTE_WINDOW
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.average_pool import AveragePool
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.max_pool import MaxPool
from tinysplit.network.layers.pool import Pool

NO_UPPER_CLAMP = ("", "ReLU")


class ByteLanes(Kernel):
    """Four channels at a time, window by window; sums are 16 bits, two in a word."""

    name: ClassVar[str] = "byte_lanes"

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in DSP_CORES or widths != Widths.all(8) or layer.in_shape.channels % BYTES_IN_WORD:
            return False
        if isinstance(layer, AveragePool):
            return layer.window.elements <= LARGEST_BYTE_WINDOW
        return isinstance(layer, MaxPool) and str(layer.activation) in NO_UPPER_CLAMP

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        return 0

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # four channels are written after all of their inputs were read
        if isinstance(layer, Pool):
            return channelwise_lead(layer, layer.window, widths)
        return super().lead(layer, k, widths)
