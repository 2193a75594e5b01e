"""Which kernels compute a kind of layer on a core: those that fit some layer of the calibration networks.

These networks have layers of every kind in the shapes for which kernels differ.
"""

from collections.abc import Mapping

from tinysplit.calibration.networks import calibration_networks, shape_networks
from tinysplit.kernels import KERNELS, candidates
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import Widths

BITS = (8, 16)

Kernels = Mapping[tuple[str, int], tuple[str, ...]]  # by core and bits, the fastest first


def kernels_by_kind() -> dict[str, Kernels]:
    """Return the names of kernels by kind of layer, for all cores with measured costs."""
    by_kind: dict[str, dict[tuple[str, int], set[str]]] = {}
    layers = [layer for graph in (*calibration_networks(), *shape_networks()) for layer in graph.layers]
    for core in shipped_table().cores:
        for bits in BITS:
            for layer in layers:
                names = {kernel.name for kernel in candidates(layer, core, Widths.all(bits))}
                by_kind.setdefault(layer.kind, {}).setdefault((core, bits), set()).update(names)
    order = [kernel.name for kernel in KERNELS]
    return {
        kind: {case: tuple(sorted(names, key=order.index)) for case, names in by_case.items()}
        for kind, by_case in sorted(by_kind.items())
    }
