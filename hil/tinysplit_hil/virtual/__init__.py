"""Virtual STM32 boards: cycle-deterministic emulation of several boards in one process, connected by UARTs."""

from tinysplit.common.errors import ToolError
from tinysplit.common.extras import install_line

try:
    from tinysplit_hil.virtual.core.memory_timing import Stalls
    from tinysplit_hil.virtual.core.native import library
    from tinysplit_hil.virtual.errors import BoardStoppedError
    from tinysplit_hil.virtual.line_faults import LineFaults
    from tinysplit_hil.virtual.peripherals.reset import ResetCause
    from tinysplit_hil.virtual.registry import open_registered
    from tinysplit_hil.virtual.rig import HOST, VirtualBoard, VirtualRig, Wire
except ImportError as error:
    if error.name not in (None, "unicorn", "capstone"):  # without a name: its library cannot be loaded
        raise
    what = f"the package {error.name}" if error.name else "Unicorn and Capstone"
    raise ToolError(f"virtual boards need {what} ({error}): {install_line('virtual')}") from None

__all__ = [
    "HOST",
    "BoardStoppedError",
    "LineFaults",
    "ResetCause",
    "Stalls",
    "VirtualBoard",
    "VirtualRig",
    "Wire",
    "library",
    "open_registered",
]
