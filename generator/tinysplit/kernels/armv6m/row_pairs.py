"""Products of two activations on Cortex-M0+: blocks of two rows and two columns, from words in RAM.

The second matrix of a head is written there once, two columns in turn, and rows of the first one two at a time: LDM
loads two factors in three cycles, each of which is used twice.
"""

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from tinysplit.kernels.base import Kernel, KernelContext
from tinysplit.kernels.code_parts import Code, usual_code
from tinysplit.kernels.cores import NARROW_CORES
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.matmul import MatMul
from tinysplit.network.quantized_graph import QuantizedLayer

WORD_BYTES = 4
LONGEST_UNROLL = 8
LARGEST_SCRATCH_BYTES = 8192


@dataclass(frozen=True)
class RowPairsContext(KernelContext):
    """Template context."""

    unroll: int  # terms in an iteration of the inner loop
    columns: int  # of the second matrix, and one more where they are odd


class RowPairs(Kernel):
    """Two rows by two columns at a time; those beyond odd numbers repeat the last ones."""

    name: ClassVar[str] = "row_pairs"

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in NARROW_CORES or not isinstance(layer, MatMul):
            return False
        return self.scratch_bytes(layer, widths) <= LARGEST_SCRATCH_BYTES

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # two rows, and the columns of a head
        return WORD_BYTES * layer.in_shape.channels * (2 + _even(layer.out_shape.channels))

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        """Count blocks of two rows and two columns, their products and loops, and the elements that become words."""
        rows, heads, terms = layer.in_shape
        columns = _even(layer.out_shape.channels)
        blocks = heads * _even(rows) // 2 * columns // 2
        packed = heads * columns * terms
        name = "packed_columns" if isinstance(layer, MatMul) and layer.transposed else "packed_rows"
        return {
            "macc": 4 * blocks * terms,
            "loop": blocks * terms / _unroll(terms),
            "block": blocks,
            "packed": heads * _even(rows) * terms,
            name: packed,
            "pair": heads * _even(rows) // 2,
        }

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # both matrices once, then two words of each for a term of a block
        work = self.work(layer, widths)
        size = sum(shape.size for shape in layer.in_shapes)
        return Loads(0, round(work["macc"] * WORD_BYTES) + size * widths.x // 8)

    @override
    def context(self, quantized: QuantizedLayer) -> RowPairsContext:
        layer = quantized.layer
        return RowPairsContext(unroll=_unroll(layer.in_shape.channels), columns=_even(layer.out_shape.channels))

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        return Code({**usual_code(layer, widths), "terms": float(_unroll(layer.in_shape.channels))})


def _even(count: int) -> int:
    return count + count % 2


def _unroll(terms: int) -> int:
    """Return the terms in an iteration of the inner loop."""
    return next(count for count in range(min(terms, LONGEST_UNROLL), 0, -1) if terms % count == 0)
