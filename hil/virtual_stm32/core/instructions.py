"""Thumb instructions, decoded by capstone, with the properties that the cycle models use."""

import atexit
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import capstone
from capstone import arm
from capstone.arm import ArmOp

from tinysplit.common.cache import read_cached, write_cached
from virtual_stm32.errors import NotModelledError

SINGLE_LOADS = frozenset(
    (
        arm.ARM_INS_LDR,
        arm.ARM_INS_LDRB,
        arm.ARM_INS_LDRH,
        arm.ARM_INS_LDRSB,
        arm.ARM_INS_LDRSH,
        arm.ARM_INS_LDREX,
        arm.ARM_INS_LDREXB,
        arm.ARM_INS_LDREXH,
    )
)
SINGLE_STORES = frozenset(
    (
        arm.ARM_INS_STR,
        arm.ARM_INS_STRB,
        arm.ARM_INS_STRH,
        arm.ARM_INS_STREX,
        arm.ARM_INS_STREXB,
        arm.ARM_INS_STREXH,
    )
)
MULTIPLE_LOADS = frozenset(
    (arm.ARM_INS_LDM, arm.ARM_INS_LDMDB, arm.ARM_INS_POP, arm.ARM_INS_VLDMIA, arm.ARM_INS_VLDMDB, arm.ARM_INS_VPOP)
)
MULTIPLE_STORES = frozenset(
    (arm.ARM_INS_STM, arm.ARM_INS_STMDB, arm.ARM_INS_PUSH, arm.ARM_INS_VSTMIA, arm.ARM_INS_VSTMDB, arm.ARM_INS_VPUSH)
)
_WITH_BASE = frozenset(
    (
        arm.ARM_INS_LDM,
        arm.ARM_INS_LDMDB,
        arm.ARM_INS_STM,
        arm.ARM_INS_STMDB,
        arm.ARM_INS_VLDMIA,
        arm.ARM_INS_VLDMDB,
        arm.ARM_INS_VSTMIA,
        arm.ARM_INS_VSTMDB,
    )
)
_OTHER_STORES = frozenset((arm.ARM_INS_STRD, arm.ARM_INS_VSTR))
PAIR_ACCESSES = frozenset((arm.ARM_INS_LDRD, arm.ARM_INS_STRD))
EXCLUSIVE_STORES = frozenset((arm.ARM_INS_STREX, arm.ARM_INS_STREXB, arm.ARM_INS_STREXH))
WORD_ACCESSES = frozenset((arm.ARM_INS_LDR, arm.ARM_INS_STR))
LONG_ACCUMULATIONS = ("smlal", "smlsld", "umlal", "umaal")
BARRIERS = frozenset((arm.ARM_INS_DMB, arm.ARM_INS_DSB, arm.ARM_INS_ISB))
DIVISIONS = frozenset((arm.ARM_INS_SDIV, arm.ARM_INS_UDIV))
TABLE_BRANCHES = frozenset((arm.ARM_INS_TBB, arm.ARM_INS_TBH))
_BRANCHES = frozenset((arm.ARM_INS_B, arm.ARM_INS_BL, arm.ARM_INS_BX, arm.ARM_INS_BLX)) | TABLE_BRANCHES
_DIRECT = frozenset((arm.ARM_INS_B, arm.ARM_INS_BL, arm.ARM_INS_BLX))
_COMPARE_BRANCHES = frozenset((arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ))
_NOT_MODELLED = frozenset(("wfe", "sev", "svc"))
_DSP_GROUPS = (arm.ARM_GRP_THUMB2DSP, arm.ARM_GRP_T2EXTRACTPACK)
_ALWAYS = (arm.ARM_CC_AL, arm.ARM_CC_INVALID)
_SPECIAL = frozenset((arm.ARM_INS_MRS, arm.ARM_INS_MSR, arm.ARM_INS_CPS))
_SPECIAL_READABLE = frozenset(("apsr", "primask", "msp", "control"))
_SPECIAL_WRITABLE = frozenset(("apsr", "apsr_nzcvq", "apsr_nzcvqg", "primask", "faultmask"))


_NARROW_BYTES, _WIDE_BYTES = 2, 4
_PREFIX_SHIFT, _WIDE_PREFIXES = 11, (0b11101, 0b11110, 0b11111)  # of the first halfword of a wide instruction
_IT, _IT_MASK = 0xBF00, 0xFF00  # and of hints

KEPT = 1 << 14  # blocks, of which results are kept for the next start of a board and for other boards, and in a file


