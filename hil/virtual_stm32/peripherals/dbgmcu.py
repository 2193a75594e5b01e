"""DBGMCU as the program sees it: device id and revision."""

from typing_extensions import override

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_family
from tinysplit.boards.debug_port import load_debug_port
from virtual_stm32.peripherals.base import Peripheral

_IDCODE = 0x00


class Dbgmcu(Peripheral):
    """DBGMCU_IDCODE; what a debugger does with the other registers is in debug/device.py."""

    def __init__(self, board: Board) -> None:
        super().__init__("DBGMCU")
        self._board = board
        self.base = load_family(board.device.name).debug.idcode_address

    @override
    def read(self, offset: int, now: int) -> int:
        if offset != _IDCODE:
            raise self.unknown(offset)
        return load_debug_port(self._board.name).idcode

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        raise self.unknown(offset)
