"""Estimated cycles of a layer's kernel, from the cost table."""

from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedLayer


def kernel_cycles(
    table: CycleTable,
    layer: Layer,
    core: str,
    widths: Widths,
    kernel: Kernel,
    times: int = 1,
    quantized: QuantizedLayer | None = None,
) -> float:
    """Return the estimated cycles of `kernel` for `layer`, run `times` times, on a core (GCC's -mcpu name).

    Weights and formats of `quantized` make the estimate better.

    Raises ToolError if neither the kernel nor the plain kernel of this kind of layer was measured on the core.
    """
    costs = table.kernel(core, max(widths.x, widths.w), kernel.cost_kind(layer))
    return costs.of(kernel.quantized_work(layer, quantized) if quantized else kernel.work(layer, widths), times)
