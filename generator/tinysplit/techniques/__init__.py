"""One file a technique; `TECHNIQUES` lists them all, the faster before the slower."""

from enum import StrEnum

from tinysplit.layers.base import Layer
from tinysplit.techniques.base import DSP_CORES, Technique, Widths
from tinysplit.techniques.byte_lanes import ByteLanes
from tinysplit.techniques.direct import Direct
from tinysplit.techniques.dual_mac import DualMac
from tinysplit.techniques.packed import Packed
from tinysplit.techniques.planes import Planes
from tinysplit.techniques.sliding import Sliding
from tinysplit.techniques.unpacked import Unpacked
from tinysplit.techniques.wide import Wide

TECHNIQUES: tuple[Technique, ...] = (
    DualMac(),
    Planes(),
    ByteLanes(),
    Packed(),
    Unpacked(),
    Wide(),
    Sliding(),
    Direct(),
)


class Optimize(StrEnum):
    """What kernels and places of tensors are chosen for."""

    CYCLES = "cycles"
    RAM = "ram"


def candidates(layer: Layer, core: str, widths: Widths) -> tuple[Technique, ...]:
    """Return the techniques that can compute `layer` on `core` (GCC's -mcpu name), the fastest first."""
    return tuple(technique for technique in TECHNIQUES if technique.fits(layer, core, widths))


def choose(layer: Layer, core: str, widths: Widths, optimize: Optimize = Optimize.CYCLES) -> Technique:
    """Return the fastest technique for `layer` on `core`, or the fastest of those that need least RAM."""
    suited = candidates(layer, core, widths)
    return suited[0] if optimize is Optimize.CYCLES else min(suited, key=lambda each: each.span_bytes(layer, widths))


__all__ = ["DSP_CORES", "TECHNIQUES", "Direct", "Optimize", "Technique", "Widths", "candidates", "choose"]
