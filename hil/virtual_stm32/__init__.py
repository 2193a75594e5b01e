"""Virtual STM32 boards: cycle-deterministic emulation of several boards in one process, connected by UARTs.

ELF files go in, ports and a clock come out; what the firmware computes is not known here.

    from virtual_stm32 import VirtualBoard, VirtualRig, Wire, open_registered

    first, second = (VirtualBoard.of("nucleo_g071rb", elf) for elf in (Path("first.elf"), Path("second.elf")))
    rig = VirtualRig([first, second], [Wire((0, "USART1"), (1, "USART1"))])
    with open_registered("bench", rig):
        port = serial.serial_for_url("virtual://bench/0", baudrate=115200, timeout=1)  # seconds of the boards
        port.write(b"start")
        print(port.read(5), rig.time_s, rig.cycles(0))

`python -m virtual_stm32 firmware.elf --board nucleo_g071rb` runs a program from a shell, and the fixture `virtual_rig`
of pytest in tests (docs/understand/virtual_boards.md).
"""

from tinysplit.common.errors import ToolError
from tinysplit.common.extras import install_line

try:
    from virtual_stm32.core.memory_timing import Stalls
    from virtual_stm32.core.native import library
    from virtual_stm32.errors import BoardStoppedError
    from virtual_stm32.line_faults import LineFaults
    from virtual_stm32.peripherals.reset import ResetCause
    from virtual_stm32.registry import open_registered
    from virtual_stm32.rig import HOST, VirtualBoard, VirtualRig, Wire
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
