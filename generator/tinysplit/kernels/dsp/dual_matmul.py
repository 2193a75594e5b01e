"""Products of two activations by SMLAD: the matrix of each head is packed as weights of `dual_mac`, which then runs.

A head is a pointwise convolution: rows are its pixels, and the columns of the second matrix its output channels. What
`dual_mac` has in flash is written to the scratch buffer, once for all rows.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override

from tinysplit.kernels.base import Kernel, KernelContext
from tinysplit.kernels.code_parts import Code
from tinysplit.kernels.cores import DSP_CORES
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.dsp.conv_code import conv_code
from tinysplit.kernels.dsp.dual_mac import (
    BLOCK,
    VALUE_BITS,
    DualMacContext,
    PartContext,
    fits_library,
    part_work,
    tail_of,
)
from tinysplit.kernels.dsp.high_products import Epilogue
from tinysplit.kernels.dsp.parts import ConvPart
from tinysplit.kernels.memory_traffic import Loads, block_loads
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.integer_layer import IntegerParameters
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.matmul import MatMul
from tinysplit.network.layers.window import Window
from tinysplit.network.quantized_graph import QuantizedLayer

WORD_BYTES = 4
WORDS_BESIDE = 2 * BLOCK  # of a block: biases and factors
LARGEST_SCRATCH_BYTES = 16384


@dataclass(frozen=True)
class DualMatMulContext(KernelContext):
    """Template context: the convolution of a head, and what packs its weights."""

    conv: DualMacContext
    factor: int
    offset: int
    blocks: int  # of four columns
    weights_begin: int  # in the scratch buffer, behind the strip
    is_grouped: bool  # values lie in groups of four in the order 0 2 1 3


class DualMatMul(Kernel):
    """The second matrix of a head is packed as weights; then blocks of two rows and four columns are computed."""

    name: ClassVar[str] = "dual_matmul"

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in DSP_CORES or not isinstance(layer, MatMul):
            return False
        is_small = self.scratch_bytes(layer, widths) <= LARGEST_SCRATCH_BYTES
        return is_small and fits_library(_part(layer).strips(widths.x // 8))

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # a strip, and the packed matrix of a head
        part = _part(layer)
        return part.strips(widths.x // 8).scratch_bytes + _weights_bytes(part)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        """Count what `dual_mac` does for all heads, and `packed` elements and `columns` of the second matrices.

        Their rows lie apart unless they are `packed_rows`, whose elements follow each other.
        """
        part = _part(layer)
        columns = part.repeats * part.channels
        name = "packed_rows" if isinstance(layer, MatMul) and layer.transposed else "packed"
        return {
            **part_work(part, has_own_loop=False),
            name: columns * part.layer.in_shape.channels,
            "columns": columns,
            "heads": part.repeats,
        }

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # packed matrices are read from RAM as weights are elsewhere from flash
        part = _part(layer)
        moved = part.strips(widths.x // 8).moved * widths.x // 8
        own = block_loads(part.layer, _weights_bytes(part), 2, pixels=2, channels=BLOCK, copied_bytes=moved)
        return Loads(0, part.repeats * sum(own))

    @override
    def context(self, quantized: QuantizedLayer) -> DualMatMulContext:
        layer, formats = cast("MatMul", quantized.layer), quantized.formats
        part = _part(layer)
        strips, requantization = part.strips(formats.x.bits // 8), layer.requantization(formats)
        own = LayerFormats((formats.x,), formats.y, VALUE_BITS, requantization)
        weights = part.layer.parameters["weights"].astype(np.int16)
        none = IntegerParameters(weights, np.zeros(part.channels, np.int32))
        conv = QuantizedLayer(layer=part.layer, formats=own, parameters=none)
        epilogue = Epilogue.of(conv, may_mask=formats.y.bits == VALUE_BITS)
        flags = {"DSP_CONV_HIGH": epilogue.is_high, "DSP_CONV_INTERLEAVED": strips.are_interleaved}
        described = PartContext(
            part=part,
            strips=strips,
            constants="",
            repeat_words=0,
            block_words=_block_words(part),
            flags=tuple(name for name, is_set in flags.items() if is_set),
            has_own_one=False,
            has_own_pixels=False,
            two="dsp_conv_wide_interleaved",
            one="dsp_conv_wide_one",
            rows="",
            variant="",
        )
        return DualMatMulContext(
            conv=DualMacContext(epilogue, "wide", tail_of(epilogue, "wide", conv), (described,)),
            factor=int(epilogue.factors[0]),
            offset=requantization.offset(formats.y.zero_point),
            blocks=-(-part.channels // BLOCK),
            weights_begin=strips.scratch_bytes,
            is_grouped=strips.is_grouped,
        )

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        return conv_code((_part(layer),), widths, "wide", "", "any" if widths.y != VALUE_BITS else "")

    @override
    def exact_code(self, quantized: QuantizedLayer) -> Code:
        # formats decide how outputs are clamped
        any_outputs = self.context(quantized).conv.any_outputs
        widths = Widths.of(quantized.formats)
        return conv_code((_part(quantized.layer),), widths, "wide", "", any_outputs)


@lru_cache(maxsize=256)
def _part(layer: Layer) -> ConvPart:
    """Return the convolution of a head, as often as there are heads."""
    rows, heads, terms = layer.in_shape
    columns = layer.out_shape.channels
    conv = Conv(
        name=layer.name,
        inputs=layer.inputs[:1],
        output=layer.output,
        in_shape=Shape(1, rows, terms),
        activation=layer.activation,
        weights=np.broadcast_to(np.float32(0), (columns, 1, 1, terms)),
        bias=np.broadcast_to(np.float32(0), columns),
        window=Window((1, 1)),
    )
    return ConvPart(conv, heads * terms, heads * columns, rows * heads * columns, repeats=heads)


def _block_words(part: ConvPart) -> int:
    """Return the words of a block of four columns: biases, a word for each pair of terms and column, and factors."""
    return WORDS_BESIDE + BLOCK * part.strips(1).pairs


def _weights_bytes(part: ConvPart) -> int:
    return -(-part.channels // BLOCK) * _block_words(part) * WORD_BYTES
