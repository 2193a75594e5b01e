"""Words of a part that only a debugger needs: what it is, how much flash it has, and DBGMCU."""

from tinysplit.boards.board import Board
from tinysplit.boards.debug_port import DebugPort

# Flash size in KB, in the lower half of the word on all but F4: RM0368 and RM0390 (0x1FFF7A22), RM0394, RM0432 and
# RM0444 (0x1FFF75E0), RM0433 (0x1FF1E880), section Flash size data register; RM0468: the same as RM0433.
_FLASH_SIZE = {
    "stm32f4": (0x1FFF7A20, 16),
    "stm32l4": (0x1FFF75E0, 0),
    "stm32g0": (0x1FFF75E0, 0),
    "stm32h7": (0x1FF1E880, 0),
}
_REVISION = {"stm32f4": 0x1001, "stm32l4": 0x1001, "stm32g0": 0x2000, "stm32h7": 0x2003}  # DBGMCU_IDCODE REV_ID
# MVFR0 and MVFR1 (Arm DDI 0403, B4.7): single precision on Cortex-M4, double on Cortex-M7 of the H7.
_MVFR_VALUES = {"cortex-m4": (0x10110021, 0x11000011), "cortex-m7": (0x10110221, 0x12000011)}
_MVFR = 0xE000EF40, 0xE000EF44
_DWT_CTRL, _DWT_DEVARCH = 0xE0001000, 0xE0001FBC  # no comparators, so no watchpoints
# Offset and bit of DBG_IWDG_STOP in DBGMCU: APB1 freeze register, and APB4FZ1 of the H7.
_WATCHDOG_STOP = {"stm32f4": (0x08, 12), "stm32l4": (0x08, 12), "stm32g0": (0x08, 12), "stm32h7": (0x54, 18)}
DBGMCU_BYTES = 0x5C  # of registers


class DeviceWords:
    """Words of a part by address: constants, and the registers of DBGMCU.

    Of these only the bit counts that stops the watchdog while the core is halted.
    """

    def __init__(self, board: Board, port: DebugPort) -> None:
        family, core = board.device.family, board.device.core
        address, shift = _FLASH_SIZE[family]
        offset, self._watchdog_bit = _WATCHDOG_STOP[family]
        self._watchdog_stop = port.idcode_address + offset
        self._constants = {
            port.idcode_address: _REVISION[family] << 16 | port.device_id,
            address: board.device.flash.size_bytes // 1024 << shift,
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
