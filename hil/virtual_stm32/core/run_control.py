"""What a debugger wants of a core."""

from collections.abc import Callable
from dataclasses import dataclass

from virtual_stm32.core.native import Reason


def _ignore(_reason: Reason) -> None:
    """Without a debugger nothing ends a run at a breakpoint."""


@dataclass
class RunControl:
    """Whether a core executes; it stays over resets. `stopped` is called at a breakpoint, and after a step."""

    is_enabled: bool = False  # breakpoints count
    is_halted: bool = False
    is_stepping: bool = False
    masks_interrupts: bool = False
    stopped: Callable[[Reason], None] = _ignore
