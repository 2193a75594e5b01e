"""The list of all kernels, and the choice of one for a layer: for fewest cycles, least RAM or least flash."""

from collections.abc import Callable
from functools import cache
from math import isinf

from tinysplit.common.choices import Optimize
from tinysplit.kernels.armv6m.packed import Packed
from tinysplit.kernels.armv6m.row_pairs import RowPairs
from tinysplit.kernels.armv6m.runs import RunsOfChannels
from tinysplit.kernels.armv6m.sliding import Sliding
from tinysplit.kernels.armv6m.streamed import Streamed
from tinysplit.kernels.armv6m.swar import Swar
from tinysplit.kernels.armv6m.two_windows import TwoWindows
from tinysplit.kernels.armv6m.unpacked import Unpacked, UnpackedTo8K, UnpackedTo16K
from tinysplit.kernels.armv6m.wide import Wide
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.kernels.direct import Direct
from tinysplit.kernels.dsp.byte_lanes import ByteLanes
from tinysplit.kernels.dsp.dual_mac import DualMac
from tinysplit.kernels.dsp.dual_matmul import DualMatMul
from tinysplit.kernels.dsp.lanes import Lanes
from tinysplit.kernels.dsp.long_mac import LongMac
from tinysplit.kernels.dsp.planes import Planes
from tinysplit.kernels.dsp.winograd import Winograd
from tinysplit.kernels.equal_layers import of_equal_shapes
from tinysplit.kernels.paired_gates import PairedGates
from tinysplit.kernels.view import View
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer

TABLE_ERROR = 0.1  # relative error of predicted cycles among layers of one kind: smaller differences are ignored
SAME_COSTS_ERROR = 0.02  # the same of kernels that share entries of the cost table, whose errors are alike
FLASH_TOLERANCE = 0.1  # relative: kernels within this margin of the least flash are equivalent
KERNELS: tuple[Kernel, ...] = (  # fastest first; the order breaks ties in the cost table
    DualMac(),
    DualMatMul(),
    PairedGates(),
    Planes(),
    ByteLanes(),
    Lanes(),
    Packed(),
    TwoWindows(),
    Unpacked(),
    UnpackedTo8K(),
    UnpackedTo16K(),
    Streamed(),
    Wide(),
    RowPairs(),
    Sliding(),
    RunsOfChannels(),
    Swar(),
    Direct(),
    View(),
    Winograd(),
    LongMac(),
)


def candidates(layer: Layer, core: str, widths: Widths) -> tuple[Kernel, ...]:
    """Return the kernels that can compute `layer` on `core` (GCC's -mcpu name), in the order of `KERNELS`."""
    return _candidates(core, layer, widths)


@of_equal_shapes
def _candidates(core: str, layer: Layer, widths: Widths) -> tuple[Kernel, ...]:
    return tuple(kernel for kernel in KERNELS if kernel.fits(layer, core, widths))


def is_named(kernel: Kernel, layer: Layer, name: str) -> bool:
    """Return whether `name` is that of the kernel or of its processing scheme."""
    return name in {kernel.name, kernel.scheme(layer)}


def no_waits(kernel: Kernel) -> float:  # noqa: ARG001 - of any kernel
    """Return the waits for ideal memory."""
    return 0.0


def choose(
    table: CycleTable,
    layer: Layer,
    core: str,
    widths: Widths,
    optimize: Optimize = Optimize.CYCLES,
    name: str | None = None,
    waits: Callable[[Kernel], float] = no_waits,
) -> Kernel:
    """Return the kernel for `layer` on `core` that is predicted to be the fastest: by the cost `table` and its `waits`.

    With `Optimize.RAM` only kernels that need the least RAM compete, with `Optimize.FLASH` those within
    `FLASH_TOLERANCE` of the least flash. `name`, of a kernel or a scheme, restricts the choice to kernels of that name
    if there are any. Kernels that take much flash have to be named.
    """
    every = candidates(layer, core, widths)
    competing = tuple(each for each in every if not each.takes_much_flash)
    if name:
        competing = tuple(each for each in every if is_named(each, layer, name)) or competing
    if optimize is Optimize.RAM:
        competing = _least_ram(competing, layer, widths)
    if optimize is Optimize.FLASH:
        competing = _little_flash(table, competing, layer, core, widths)
    if len(competing) == 1:
        return competing[0]
    waits, fastest = cache(waits), competing[0]
    predicted = {each: predicted_cycles(table, each, layer, core, widths) for each in competing}
    for each in competing[1:]:
        cycles, others = predicted[each], predicted[fastest]
        if cycles is None or others is None:
            continue
        own, least = waits(each), waits(fastest)
        if isinf(own) and isinf(least):  # neither fits: the smaller one may on another board, or fused
            is_better = each.span_bytes(layer, widths) < fastest.span_bytes(layer, widths)
        else:
            is_better = cycles + own < (1 - table_error(each, fastest, layer)) * (others + least)
        if is_better:
            fastest = each
    return fastest


def table_error(kernel: Kernel, other: Kernel, layer: Layer) -> float:
    """Return the relative difference of predicted cycles from which on one of two kernels is taken to be faster."""
    return SAME_COSTS_ERROR if kernel.cost_kind(layer) == other.cost_kind(layer) else TABLE_ERROR


def _least_ram(kernels: tuple[Kernel, ...], layer: Layer, widths: Widths) -> tuple[Kernel, ...]:
    spans = [each.span_bytes(layer, widths) for each in kernels]
    return tuple(each for each, span in zip(kernels, spans, strict=True) if span == min(spans))


def _little_flash(
    table: CycleTable, kernels: tuple[Kernel, ...], layer: Layer, core: str, widths: Widths
) -> tuple[Kernel, ...]:
    sizes = [flash_bytes(table, each, layer, core, widths) for each in kernels]
    return tuple(each for each, size in zip(kernels, sizes, strict=True) if size <= (1 + FLASH_TOLERANCE) * min(sizes))


def flash_bytes(table: CycleTable, kernel: Kernel, layer: Layer, core: str, widths: Widths) -> int:
    """Return the bytes of flash that a layer takes: its constants, and its code according to the cost table."""
    return kernel.weights_bytes(layer, widths) + code_bytes(table, kernel, layer, core, widths)


def code_bytes(table: CycleTable, kernel: Kernel, layer: Layer, core: str, widths: Widths) -> int:
    """Return the bytes of a layer's code according to the cost table, without the firmware library's functions."""
    return table.kernel(core, max(widths.x, widths.w), kernel.cost_kind(layer)).code_bytes


def predicted_cycles(table: CycleTable, kernel: Kernel, layer: Layer, core: str, widths: Widths) -> float | None:
    """Return the predicted cycles of a kernel, None if the cost table has no measurement of it."""
    costs = table.measured(core, max(widths.x, widths.w), kernel.cost_kind(layer))
    return costs.of(kernel.work(layer, widths)) if costs else None
