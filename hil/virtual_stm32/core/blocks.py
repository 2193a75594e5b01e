"""Cycles of all basic blocks: computed when a block runs for the first time, read by the C hook."""

import ctypes
import hashlib
from collections.abc import Iterable, Mapping
from ctypes import Array
from functools import lru_cache

from capstone import arm

from virtual_stm32.core.alignment import possible_waits
from virtual_stm32.core.cores import Core
from virtual_stm32.core.cycle_models import BlockCost
from virtual_stm32.core.instructions import DIVISIONS, KEPT, Instructions, decode, decoded_program
from virtual_stm32.core.native import (
    CODE_WINDOWS,
    LONGEST_DIVISION,
    WINDOW_BITS,
    BlockFlag,
    CAccess,
    CBlock,
    CodeWindow,
)
from virtual_stm32.errors import NotModelledError

_PAGE = 256  # bytes
_CONTEXT = 8  # instructions: more than the longest latency of integers
_PAGE_BYTES = 1024  # of Unicorn's M profile: TARGET_PAGE_BITS_MIN of its target/arm/cpu-param.h


class BlockTable:
    """Basic blocks of the code of an ELF file, or of whatever is in memory, by address."""

    def __init__(
        self, core: Core, code: Mapping[int, bytes | bytearray], memories: Iterable[tuple[int, int]] = ()
    ) -> None:
        """`code` has the contents of flash, and of code that the program copies into RAM, by their addresses there.

        In `memories`, by address and size, any code may appear and change (`forget`).
        """
        self._core = core
        self._code = code
        self._memories = dict(memories)
        self._program = decoded_program(hashlib.sha256(b"".join(code.values())).digest())
        self._blocks: dict[int, tuple[CBlock, Instructions]] = {}  # by address; C reads the first
        self._kept: list[object] = []  # referenced from C
        self._falls_into: dict[int, Instructions] = {}  # the shortest block before an address
        self._pages: set[int] = set()  # with blocks, by address / _PAGE
        self.windows = _windows({**{start: len(data) for start, data in code.items()}, **self._memories})
        self.marked: frozenset[int] = frozenset()  # addresses of blocks at which cycles and stalls are recorded

    def describe(self, address: int, memory: bytes, *, fpu_is_on: bool) -> int:
        """Add a block to the table, for which `memory` has these contents, and return the address of its entry.

        Raises NotModelledError when the ELF file has other code there, or the core lacks one of the instructions.
        """
        size = len(memory)
        if not self._memories and memory != self._bytes_at(address, size):
            raise NotModelledError(f"the code at 0x{address:08x} is not that of the ELF file")
        instructions = decode(self._program, memory, address)
        if any(each.is_floating for each in instructions) and not (self._core.facts.has_fpu and fpu_is_on):
            raise NotModelledError("a floating point instruction with the FPU disabled in CPACR")
        block = CBlock(
            address,
            address + size,
            branch=instructions[-1].address,
            flags=self._flags(instructions),
            word_count=_word_count(instructions),
        )
        self._blocks[address] = block, instructions
        self._pages.update(_pages(address, size))
        self._add_accesses(block, instructions)
        self._kept.append(block)
        self._time(address)
        window = self.windows[address >> WINDOW_BITS]
        window.blocks[(address - window.start) // 2] = ctypes.addressof(block)
        return ctypes.addressof(block)

    def forget(self, start: int, size: int) -> bool:
        """Forget the blocks of code that has changed; return whether there were any."""
        if self._pages.isdisjoint(_pages(start, size)):
            return False
        changed = [
            address for address, (block, _) in self._blocks.items() if address < start + size and start < block.end
        ]
        for address in changed:
            block, _ = self._blocks.pop(address)
            self._falls_into.pop(block.end, None)
            window = self.windows[address >> WINDOW_BITS]
            window.blocks[(address - window.start) // 2] = None
        return bool(changed)

    def _bytes_at(self, address: int, size: int) -> bytes | None:
        """Return the code of the ELF file at `address`, None if it has none."""
        for start, code in self._code.items():
            if start <= address <= start + len(code) - size:
                return bytes(code[address - start : address - start + size])
        return None

    def _add_accesses(self, block: CBlock, instructions: Instructions) -> None:
        """Add the loads that may be unaligned; capstone and Unicorn number registers alike."""
        waits = possible_waits(instructions, self._core.unaligned)
        entries = [CAccess(at.base, at.index, at.shift, at.offset, cycles) for at, cycles in waits.items()]
        accesses = (CAccess * len(entries))(*entries)
        self._kept.append(accesses)
        block.accesses = ctypes.cast(accesses, ctypes.POINTER(CAccess))
        block.access_count = len(entries)

    def _time(self, address: int) -> None:
        """Compute the cycles of a block, and of those after it that they depend on.

        They do not depend on where Unicorn splits the code: a block continues what runs before it. Of several blocks
        with the same end, that is the shortest: the body of an inner loop. A branch that enters takes the difference.
        """
        while address in self._blocks:
            block, instructions = self._blocks[address]
            context = self._context(address)
            cost = _cost(self._core, context, instructions)
            alone = _cost(self._core, (), instructions)
            self._store(block, instructions, cost)
            block.entered = self._core.refetch(instructions[0]) + alone.cycles - cost.cycles
            block.longest = _longest(block, instructions)
            last, address = instructions[-1], block.end
            known = self._falls_into.get(address)
            if (last.writes_pc and not last.is_conditional) or (known and known[0].address > block.address):
                return
            self._falls_into[address] = instructions

    def _context(self, address: int) -> Instructions:
        """Return the instructions that run directly before an address without a taken branch."""
        context: Instructions = ()
        while (before := self._falls_into.get(address)) and len(context) < _CONTEXT:
            address = before[0].address
            context = before + context
        return context[-_CONTEXT:]

    def _store(self, block: CBlock, instructions: Instructions, cost: BlockCost) -> None:
        before = (ctypes.c_uint32 * ((block.end - block.address) // 2))()
        for instruction, cycles in zip(instructions, cost.before, strict=True):
            first = (instruction.address - block.address) // 2
            for halfword in range(first, first + instruction.size // 2):
                before[halfword] = cycles
        self._kept.append(before)
        block.before = ctypes.cast(before, ctypes.POINTER(ctypes.c_uint32))
        block.cycles, block.taken, block.mispredicted = cost.cycles, cost.taken, cost.mispredicted

    def _flags(self, instructions: Instructions) -> BlockFlag:
        flags = BlockFlag(0)
        if not any(each.is_store or each.is_floating for each in instructions):
            flags |= BlockFlag.REPEATABLE
        if any(each.id in (arm.ARM_INS_CPS, arm.ARM_INS_MSR) for each in instructions):
            flags |= BlockFlag.SETS_MASK
        begins_page = (instructions[0].address + 2) % _PAGE_BYTES in (0, 2)  # where Unicorn ends a block, of IT, too
        if begins_page or any(each.id == arm.ARM_INS_IT for each in instructions):
            flags |= BlockFlag.CONDITIONAL
        if instructions[-1].text == "wfi":
            flags |= BlockFlag.SLEEPS
        if instructions[0].address in self.marked:
            flags |= BlockFlag.MARKED
        return flags


@lru_cache(maxsize=2 * KEPT)  # with and without context
def _cost(core: Core, context: Instructions, instructions: Instructions) -> BlockCost:
    return core.cost(context, instructions)


def _pages(start: int, size: int) -> range:
    return range(start // _PAGE, (start + size - 1) // _PAGE + 1)


def _longest(block: CBlock, instructions: Instructions) -> int:
    divisions = sum(each.id in DIVISIONS for each in instructions)
    unaligned = sum(int(max(block.accesses[i].cycles)) for i in range(block.access_count))
    fixed = int(block.cycles + block.taken + block.mispredicted)
    return fixed + LONGEST_DIVISION * divisions + unaligned


def _windows(sizes: Mapping[int, int]) -> Array[CodeWindow]:
    """Return the table of the C hook without blocks: in each window, from its first code to its last."""
    windows = (CodeWindow * CODE_WINDOWS)()
    for number in {start >> WINDOW_BITS for start in sizes}:
        own = {start: start + size for start, size in sizes.items() if start >> WINDOW_BITS == number}
        first, size = min(own), max(own.values()) - min(own)
        windows[number] = CodeWindow((ctypes.c_void_p * ((size + 1) // 2))(), first, size)
    return windows


def _word_count(instructions: Instructions) -> int:
    """Return the words of memory that a block accesses at most."""
    return sum(max(2, each.register_count) for each in instructions if each.accesses_memory)
