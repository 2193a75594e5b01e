"""Kernels, which compute a layer on a core: one module each, their costs, and the choice among them."""

from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cores import DSP_CORES
from tinysplit.kernels.direct import Direct
from tinysplit.kernels.scheme import Scheme
from tinysplit.kernels.selection import (
    KERNELS,
    TABLE_ERROR,
    candidates,
    choose,
    flash_bytes,
    is_named,
    predicted_cycles,
)

__all__ = [
    "DSP_CORES",
    "KERNELS",
    "TABLE_ERROR",
    "Direct",
    "Kernel",
    "Scheme",
    "candidates",
    "choose",
    "flash_bytes",
    "is_named",
    "predicted_cycles",
]
