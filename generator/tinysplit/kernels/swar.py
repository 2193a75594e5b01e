"""Sums and pools of bytes on Cortex-M0+, four in a word ("SIMD within a register", `firmware/common/swar.h`)."""

from typing import ClassVar

from tinysplit.kernels import armv6m
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.byte_lanes import LANES, LARGEST_WINDOW
from tinysplit.kernels.copy_maps import copies_lead
from tinysplit.kernels.in_place import Lead, channelwise_lead
from tinysplit.kernels.lanes import LaneSum, run_bits
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.add import Add
from tinysplit.network.layers.average_pool import AveragePool
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.max_pool import MaxPool
from tinysplit.network.quantized_graph import QuantizedLayer

CLAMPS = ((-128, 127), (0, 127))


class Swar(Kernel):
    """Words of four channels or elements; where formats or signs do not suit, one after the other."""

    name: ClassVar[str] = "swar"

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Kernel.fits`."""
        if core != armv6m.CORE or widths != Widths.all(armv6m.BITS):
            return False
        if isinstance(layer, MaxPool | AveragePool):
            return layer.in_shape.channels % LANES == 0 and layer.window.elements <= LARGEST_WINDOW
        if isinstance(layer, Concat):
            return all(shape.channels % LANES == 0 for shape in layer.in_shapes)
        return isinstance(layer, Add) and layer.in_shapes == (layer.out_shape, layer.out_shape)

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - any will do
        """See `Kernel.scratch_bytes`."""
        return 0

    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        """See `Kernel.lead`: a word is written when all of its channels was read."""
        if isinstance(layer, MaxPool | AveragePool):
            return channelwise_lead(layer, layer.window, widths)
        return copies_lead(layer, k, widths) if isinstance(layer, Concat) else super().lead(layer, k, widths)

    def facts(self, quantized: QuantizedLayer) -> dict[str, object]:
        """See `Kernel.facts`: `sum` is how words are added, None where elements are; `runs` how they are copied."""
        runs = [bits if bits is not None and bits >= 0 else None for bits in run_bits(quantized)]
        found = LaneSum.of(quantized)
        suits = found is not None and found.coarse_bits >= 0 and found.doublings == 0 and quantized.clamp in CLAMPS
        runs = runs if quantized.clamp == CLAMPS[0] else [None] * len(runs)
        return {"sum": found if suits else None, "signed": armv6m.is_signed(quantized), "runs": runs}