@dataclass(frozen=True, eq=False)
class Instruction:
    """One instruction; registers have capstone's numbers. It equals itself only."""

    address: int
    size: int
    id: int
    name: str  # without condition and suffixes
    text: str  # with the target of a direct branch as in `immediate`
    is_conditional: bool  # a conditional branch, or inside an IT block
    writes_pc: bool
    is_store: bool
    accesses_memory: bool
    is_floating: bool
    is_double: bool
    is_dsp: bool  # of the DSP extension
    register_count: int  # of a load or store multiple, in words
    target: int  # register that a single load writes, 0 for none
    registers: tuple[int, ...]  # operands in order, without those of addresses
    immediate: int  # the last one, 0 for none; of a direct branch, the target from the start of its block
    has_shift: bool  # a shifted register operand; not a shift itself
    base: int  # of an address, 0 for none
    index: int
    index_shift: int
    displacement: int
    step: int | None  # added to the base, None without write-back
    is_post_indexed: bool
    reads: frozenset[int]
    writes: frozenset[int]

    def at(self, address: int) -> "Instruction":
        """Return the instruction at another address; `replace` takes ten times as long."""
        moved = object.__new__(Instruction)
        moved.__dict__.update(self.__dict__, address=address)
        return moved

    @property
    def address_registers(self) -> frozenset[int]:
        """Registers of the address, of loads and stores of one register or more."""
        is_multiple = self.id in MULTIPLE_LOADS or self.id in MULTIPLE_STORES
        base = self.base or (_multiple_base(self) if is_multiple else 0)
        return frozenset(register for register in (base, self.index) if register)

    @property
    def has_double_register(self) -> bool:
        """Whether it moves a register of 64 bits."""
        return self.is_floating and _is_double_register(self.registers)

    @property
    def loads_pc(self) -> bool:
        """Whether the target of the branch comes from memory."""
        return self.id in TABLE_BRANCHES or (self.id in SINGLE_LOADS | MULTIPLE_LOADS and self.writes_pc)

    @property
    def is_direct(self) -> bool:
        """Whether the target of the branch is in the instruction."""
        return self.writes_pc and (self.id in _COMPARE_BRANCHES or (self.id in _DIRECT and not self.registers))


@lru_cache
def _decoder() -> capstone.Cs:
    decoder = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    decoder.detail = True
    return decoder


Instructions = tuple[Instruction, ...]


class DecodedProgram:
    """What is decoded of the code of a program, by its hash; it is kept for later commands."""

    _KIND = "instructions"
    _DECODER = f"{capstone.__version__} {pickle.HIGHEST_PROTOCOL}".encode() + Path(__file__).read_bytes()

    def __init__(self, program: bytes) -> None:
        self._key = self._DECODER + program
        self._decoded = self._read()
        self._kept_count = len(self._decoded)
        atexit.register(self._keep)

    def decoded(self, code: bytes, start: int) -> Instructions:
        """Return the instructions before the first that capstone does not know, as if they began at `start`."""
        known = self._decoded.get((code, start))
        if known is None:
            known = self._decoded[code, start] = _decoded(code, start)
        return known

    def _read(self) -> dict[tuple[bytes, int], Instructions]:
        return read_cached(self._KIND, self._key, pickle.loads) or {}

    def _keep(self) -> None:
        if self._kept_count == len(self._decoded):
            return
        kept = self._read()  # again: other commands may have kept more meanwhile
        decoded = kept | self._decoded
        if len(kept) < len(decoded) <= KEPT:
            write_cached(self._KIND, self._key, pickle.dumps(decoded, pickle.HIGHEST_PROTOCOL))


@lru_cache
def decoded_program(program: bytes) -> DecodedProgram:
    """Return what is decoded of the program with a hash, the same for all boards that run it."""
    return DecodedProgram(program)


@lru_cache(maxsize=KEPT)
def decode(program: DecodedProgram, code: bytes, address: int) -> Instructions:
    """Return the instructions of a basic block. Raises NotModelledError for an invalid instruction."""
    instructions = tuple(each.at(address + offset) for offset, each in _instructions(program, code))
    for each in instructions:
        _check_special(each)
    end = instructions[-1].address + instructions[-1].size if instructions else address
    if end != address + len(code):
        word = code[end - address : end - address + 4].hex()
        raise NotModelledError(f"the bytes {word} at 0x{end:08x} are not an instruction of this core")
    return instructions


def _instructions(program: DecodedProgram, code: bytes) -> Iterator[tuple[int, Instruction]]:
    """Yield offset and instruction for those that capstone knows before the first that it does not.

    Each is decoded once, wherever it stands, but for those that depend on others: of an IT block, and direct branches,
    whose target counts from the start of `code` and which mostly end it.
    """
    offset = 0
    while offset < len(code):
        halfword = int.from_bytes(code[offset : offset + 2], "little")
        end = offset + (_WIDE_BYTES if halfword >> _PREFIX_SHIFT in _WIDE_PREFIXES else _NARROW_BYTES)
        is_last = halfword & _IT_MASK == _IT or end >= len(code)
        alone = () if is_last else program.decoded(code[offset:end], 0)
        if not alone or alone[0].is_direct:
            yield from ((each.address, each) for each in program.decoded(code[offset:], offset))
            return
        yield offset, alone[0]
        offset = end


