"""Pools of bytes on DSP cores: the values of four channels in one word, compared or added together."""

from typing import ClassVar

from tinysplit.kernels.base import DSP_CORES, Kernel
from tinysplit.kernels.in_place import Lead, channelwise_lead
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.average_pool import AveragePool
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.max_pool import MaxPool

LANES = 4
LARGEST_WINDOW = 256  # elements whose sum fits 16 bits, whatever they are
NO_UPPER_CLAMP = ("", "ReLU")


class ByteLanes(Kernel):
    """Words of four channels, window by window; sums are halves of two words."""

    name: ClassVar[str] = "byte_lanes"

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Kernel.fits`."""
        if core not in DSP_CORES or widths != Widths.all(8) or layer.in_shape.channels % LANES:
            return False
        if isinstance(layer, AveragePool):
            return layer.window.elements <= LARGEST_WINDOW
        return isinstance(layer, MaxPool) and str(layer.activation) in NO_UPPER_CLAMP

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - any will do
        """See `Kernel.scratch_bytes`."""
        return 0

    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        """See `Kernel.lead`: four channels are written when all of theirs was read."""
        if isinstance(layer, MaxPool | AveragePool):
            return channelwise_lead(layer, layer.window, widths)
        return super().lead(layer, k, widths)
