"""A board in LabWired, a simulator by other authors, as a port and a clock of the host.

Its USART raises no interrupt for a byte that has arrived: each one is made pending in the NVIC, as if it did.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tinysplit.boards.board import Board, Uart
from tinysplit.common.protocol_limits import BITS_PER_BYTE
from tinysplit_hil.rig.rig import Rig

ISPR = 0xE000_E200  # of the NVIC: ARM DDI 0403E, B3.4.5
STEP_S = 1e-3  # between two looks at what the board has sent
BOOT_S = 0.05

_UART = re.compile(r'- id: "(\w+)"\s+type: "uart"\s+base_address: (\w+)')


class LabwiredBoard:
    """The host's port of the board, and its clock: time passes while the host sends and waits."""

    timeout: float | None = 0
    name: str | None = "LabWired"

    def __init__(self, simulator: Any, uart: Uart, baudrate: int) -> None:  # noqa: ANN401 - an optional package
        self.baudrate = baudrate
        self._simulator = simulator
        self._uart = uart
        self._arrived = b""
        simulator.run_for(BOOT_S)

    def now_s(self) -> float:
        """Return the simulated time in seconds."""
        return float(self._simulator.time)

    def wait(self, timeout_s: float) -> None:
        """Return when bytes have arrived, at the latest after `timeout_s`."""
        end_s = self.now_s() + timeout_s
        while not self.in_waiting and self.now_s() < end_s:
            self._simulator.run_for(min(STEP_S, timeout_s))

    @property
    def in_waiting(self) -> int:
        """Number of bytes that have arrived."""
        self._arrived += self._simulator.read_uart_bytes()
        return len(self._arrived)

    def read(self, size: int = 1, /) -> bytes:
        """Return up to `size` bytes that have arrived."""
        size = min(size, self.in_waiting)
        data, self._arrived = self._arrived[:size], self._arrived[size:]
        return data

    def write(self, data: bytes, /) -> int:
        """Send `data`, byte by byte at the baud rate."""
        word, bit = divmod(self._uart.irq_position, 32)
        for byte in data:
            self._simulator.send_bytes(bytes([byte]))
            self._simulator.write_u32(ISPR + 4 * word, 1 << bit)
            self._simulator.run_for(BITS_PER_BYTE / self.baudrate)
        return len(data)


@contextmanager
def labwired_rig(folder: Path, elf: Path, board: Board, chip: str, baud: int) -> Iterator[Rig]:
    """Yield a rig of one board that runs `elf` on a chip of LabWired; `folder` gets the file of the system."""
    import labwired  # noqa: PLC0415 - optional

    file = Path(labwired.__file__).parent / "configs" / "chips" / f"{chip}.yaml"
    text, system = file.read_text(encoding="utf-8"), folder / "system.yaml"
    system.write_text(f'name: "{board.name}"\nchip: "{file}"\n', encoding="utf-8")
    uart = board.host_uart
    name = next(name for name, address in _UART.findall(text) if int(address, 0) == uart.base_address)
    with labwired.Sim(elf, system=system, uart=name) as simulator:
        port = LabwiredBoard(simulator, uart, baud)
        yield Rig("virtual", "LabWired", "ideal", {1: port}, port)