@lru_cache(maxsize=KEPT)
def _decoded(code: bytes, start: int) -> Instructions:
    return tuple(map(_instruction, _decoder().disasm(code, start)))


def _instruction(instruction: capstone.CsInsn) -> Instruction:
    operands = instruction.operands
    memory = next((op for op in operands if op.type == arm.ARM_OP_MEM), None)
    immediates = [op.imm for op in operands if op.type == arm.ARM_OP_IMM]
    is_compare_branch = instruction.id in _COMPARE_BRANCHES
    is_conditional = is_compare_branch or (instruction.id != arm.ARM_INS_IT and instruction.cc not in _ALWAYS)
    registers = tuple(op.reg for op in operands if op.type == arm.ARM_OP_REG)
    reads, writes = _accesses(instruction, registers, is_conditional=is_conditional and not is_compare_branch)
    displacement, step = _offsets(instruction, memory, immediates)
    return Instruction(
        address=instruction.address,
        size=instruction.size,
        id=instruction.id,
        name=instruction.insn_name(),
        text=f"{instruction.mnemonic} {instruction.op_str}".strip(),
        is_conditional=is_conditional,
        writes_pc=is_compare_branch or instruction.id in _BRANCHES or arm.ARM_REG_PC in writes,
        is_store=instruction.id in SINGLE_STORES
        or instruction.id in MULTIPLE_STORES
        or instruction.id in _OTHER_STORES,
        accesses_memory=bool(memory) or instruction.id in MULTIPLE_LOADS or instruction.id in MULTIPLE_STORES,
        is_floating=instruction.mnemonic.startswith("v"),
        is_double=instruction.mnemonic.startswith("v") and instruction.group(arm.ARM_GRP_DPVFP),
        is_dsp=any(map(instruction.group, _DSP_GROUPS)),
        register_count=(len(operands) - (instruction.id in _WITH_BASE)) * (2 if _is_double_register(registers) else 1),
        target=operands[0].reg if instruction.id in SINGLE_LOADS else 0,
        registers=registers,
        immediate=immediates[-1] if immediates else 0,
        has_shift=any(op.type == arm.ARM_OP_REG and op.shift.type for op in operands),
        base=memory.mem.base if memory else 0,
        index=memory.mem.index if memory else 0,
        index_shift=memory.shift.value if memory else 0,
        displacement=displacement,
        step=step,
        is_post_indexed=bool(instruction.writeback and immediates),
        reads=reads,
        writes=writes,
    )


def _accesses(
    instruction: capstone.CsInsn, registers: tuple[int, ...], *, is_conditional: bool
) -> tuple[frozenset[int], frozenset[int]]:
    """Return the registers that are read and written; capstone forgets flags and some sources."""
    listed_reads, listed_writes = instruction.regs_access()
    reads, writes = set(listed_reads), set(listed_writes)
    is_load = instruction.id in SINGLE_LOADS or instruction.id in MULTIPLE_LOADS or instruction.id == arm.ARM_INS_LDRD
    if not is_load:
        reads.update(register for register in registers[1:] if register not in writes)
        reads.update(registers[2:])
    if instruction.insn_name().startswith(LONG_ACCUMULATIONS):
        reads.update(registers[:2])
    if instruction.update_flags:
        writes.add(arm.ARM_REG_CPSR)
    if is_conditional:
        reads.add(arm.ARM_REG_CPSR)
    return frozenset(reads), frozenset(writes)


def _offsets(instruction: capstone.CsInsn, memory: ArmOp | None, immediates: list[int]) -> tuple[int, int | None]:
    """Return what an access adds to its base for the address, and for good."""
    displacement = memory.mem.disp if memory else 0
    if not memory or not instruction.writeback:
        return displacement, None
    return (0, immediates[-1]) if immediates else (displacement, displacement)


def _is_double_register(registers: tuple[int, ...]) -> bool:
    return bool(registers) and arm.ARM_REG_D0 <= registers[-1] <= arm.ARM_REG_D31


def _multiple_base(instruction: Instruction) -> int:
    return instruction.registers[0] if instruction.id in _WITH_BASE else int(arm.ARM_REG_SP)


def _check_special(instruction: Instruction) -> None:
    mnemonic, _, operands = instruction.text.lower().partition(" ")
    is_bad = mnemonic in _NOT_MODELLED
    if instruction.id in _SPECIAL:
        names = [part.strip() for part in operands.split(",")]
        is_bad |= instruction.id == arm.ARM_INS_MRS and names[1] not in _SPECIAL_READABLE
        is_bad |= instruction.id == arm.ARM_INS_MSR and names[0] not in _SPECIAL_WRITABLE
        is_bad |= instruction.id == arm.ARM_INS_CPS and not operands.endswith("i")
    if is_bad:
        raise NotModelledError(f"the instruction `{instruction.text}` at 0x{instruction.address:08x} is not modelled")
