"""What every kernel says about itself: the layers and cores it suits, its packed constants and its scratch buffer.

A kernel is one way to compute a kind of layer: one file in this package plus one C template a kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from tinysplit.kernels.cost_table import Work, plain_work, pool_work
from tinysplit.kernels.in_place import Lead, elementwise_lead
from tinysplit.kernels.memory_traffic import Loads, block_loads, table_loads
from tinysplit.kernels.scheme import Scheme, usual_scheme
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.average_pool import AveragePool
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.lookup import Lookup
from tinysplit.network.layers.max_pool import MaxPool
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.quantized_graph import QuantizedLayer

DSP_CORES = frozenset(("cortex-m4", "cortex-m7", "cortex-m33"))  # GCC's names of the cores with SMLAD and friends
BIAS_BYTES = 4


class Kernel(ABC):
    """One way to compute layers of some kinds; `name` is also its file's, its templates' folder's and its costs' name.

    `fits` and `scratch_bytes` must not depend on the weights: splits are chosen before there are any integers.
    """

    name: ClassVar[str]
    is_automatic: ClassVar[bool] = True  # chosen without being named
    straight: ClassVar[int] = 5  # columns of a pool's window that the compiler makes no loop of
    walks_rows: ClassVar[bool] = True  # a few rows at a time take no longer than all at once

    @abstractmethod
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """Return whether this kernel can compute `layer` on `core` (GCC's -mcpu name)."""

    @abstractmethod
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        """Return the bytes of RAM, aligned to a word, that the kernel needs beside input and output while it runs."""

    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        """Return how the output may lie over input k while that is read; None where it must lie elsewhere.

        `widths.x` is that of input k. It must not depend on the weights either.
        """
        return elementwise_lead(layer.out_shape.size, widths) if layer.is_elementwise(k) else None

    def span_bytes(self, layer: Layer, widths: Widths) -> int:
        """Return the bytes of the first input, the output over it as far as it may, and the scratch buffer."""
        lead, in_bytes = self.lead(layer, 0, widths), layer.in_shape.size * widths.x // 8
        out_bytes = layer.out_shape.size * widths.y // 8
        distance = out_bytes if lead is None else min(max(lead.least_bytes, 0), out_bytes)
        return max(in_bytes + distance, out_bytes) + self.scratch_bytes(layer, widths)

    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        """Return the bytes of `constants` in flash, at most: whatever the factors and zero points will be."""
        if isinstance(layer, Lookup):
            return layer.table_bytes(widths.x, widths.y)
        border_bytes = BIAS_BYTES * layer.out_shape.channels if layer.has_padding else 0
        return layer.weights_bytes(widths.w) + border_bytes

    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        """Return the arrays that the kernel reads, in the order in which it reads them."""
        return quantized.constants

    def scheme(self, layer: Layer) -> Scheme:
        """Return how the kernel of `layer` walks its values."""
        return usual_scheme(layer)

    def loads(self, layer: Layer, widths: Widths) -> Loads:
        """Return what the kernel reads: one output after the other, unless the kernel says otherwise."""
        if isinstance(layer, Lookup | Softmax):
            return table_loads(layer, widths)
        return block_loads(layer, self.weights_bytes(layer, widths), widths.x // 8)

    def facts(self, quantized: QuantizedLayer) -> dict[str, object]:  # noqa: ARG002 - what kernels override
        """Return what the template prints beside what all templates know."""
        return {}

    def shared_code(self, layer: Layer) -> str | None:  # noqa: ARG002 - what kernels override
        """Return how the names begin of functions that `layer` brings along and may share with others, if it does."""
        return None

    def template(self, layer: Layer) -> str:
        """Return the template of `layer`."""
        return f"layers/{self.name}/{layer.kind}.c.j2"

    def work(self, layer: Layer, widths: Widths) -> Work:  # noqa: ARG002 - any will do
        """Return how often the parts of the kernel of `layer` run, which its cycles follow from."""
        if isinstance(layer, MaxPool | AveragePool):
            return pool_work(layer, layer.window, self.straight)
        return plain_work(layer)

    def cost_kind(self, layer: Layer) -> str:
        """Return the key of `layer` in the table of cycles."""
        return f"{layer.cost_kind}/{self.name}"
