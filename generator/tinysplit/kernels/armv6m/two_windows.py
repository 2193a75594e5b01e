"""The kernel `packed` for two neighbouring windows at a time: packed words are read once for both.

Words that lie in flash cost more in waits than in loads. Sums of groups are in registers, most of their totals on the
stack.
"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.common.alignment import aligned
from tinysplit.kernels.armv6m.packed import Packed, PackedContext, Packing, packed_context
from tinysplit.kernels.armv6m.pixels import CHANNELS, padded_inputs, windows_bytes
from tinysplit.kernels.code_parts import Code
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.in_place import Lead, window_lead
from tinysplit.kernels.memory_traffic import Loads, block_loads
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.quantized_graph import QuantizedLayer

WINDOWS = 2
WORK_OF_PIXELS = ("pairs", "loop", "group", "pixel", "block")  # `block` also with its rounding
CODE_OF_PIXELS = frozenset(("pairs", "groups", "looped"))


class TwoWindows(Packed):
    """Convolutions of 8 bits with few weights and an even number of outputs in a row."""

    name: ClassVar[str] = "two_windows"
    cost_name: ClassVar[str] = Packed.name
    takes_much_ram: ClassVar[bool] = True

    @override
    def straight_parts(self, layer: Layer) -> int:
        # twice as many registers leave more to an iteration
        return 1

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        has_pairs = isinstance(layer, Conv) and layer.window.elements > 1 and layer.out_shape.width % WINDOWS == 0
        return has_pairs and super().fits(layer, core, widths)

    @override
    def template(self, layer: Layer) -> str:
        # `packed` has the same one
        return f"layers/{Packed.name}/{layer.kind}.c.j2"

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # the values of two windows
        return WINDOWS * aligned(padded_inputs(layer)[0])

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # both windows are copied before their outputs are written
        if not isinstance(layer, Conv):
            raise TypeError(f"{layer.kind} has no windows")
        return window_lead(layer.in_shape, layer.out_shape, layer.window, WINDOWS, widths, reads_first=True)

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # packed words are read once for both windows
        weights_bytes, copied_bytes = self.weights_bytes(layer, widths), windows_bytes(layer, widths)
        return block_loads(layer, weights_bytes, 1, pixels=WINDOWS, channels=CHANNELS, copied_bytes=copied_bytes)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        # those of `packed` that are not of copying windows are `two_` parts, of each window
        return _of_two(super().work(layer, widths))

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        return _of_two(super().exact_work(layer, super().work(layer, Widths.of(quantized.formats)), quantized))

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        # of `packed`, but for the function of pixels
        own = super().code(layer, widths).own
        named = {f"two_{part}" if part in CODE_OF_PIXELS else part: count for part, count in own.items()}
        return Code({**named, "two_windows": 1.0})

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # the offsets of a group come before its weights
        blocks = Packing.of(quantized).blocks(quantized)
        words = np.concatenate([words for block in blocks for words in block.packed(offsets_first=True)])
        return {"weights": words.astype(np.uint32).view(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> PackedContext:
        return packed_context(quantized, quantized.layer.out_shape.channels, unpacks=False, windows=WINDOWS)


def _of_two(work: Work) -> Work:
    return {f"two_{part}" if part.endswith(WORK_OF_PIXELS) else part: count for part, count in work.items()}
