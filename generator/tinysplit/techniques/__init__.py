"""One file a technique; `TECHNIQUES` lists them all, the faster before the slower."""

from tinysplit.layers.base import Layer
from tinysplit.techniques.base import DSP_CORES, Technique, Widths
from tinysplit.techniques.direct import Direct
from tinysplit.techniques.dual_mac import DualMac
from tinysplit.techniques.packed import Packed
from tinysplit.techniques.planes import Planes
from tinysplit.techniques.sliding import Sliding
from tinysplit.techniques.unpacked import Unpacked

TECHNIQUES: tuple[Technique, ...] = (DualMac(), Planes(), Packed(), Unpacked(), Sliding(), Direct())


def candidates(layer: Layer, core: str, widths: Widths) -> tuple[Technique, ...]:
    """Return the techniques that can compute `layer` on `core` (GCC's -mcpu name), the fastest first."""
    return tuple(technique for technique in TECHNIQUES if technique.fits(layer, core, widths))


def choose(layer: Layer, core: str, widths: Widths) -> Technique:
    """Return the fastest technique for `layer` on `core`."""
    return candidates(layer, core, widths)[0]


__all__ = ["DSP_CORES", "TECHNIQUES", "Direct", "Technique", "Widths", "candidates", "choose"]
