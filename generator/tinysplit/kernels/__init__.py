"""One file a kernel; `KERNELS` lists them all, the faster before the slower where the table cannot say."""

from enum import StrEnum

from tinysplit.kernels.base import DSP_CORES, Kernel
from tinysplit.kernels.byte_lanes import ByteLanes
from tinysplit.kernels.cost_table import load_cycle_table
from tinysplit.kernels.direct import Direct
from tinysplit.kernels.dual_mac import DualMac
from tinysplit.kernels.lanes import Lanes
from tinysplit.kernels.packed import Packed
from tinysplit.kernels.planes import Planes
from tinysplit.kernels.scheme import Scheme
from tinysplit.kernels.sliding import Sliding
from tinysplit.kernels.swar import Swar
from tinysplit.kernels.unpacked import Unpacked
from tinysplit.kernels.wide import Wide
from tinysplit.kernels.winograd import Winograd
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer

TABLE_ERROR = 0.1  # of predictions for layers of one kind: what is nearer counts as equal
LITTLE_FLASH = 0.1  # more than the least is not worth a slower kernel
KERNELS: tuple[Kernel, ...] = (
    DualMac(),
    Planes(),
    ByteLanes(),
    Lanes(),
    Packed(),
    Unpacked(),
    Wide(),
    Sliding(),
    Swar(),
    Direct(),
    Winograd(),
)


class Optimize(StrEnum):
    """What kernels and places of tensors are chosen for."""

    CYCLES = "cycles"
    RAM = "ram"
    FLASH = "flash"


def candidates(layer: Layer, core: str, widths: Widths) -> tuple[Kernel, ...]:
    """Return the kernels that can compute `layer` on `core` (GCC's -mcpu name), the fastest first."""
    return tuple(kernel for kernel in KERNELS if kernel.fits(layer, core, widths))


def is_named(kernel: Kernel, layer: Layer, name: str) -> bool:
    """Return whether `name` is that of the kernel or of its scheme."""
    return name in {kernel.name, kernel.scheme(layer)}


def choose(
    layer: Layer, core: str, widths: Widths, optimize: Optimize = Optimize.CYCLES, name: str | None = None
) -> Kernel:
    """Return the fastest kernel for `layer` on `core`, or the fastest of those that need least RAM or little flash.

    With the `name` of a kernel or scheme only those of that name count, where there are any.
    """
    every = candidates(layer, core, widths)
    suited = tuple(each for each in every if each.is_automatic)
    if name:
        suited = tuple(each for each in every if is_named(each, layer, name)) or suited
    if optimize is Optimize.RAM:
        suited = _least_ram(suited, layer, widths)
    if optimize is Optimize.FLASH:
        suited = _little_flash(suited, layer, core, widths)
    fastest = suited[0]
    for each in suited[1:]:
        if _is_faster(each, fastest, layer, core, widths):
            fastest = each
    return fastest


def _least_ram(suited: tuple[Kernel, ...], layer: Layer, widths: Widths) -> tuple[Kernel, ...]:
    spans = [each.span_bytes(layer, widths) for each in suited]
    return tuple(each for each, span in zip(suited, spans, strict=True) if span == min(spans))


def _little_flash(suited: tuple[Kernel, ...], layer: Layer, core: str, widths: Widths) -> tuple[Kernel, ...]:
    sizes = [flash_bytes(each, layer, core, widths) for each in suited]
    return tuple(each for each, size in zip(suited, sizes, strict=True) if size <= (1 + LITTLE_FLASH) * min(sizes))


def _is_faster(one: Kernel, other: Kernel, layer: Layer, core: str, widths: Widths) -> bool:
    """Return whether `one` takes fewer cycles by the table, in which both have to be, by more than its error."""
    cycles, others = (predicted_cycles(each, layer, core, widths) for each in (one, other))
    return cycles is not None and others is not None and cycles < (1 - TABLE_ERROR) * others


def flash_bytes(kernel: Kernel, layer: Layer, core: str, widths: Widths) -> int:
    """Return what a layer takes of flash: its constants, and its code as the table has it."""
    costs = load_cycle_table().kernel(core, max(widths.x, widths.w), kernel.cost_kind(layer))
    return kernel.weights_bytes(layer, widths) + costs.code_bytes


def predicted_cycles(kernel: Kernel, layer: Layer, core: str, widths: Widths) -> float | None:
    """Return the cycles of a kernel by the table, None where it was never measured."""
    costs = load_cycle_table().measured(core, max(widths.x, widths.w), kernel.cost_kind(layer))
    return costs.of(kernel.work(layer, widths)) if costs else None


__all__ = [
    "DSP_CORES",
    "KERNELS",
    "Direct",
    "Kernel",
    "Optimize",
    "Scheme",
    "candidates",
    "choose",
    "flash_bytes",
    "is_named",
    "predicted_cycles",
]
