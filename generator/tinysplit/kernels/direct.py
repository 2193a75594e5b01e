"""Plain C loops, the fallback for every layer, width and core (like the s8 reference kernels of TFLite Micro)."""

from typing import ClassVar

from typing_extensions import override

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.copy_maps import copies_lead
from tinysplit.kernels.cost_table import Work, exact_concat_parts, expected_concat_work
from tinysplit.kernels.in_place import Lead, channelwise_lead, groups_lead, window_lead
from tinysplit.kernels.memory_traffic import BYTE_BITS, VALUE_BYTES
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.lookup import Lookup
from tinysplit.network.layers.normalization import Normalization
from tinysplit.network.layers.pool import Pool
from tinysplit.network.layers.recurrent import Recurrent
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.quantized_graph import QuantizedLayer


class Direct(Kernel):
    """Portable C directly from the formula of the layer, with constants in the layout of the layer."""

    name: ClassVar[str] = "direct"
    unrolled_columns: ClassVar[int] = 3

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        return not layer.is_view

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        return layer.state_bytes if isinstance(layer, Recurrent) else 0

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # windows are read pixel by pixel, in pools and depthwise layers channel by channel
        if isinstance(layer, Conv):
            return window_lead(layer.in_shape, layer.out_shape, layer.window, 1, widths, reads_first=False)
        if isinstance(layer, DepthwiseConv | Pool):
            return channelwise_lead(layer, layer.window, widths)
        if isinstance(layer, Normalization):
            return groups_lead(layer, widths)
        copied = copies_lead(layer, k, widths)
        if copied is not None:
            return copied
        return super().lead(layer, k, widths)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        return expected_concat_work(layer, 1) if isinstance(layer, Concat) else super().work(layer, widths)

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        if isinstance(layer, Concat):
            return {**work, **exact_concat_parts(quantized, layer)}
        return super().exact_work(layer, work, quantized)

    @override
    def load_bytes(self, layer: Layer, widths: Widths) -> float:
        # value by value: of each channel also its bias and factor, or bias, multiplier and shift
        if isinstance(layer, Lookup):
            return widths.y / BYTE_BITS
        if isinstance(layer, Softmax | Recurrent):
            return VALUE_BYTES
        of_channel = 3 if layer.rounding else 2
        loads = sum(each.size * (of_channel if name == "bias" else 1) for name, each in layer.parameters.items())
        return layer.weights_bytes(widths.w) / loads if loads else WORD_BYTES

    @override
    def template(self, layer: Layer) -> str:
        # plain loops are in the folder itself
        return f"layers/{layer.kind}.c.j2"

    @override
    def cost_kind(self, layer: Layer) -> str:
        # the kind alone, under which layers without another kernel are measured
        return layer.cost_kind
