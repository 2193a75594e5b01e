"""The JTAG debug port (Arm IHI 0031, ADIv5, chapters B2 and B3): DPACC, APACC, CTRL/STAT, SELECT, RDBUFF."""

from collections.abc import Mapping

from virtual_stm32.debug.access_port import AccessPort
from virtual_stm32.debug.part import BusFaultError

_CTRL_STAT, _SELECT = 0x4, 0x8
_STICKY_ERROR = 1 << 5
_STICKY = 1 << 1 | 1 << 4 | _STICKY_ERROR  # cleared by writing 1
_DEBUG_POWER, _SYSTEM_POWER = 1 << 28, 1 << 30  # requests; each has its acknowledge one bit higher
_DEBUG_RESET = 1 << 26
_REQUESTS = _DEBUG_POWER | _SYSTEM_POWER | _DEBUG_RESET
_WRITABLE = _REQUESTS | 0x00FFFF0D  # transaction counter, masks, TRNMODE and ORUNDETECT
_AP_BANK = 0xF0


class DebugPortRegisters:
    """Registers of the debug port and the way to its access ports, by number."""

    def __init__(self, ports: Mapping[int, AccessPort]) -> None:
        self._ports = ports
        self.power_up()

    def power_up(self) -> None:
        """Set the registers as after power-up."""
        self._control = self._select = 0

    def transfer(self, address: int, value: int | None, *, is_access_port: bool) -> int:
        """Read a register (`value` None) or write it; `address` is that of the register in its bank."""
        if is_access_port:
            return self._transfer_to_port(address, value)
        if value is None:
            acknowledged = self._control | (self._control & _REQUESTS) << 1
            return {_CTRL_STAT: acknowledged, _SELECT: self._select}.get(address, 0)
        if address == _CTRL_STAT and not self._select & 0xF:
            kept = self._control & _STICKY & ~value
            self._control = value & _WRITABLE | kept
        elif address == _SELECT:
            self._select = value
        return 0

    def _transfer_to_port(self, address: int, value: int | None) -> int:
        """Access a register of the selected access port; after an error, not before it has been cleared."""
        if self._control & _STICKY_ERROR:
            return 0
        if not self._control & _DEBUG_POWER:
            self._control |= _STICKY_ERROR
            return 0
        port = self._ports.get(self._select >> 24)
        register = self._select & _AP_BANK | address
        if port is None:
            return 0
        try:
            if value is None:
                return port.read(register)
            port.write(register, value)
        except BusFaultError:
            self._control |= _STICKY_ERROR
        return 0
