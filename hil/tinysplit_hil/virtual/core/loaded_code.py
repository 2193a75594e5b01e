"""Code in memory that a debugger or a flash controller changes."""

from tinysplit.boards.board import CodeRam
from tinysplit_hil.virtual.core.blocks import BlockTable
from tinysplit_hil.virtual.core.emulator import Emulator


class LoadedCode:
    """What is known of the code in memory; RAM of `alias` is executed at other addresses than those of its data."""

    def __init__(self, blocks: BlockTable, emulator: Emulator, alias: CodeRam | None) -> None:
        self._blocks = blocks
        self._emulator = emulator
        self._alias = alias

    def forget(self, address: int, size: int) -> None:
        """Note that memory has been changed, and with it perhaps code."""
        starts = [address]
        if self._alias and 0 <= address - self._alias.data_start < self._alias.size_bytes:
            starts.append(address - self._alias.data_start + self._alias.code_start)
        for start in starts:
            if self._blocks.forget(start, size):
                self._emulator.forget_code(start, size)

    def forget_in(self, start: int, offset: int, size: int) -> None:
        """Note a change `offset` bytes behind the `start` of a memory."""
        self.forget(start + offset, size)
