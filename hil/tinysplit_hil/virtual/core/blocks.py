"""Cycles of all basic blocks: computed when a block runs for the first time, read by the C hook."""

import ctypes

from capstone import arm

from tinysplit_hil.virtual.core.alignment import possible_waits
from tinysplit_hil.virtual.core.cores import Core
from tinysplit_hil.virtual.core.cycle_models import BlockCost
from tinysplit_hil.virtual.core.instructions import DIVISIONS, Instruction, decode
from tinysplit_hil.virtual.core.native import LONGEST_DIVISION, Access, Block, BlockFlag
from tinysplit_hil.virtual.errors import NotModelledError

_CONTEXT = 8  # instructions: more than the longest latency of integers


class BlockTable:
    """Basic blocks of the code in flash, by address."""

    def __init__(self, core: Core, start: int, code: bytes | bytearray) -> None:
        self._core = core
        self._start = start
        self._code = code
        self._blocks: dict[int, tuple[Block, list[Instruction]]] = {}  # by address; C reads the first
        self._kept: list[object] = []  # referenced from C
        self._falls_into: dict[int, list[Instruction]] = {}  # the shortest block before an address
        self.entries = (ctypes.c_void_p * (len(code) // 2))()
        self.marked: frozenset[int] = frozenset()  # addresses of blocks at which cycles and stalls are recorded

    def describe(self, address: int, size: int, *, fpu_is_on: bool) -> int:
        """Add a block to the table and return the address of its entry.

        Raises NotModelledError when the core lacks one of its instructions.
        """
        offset = address - self._start
        if not 0 <= offset <= len(self._code) - size:
            raise NotModelledError("code outside flash is not modelled")
        instructions = decode(bytes(self._code[offset : offset + size]), address)
        if any(each.is_floating for each in instructions) and not (self._core.has_fpu and fpu_is_on):
            raise NotModelledError("a floating point instruction with the FPU disabled in CPACR")
        block = Block(
            address,
            address + size,
            branch=instructions[-1].address,
            flags=self._flags(instructions),
            word_count=_word_count(instructions),
        )
        self._blocks[address] = block, instructions
        self._add_accesses(block, instructions)
        self._kept.append(block)
        self._time(address)
        self.entries[offset // 2] = ctypes.addressof(block)
        return ctypes.addressof(block)

    def _add_accesses(self, block: Block, instructions: list[Instruction]) -> None:
        """Add the loads that may be unaligned; capstone and Unicorn number registers alike."""
        waits = possible_waits(instructions, self._core.unaligned)
        entries = [Access(at.base, at.index, at.shift, at.offset, cycles) for at, cycles in waits.items()]
        accesses = (Access * len(entries))(*entries)
        self._kept.append(accesses)
        block.accesses = ctypes.cast(accesses, ctypes.POINTER(Access))
        block.access_count = len(entries)

    def _time(self, address: int) -> None:
        """Compute the cycles of a block, and of those after it that they depend on.

        They do not depend on where Unicorn splits the code: a block continues what runs before it. Of several blocks
        with the same end, that is the shortest: the body of an inner loop. A branch that enters takes the difference.
        """
        while address in self._blocks:
            block, instructions = self._blocks[address]
            context = self._context(address)
            cost, alone = self._core.cost(context, instructions), self._core.cost((), instructions)
            self._store(block, instructions, cost)
            block.entered = self._core.refetch(instructions[0]) + alone.cycles - cost.cycles
            block.longest = _longest(block, instructions)
            last, address = instructions[-1], block.end
            known = self._falls_into.get(address)
            if (last.writes_pc and not last.is_conditional) or (known and known[0].address > block.address):
                return
            self._falls_into[address] = instructions

    def _context(self, address: int) -> list[Instruction]:
        """Return the instructions that run directly before an address without a taken branch."""
        context: list[Instruction] = []
        while (before := self._falls_into.get(address)) and len(context) < _CONTEXT:
            address = before[0].address
            context = before + context
        return context[-_CONTEXT:]

    def _store(self, block: Block, instructions: list[Instruction], cost: BlockCost) -> None:
        before = (ctypes.c_uint32 * ((block.end - block.address) // 2))()
        for instruction, cycles in zip(instructions, cost.before, strict=True):
            first = (instruction.address - block.address) // 2
            for halfword in range(first, first + instruction.size // 2):
                before[halfword] = cycles
        self._kept.append(before)
        block.before = ctypes.cast(before, ctypes.POINTER(ctypes.c_uint32))
        block.cycles, block.taken, block.mispredicted = cost.cycles, cost.taken, cost.mispredicted

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


def _longest(block: Block, instructions: list[Instruction]) -> int:
    divisions = sum(each.id in DIVISIONS for each in instructions)
    unaligned = sum(int(max(block.accesses[i].cycles)) for i in range(block.access_count))
    fixed = int(block.cycles + block.taken + block.mispredicted)
    return fixed + LONGEST_DIVISION * divisions + unaligned


def _word_count(instructions: list[Instruction]) -> int:
    """Return the words of memory that a block accesses at most."""
    return sum(max(2, each.register_count) for each in instructions if each.accesses_memory)
