"""Cycles of all basic blocks: computed when a block runs for the first time, read by the C hook."""

import ctypes
from collections.abc import Mapping
from ctypes import Array

from capstone import arm

from tinysplit_hil.virtual.core.cores import Core
from tinysplit_hil.virtual.core.cycle_models import BlockCost
from tinysplit_hil.virtual.core.instructions import Instruction, decode
from tinysplit_hil.virtual.core.native import CODE_WINDOWS, WINDOW_BITS, Block, BlockFlag, CodeWindow
from tinysplit_hil.virtual.errors import NotModelledError


class BlockTable:
    """Basic blocks of the code of an ELF file, by address."""

    def __init__(self, core: Core, code: Mapping[int, bytes | bytearray]) -> None:
        """`code` has the contents of flash, and of code that the program copies into RAM, by their addresses there."""
        self._core = core
        self._code = code
        self._kept: list[Block] = []  # referenced from C
        self._falls_into: dict[
            int, Instruction
        ] = {}  # last instruction of blocks without a branch, by the next address
        self.windows = _windows(code)
        self.marked: frozenset[int] = frozenset()  # addresses of blocks at which cycles and stalls are recorded

    def describe(self, address: int, memory: bytes, *, fpu_is_on: bool) -> int:
        """Add a block to the table, for which `memory` has these contents, and return the address of its entry.

        Raises NotModelledError when the ELF file has other code there, or the core lacks one of the instructions.
        """
        size = len(memory)
        if memory != self._bytes_at(address, size):
            raise NotModelledError(f"the code at 0x{address:08x} is not that of the ELF file")
        instructions = decode(memory, address)
        if any(each.is_floating for each in instructions) and not (self._core.has_fpu and fpu_is_on):
            raise NotModelledError("a floating point instruction with the FPU disabled in CPACR")
        cost = self._cost(instructions)
        before = (ctypes.c_uint32 * (size // 2))()
        for instruction, cycles in zip(instructions, cost.before, strict=True):
            first = (instruction.address - address) // 2
            for halfword in range(first, first + instruction.size // 2):
                before[halfword] = cycles
        block = Block(
            address, address + size, cost.cycles, cost.taken, self._flags(instructions), _accesses(instructions), before
        )
        self._kept.append(block)
        window = self.windows[address >> WINDOW_BITS]
        window.blocks[(address - window.start) // 2] = ctypes.addressof(block)
        if not instructions[-1].writes_pc:
            self._falls_into[address + size] = instructions[-1]
        return ctypes.addressof(block)

    def _bytes_at(self, address: int, size: int) -> bytes | None:
        """Return the code of the ELF file at `address`, None if it has none."""
        for start, code in self._code.items():
            if start <= address <= start + len(code) - size:
                return bytes(code[address - start : address - start + size])
        return None

    def _cost(self, instructions: list[Instruction]) -> BlockCost:
        """Return the cycles of a block, independent of where Unicorn splits code without branches."""
        before = self._falls_into.get(instructions[0].address)
        if before is None:
            return self._core.cost(instructions)
        start = self._core.cost([before]).cycles
        whole = self._core.cost([before, *instructions])
        offsets = tuple(max(0, cycles - start) for cycles in whole.before[1:])
        return BlockCost(offsets, whole.cycles - start, whole.taken)

    def _flags(self, instructions: list[Instruction]) -> BlockFlag:
        flags = BlockFlag(0)
        if not any(each.is_store or each.is_floating for each in instructions):
            flags |= BlockFlag.REPEATABLE
        if any(each.id in (arm.ARM_INS_CPS, arm.ARM_INS_MSR) for each in instructions):
            flags |= BlockFlag.SETS_MASK
        if instructions[-1].text == "wfi":
            flags |= BlockFlag.SLEEPS
        if instructions[0].address in self.marked:
            flags |= BlockFlag.MARKED
        return flags


def _windows(code: Mapping[int, bytes | bytearray]) -> Array[CodeWindow]:
    """Return the table of the C hook without blocks: in each window, from its first code to its last."""
    windows = (CodeWindow * CODE_WINDOWS)()
    for number in {start >> WINDOW_BITS for start in code}:
        own = {start: start + len(data) for start, data in code.items() if start >> WINDOW_BITS == number}
        first, size = min(own), max(own.values()) - min(own)
        windows[number] = CodeWindow((ctypes.c_void_p * ((size + 1) // 2))(), first, size)
    return windows


def _accesses(instructions: list[Instruction]) -> int:
    """Return the words of memory that a block accesses at most."""
    return sum(max(2, each.register_count) for each in instructions if each.accesses_memory)
