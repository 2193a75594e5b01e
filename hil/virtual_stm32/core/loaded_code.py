"""Code in memory that a debugger or a flash controller changes, and what the MPU protects."""

from tinysplit.boards.board import CodeRam
from virtual_stm32.core.blocks import BlockTable
from virtual_stm32.core.emulator import Emulator
from virtual_stm32.core.mpu import Access, Mpu, Protected
from virtual_stm32.errors import NotModelledError


class LoadedCode:
    """What is known of the code in memory; RAM of `alias` is executed at other addresses than those of its data."""

    def __init__(self, blocks: BlockTable, emulator: Emulator, alias: CodeRam | None) -> None:
        self._blocks = blocks
        self._emulator = emulator
        self._alias = alias

    def forget(self, address: int, size: int) -> None:
        """Note that memory has been changed, and with it perhaps code."""
        starts = [address]
        if self._alias and not self._alias.is_apart and 0 <= address - self._alias.data_start < self._alias.size_bytes:
            starts.append(address - self._alias.data_start + self._alias.code_start)
        for start in starts:
            if self._blocks.forget(start, size):
                self._emulator.forget_code(start, size)

    def forget_in(self, start: int, offset: int, size: int) -> None:
        """Note a change `offset` bytes behind the `start` of a memory."""
        self.forget(start + offset, size)


class Protection:
    """Data accesses are refused by the emulator, execution when a basic block is looked at for the first time."""

    def __init__(self, mpu: Mpu, emulator: Emulator, code: LoadedCode) -> None:
        self._mpu = mpu
        self._emulator = emulator
        self._code = code
        self._data_only: set[Protected] = set()  # from which nothing is executed

    @property
    def has_changed(self) -> bool:
        """Whether the MPU has settings that do not count yet."""
        return self._mpu.has_changed

    def settle(self) -> None:
        """Let the settings of the MPU count, if they have changed; the emulator does not run."""
        if not self._mpu.has_changed:
            return
        self._mpu.has_changed = False
        self._emulator.protect(self._mpu.protected)
        data_only = {each for each in self._mpu.protected if Access.EXECUTE not in each.allowed}
        for each in data_only - self._data_only:
            for start, end in self._emulator.memories():
                if start < each.end and each.start < end:
                    first = max(start, each.start)
                    self._code.forget(first, min(end, each.end) - first)
        self._data_only = data_only

    def check_code(self, address: int, size: int) -> None:
        """Raise NotModelledError for code that must not be executed."""
        if place := self.describe(Access.EXECUTE, address, size):
            raise NotModelledError(f"execution at 0x{address:08x}, {place}")

    def describe(self, access: Access, address: int, size: int) -> str:
        """Return what keeps `access` from memory, "" if the MPU does not."""
        protected = self._mpu.at(access, address, size)
        return f"which the MPU protects ({protected})" if protected else ""
