"""Virtual STM32 boards: several in one process, deterministic to the cycle, joined by UART wires."""

from tinysplit.common.errors import ToolError

try:
    from tinysplit_hil.virtual.errors import BoardStoppedError
    from tinysplit_hil.virtual.registry import open_registered
    from tinysplit_hil.virtual.rig import VirtualBoard, VirtualRig, Wire
except ModuleNotFoundError as error:
    if error.name not in ("unicorn", "capstone"):
        raise
    raise ToolError(
        f"virtual boards need the package {error.name}, which is not installed: pip install tinysplit[virtual]"
    ) from None

__all__ = ["BoardStoppedError", "VirtualBoard", "VirtualRig", "Wire", "open_registered"]
