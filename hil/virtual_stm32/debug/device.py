"""Words of a part that only a debugger needs: what it is, how much flash it has, and DBGMCU."""

from tinysplit.boards.board import Board
from tinysplit.boards.debug_port import DebugPort
from tinysplit.common.units import KB

# MVFR0 and MVFR1 (Arm DDI 0403, B4.7): single precision on Cortex-M4, double on Cortex-M7 of the H7.
_MVFR_VALUES = {
    "cortex-m4": (0x10110021, 0x11000011),
    "cortex-m7": (0x10110221, 0x12000011),
    "cortex-m33": (0x10110021, 0x11000011),
}
_MVFR = 0xE000EF40, 0xE000EF44
_DWT_CTRL, _DWT_DEVARCH = 0xE0001000, 0xE0001FBC  # no comparators, so no watchpoints
_LOT = 0x56000000, 0x20303356  # of the wafer, in the upper words of the unique ID: "V" and "V30 "
DBGMCU_BYTES = 0x5C  # of registers


class DeviceWords:
    """Words of a part by address: constants, and the registers of DBGMCU.

    Of these only the bit counts that stops the watchdog while the core is halted. `serial` makes the unique ID.
    """

    def __init__(self, board: Board, port: DebugPort, serial: int) -> None:
        core, words = board.device.core, port.words
        self._watchdog_stop = port.idcode_address + words.watchdog_stop_offset
        self._watchdog_bit = words.watchdog_stop_bit
        self._constants = {
            port.idcode_address: port.idcode,
            words.flash_kb_address: board.device.flash.size_bytes // KB << words.flash_kb_shift,
            **dict(zip(port.unique_id, (serial, *_LOT), strict=True)),
            _DWT_DEVARCH: 0,
            **(dict(zip(_MVFR, _MVFR_VALUES[core], strict=True)) if core in _MVFR_VALUES else {_DWT_CTRL: 0}),
        }
        self._registers = dict.fromkeys(range(port.idcode_address + 4, port.idcode_address + DBGMCU_BYTES, 4), 0)

    def clear_registers(self) -> None:
        """Set DBGMCU as at power-up; no other reset reaches it."""
        self._registers = dict.fromkeys(self._registers, 0)

    @property
    def stops_watchdog(self) -> bool:
        """DBG_IWDG_STOP."""
        return bool(self._registers[self._watchdog_stop] >> self._watchdog_bit & 1)

    def __contains__(self, address: int) -> bool:
        return address in self._constants or address in self._registers

    def read(self, address: int) -> int:
        """Return a word."""
        return self._registers.get(address, self._constants.get(address, 0))

    def write(self, address: int, value: int) -> None:
        """Write a register; constants stay."""
        if address in self._registers:
            self._registers[address] = value
