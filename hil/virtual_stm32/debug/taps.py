"""The test access ports of a part: debug (Arm IHI 0031, chapter B3: JTAG-DP) and boundary scan."""

from collections.abc import Callable

from typing_extensions import override

from virtual_stm32.debug.debug_port import DebugPortRegisters
from virtual_stm32.debug.jtag import Tap

_ABORT, _DPACC, _APACC, _IDCODE = 0b1000, 0b1010, 0b1011, 0b1110
_IDCODE_BITS, _ACCESS_BITS = 32, 35
_BYPASS = 0, 1  # value and bits
_ACK_OK = 0b010
_READ = 1


class DebugTap(Tap):
    """The JTAG debug port. `access` is called before each transfer: it takes time until it happens."""

    ir_bits = 4

    def __init__(self, idcode: int, port: DebugPortRegisters, access: Callable[[], None]) -> None:
        self._idcode = idcode
        self._port = port
        self._access = access
        self.reset()

    @override
    def reset(self) -> None:
        self._instruction = _IDCODE
        self._result = 0

    @override
    def select(self, instruction: int) -> None:
        self._instruction = instruction

    @override
    def capture(self) -> tuple[int, int]:
        """Return the result of the last transfer, which always is there in time."""
        if self._instruction == _IDCODE:
            return self._idcode, _IDCODE_BITS
        if self._instruction in (_DPACC, _APACC):
            return self._result << 3 | _ACK_OK, _ACCESS_BITS
        return (0, _ACCESS_BITS) if self._instruction == _ABORT else _BYPASS

    @override
    def update(self, value: int) -> None:
        """Begin the transfer."""
        if self._instruction not in (_DPACC, _APACC):
            return
        is_access_port = self._instruction == _APACC
        if is_access_port:
            self._access()
        data = None if value & _READ else value >> 3
        self._result = self._port.transfer((value & 0b110) << 1, data, is_access_port=is_access_port)


class BoundaryScanTap(Tap):
    """The boundary scan TAP: only its IDCODE can be read."""

    ir_bits = 5
    _IDCODE = 0b00001

    def __init__(self, idcode: int) -> None:
        self._idcode = idcode
        self.reset()

    @override
    def reset(self) -> None:
        self._instruction = self._IDCODE

    @override
    def select(self, instruction: int) -> None:
        self._instruction = instruction

    @override
    def capture(self) -> tuple[int, int]:
        return (self._idcode, _IDCODE_BITS) if self._instruction == self._IDCODE else _BYPASS

    @override
    def update(self, value: int) -> None:
        """Take nothing: no other register is selected."""
