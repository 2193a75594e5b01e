"""The interface of a kernel: the layers and cores it supports, its packed constants, its scratch buffer, its costs.

A kernel is one way to compute a kind of layer: one module of this package, and one C template for each kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.kernels.code_parts import Code, usual_code
from tinysplit.kernels.cost_table import Work, exact_average_work, exact_sum_parts, plain_work, pool_work
from tinysplit.kernels.equal_layers import of_equal_layers, of_equal_shapes
from tinysplit.kernels.in_place import Lead, elementwise_lead
from tinysplit.kernels.memory_traffic import Loads, block_loads, step_loads, table_loads
from tinysplit.kernels.row_order import RowOrder, usual_order
from tinysplit.kernels.scheme import Scheme, usual_scheme
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.layer_formats import Group
from tinysplit.network.layers.add import Add
from tinysplit.network.layers.average_pool import AveragePool
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.lookup import Lookup
from tinysplit.network.layers.pool import Pool
from tinysplit.network.layers.recurrent import Recurrent
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.quantized_graph import QuantizedLayer

BIAS_BYTES = 4
_OF_SHAPES = frozenset({"scratch_bytes", "lead", "span_bytes", "cost_kind"})  # what they return is kept
_OF_LAYERS = frozenset({"weights_bytes", "expected_weights_bytes", "loads", "work"})


@dataclass(frozen=True)
class StraightCode:
    """Code that a kernel executes from its begin to its end, `passes` times one after the other.

    `work` are the parts of the cost table that one pass executes.
    """

    size_bytes: int
    passes: int
    work: Work


@dataclass(frozen=True)
class KernelContext:
    """Base of the template contexts of kernels: the variable `kernel` in their templates."""


class Kernel(ABC):
    """One way to compute layers of some kinds.

    `name` is also the name of the module, of the folder of its templates and, without a `cost_name`, of its entries in
    the cost table. `fits`, `scratch_bytes` and `lead` must not depend on the weights: splits are solved before the
    weights are quantized. What they return is kept for all layers of a shape, and that of `_OF_LAYERS` for layers that
    are equal but for their names.
    """

    name: ClassVar[str]
    cost_name: ClassVar[str] = ""  # of the kernel whose entries of the cost table also have its parts
    takes_much_flash: ClassVar[bool] = False  # selected only where a board's flash has room: see `KernelChoice`
    takes_much_ram: ClassVar[bool] = False  # selected only on a board that has all of a network
    depends_on_weights: ClassVar[bool] = False  # its code does: other weights may need another one
    unrolled_columns: ClassVar[int] = 5  # most columns of a pool's window over which the compiler unrolls a loop
    reads_forward: ClassVar[bool] = False  # each array of constants from begin to end, one word after the other
    suits_fused_rows: ClassVar[bool] = True  # computing a few rows at a time needs no more cycles than the whole layer

    @override
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for names, kept in ((_OF_SHAPES, of_equal_shapes), (_OF_LAYERS, of_equal_layers)):
            for name in names & vars(cls).keys():
                setattr(cls, name, kept(getattr(cls, name)))

    @abstractmethod
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """Return whether this kernel can compute `layer` on `core` (GCC's -mcpu name)."""

    @abstractmethod
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        """Return the bytes of RAM, a multiple of 4, that the kernel needs beside input and output while it runs."""

    @of_equal_shapes
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        """Return how far before input k the output must begin to share its memory; None if it must not share any.

        `widths.x` is the width of input k.
        """
        return elementwise_lead(layer.out_shape.size, widths) if layer.is_elementwise(k) else None

    def row_order(self, layer: Layer, widths: Widths) -> RowOrder:
        """Return in which order the kernel reads input rows and completes output rows, or why in none.

        The template of a layer with a window calls the hooks of `stream` in its loop over output rows.
        """
        return usual_order(layer)

    @of_equal_shapes
    def span_bytes(self, layer: Layer, widths: Widths) -> int:
        """Return the bytes of the first input, the output in place as far as allowed, and the scratch buffer."""
        lead, in_bytes = self.lead(layer, 0, widths), layer.in_shape.size * widths.x // 8
        out_bytes = layer.out_shape.size * widths.y // 8
        distance = out_bytes if lead is None else min(max(lead.least_bytes, 0), out_bytes)
        return max(in_bytes + distance, out_bytes) + self.scratch_bytes(layer, widths)

    @of_equal_layers
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        """Return an upper bound of the bytes of `constants` in flash, for any scales and zero points."""
        if isinstance(layer, Lookup):
            return layer.table_bytes(widths.x, widths.y)
        border_bytes = BIAS_BYTES * layer.out_shape.channels if layer.has_padding else 0
        return layer.weights_bytes(widths.w) + border_bytes

    @of_equal_layers
    def expected_weights_bytes(self, layer: Layer, widths: Widths) -> int:
        """Return the bytes of `constants` that are expected before weights have a format."""
        return self.weights_bytes(layer, widths)

    def packing(self, layer: Layer) -> Hashable:
        """Return what the order of `constants` depends on beside the weights: tiles of one packing share them."""
        return None

    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        """Return the arrays that the kernel reads from flash, by name, in the layout in which it reads them."""
        return quantized.constants

    def scheme(self, layer: Layer) -> Scheme:
        """Return the processing scheme of the kernel (Singh 2024)."""
        return usual_scheme(layer)

    @of_equal_layers
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        """Return the bytes that the kernel reads; by default for one output at a time."""
        if isinstance(layer, Lookup | Softmax):
            return table_loads(layer, widths)
        if isinstance(layer, Recurrent):
            return step_loads(layer, self.weights_bytes(layer, widths))
        return block_loads(layer, self.weights_bytes(layer, widths), widths.x // 8)

    def load_bytes(self, layer: Layer, widths: Widths) -> float:
        """Return the bytes of constants that one load instruction reads, on average."""
        return WORD_BYTES

    def context(self, quantized: QuantizedLayer) -> KernelContext:
        """Return the variable `kernel` of the template."""
        return KernelContext()

    def packed_groups(self, quantized: QuantizedLayer) -> tuple[Group, ...]:
        """Return the groups of inputs that the code for these weights sums in 16 bits, empty if there are none."""
        return ()

    def shared_code(self, layer: Layer) -> str | None:
        """Return the prefix of the functions that the C file of `layer` defines for several layers, None if none."""
        return None

    def code(self, layer: Layer, widths: Widths) -> Code:
        """Return how often the code for `layer` has each part; the cost table has the bytes of each part."""
        return Code(usual_code(layer, widths))

    def exact_code(self, quantized: QuantizedLayer) -> Code:
        """Return `code` with what was an estimate before weights and values had formats."""
        return self.code(quantized.stored(quantized.layer), Widths.of(quantized.formats))

    def template(self, layer: Layer) -> str:
        """Return the path of the template of `layer` in templates/."""
        return f"layers/{self.name}/{layer.kind}.c.j2"

    @of_equal_layers
    def work(self, layer: Layer, widths: Widths) -> Work:
        """Return how often each part of the kernel runs for `layer`; the cost table has the cycles of each part."""
        if isinstance(layer, Pool):
            return pool_work(layer, layer.window, self.unrolled_columns)
        return plain_work(layer)

    def quantized_work(self, layer: Layer, quantized: QuantizedLayer) -> Work:
        """Return the work for `layer`, which is that of `quantized` or rows of it, by its weights and formats."""
        stored = quantized.stored(layer)
        return self.exact_work(stored, self.work(stored, Widths.of(quantized.formats)), quantized)

    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        """Return `work` for `layer` with the parts that were estimates before weights and values had formats."""
        if isinstance(layer, AveragePool):
            return {**work, **exact_average_work(quantized, layer, work)}
        return {**work, **exact_sum_parts(quantized, layer)} if isinstance(layer, Add) else work

    def straight_code(self, layer: Layer, widths: Widths) -> StraightCode | None:
        """Return the straight code of a kernel that small code caches cannot hold, None if all its loops are short."""
        return None

    def cost_kind(self, layer: Layer) -> str:
        """Return the key of `layer` and this kernel in the cost table."""
        return f"{layer.cost_kind}/{self.cost_name or self.name}"
