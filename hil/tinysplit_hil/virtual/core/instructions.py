"""Thumb instructions, decoded by capstone, with the properties that the cycle models use."""

from dataclasses import dataclass
from functools import lru_cache

import capstone
from capstone import arm

from tinysplit_hil.virtual.errors import NotModelledError

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
BARRIERS = frozenset((arm.ARM_INS_DMB, arm.ARM_INS_DSB, arm.ARM_INS_ISB))
DIVISIONS = frozenset((arm.ARM_INS_SDIV, arm.ARM_INS_UDIV))
TABLE_BRANCHES = frozenset((arm.ARM_INS_TBB, arm.ARM_INS_TBH))
_BRANCHES = frozenset((arm.ARM_INS_B, arm.ARM_INS_BL, arm.ARM_INS_BX, arm.ARM_INS_BLX)) | TABLE_BRANCHES
_COMPARE_BRANCHES = frozenset((arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ))
_NOT_MODELLED = frozenset(("wfe", "sev", "bkpt", "svc"))
_ALWAYS = (arm.ARM_CC_AL, arm.ARM_CC_INVALID)
_SPECIAL_READABLE = frozenset(("apsr", "primask", "msp", "control"))
_SPECIAL_WRITABLE = frozenset(("apsr", "apsr_nzcvq", "apsr_nzcvqg", "primask"))


@dataclass(frozen=True)
class Instruction:
    """One instruction; registers have capstone's numbers."""

    address: int
    size: int
    id: int
    text: str
    is_conditional: bool  # a conditional branch, or inside an IT block
    writes_pc: bool
    is_store: bool
    accesses_memory: bool
    is_floating: bool
    is_double: bool
    register_count: int  # of a load or store multiple
    target: int  # register that a single load writes, 0 for none
    address_registers: frozenset[int]
    has_index_register: bool
    reads: frozenset[int]
    writes: frozenset[int]


@lru_cache
def _decoder() -> capstone.Cs:
    decoder = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    decoder.detail = True
    return decoder


def decode(code: bytes, address: int) -> list[Instruction]:
    """Return the instructions of a basic block. Raises NotModelledError for an invalid instruction."""
    instructions = [_instruction(each) for each in _decoder().disasm(code, address)]
    end = instructions[-1].address + instructions[-1].size if instructions else address
    if end != address + len(code):
        word = code[end - address : end - address + 4].hex()
        raise NotModelledError(f"the bytes {word} at 0x{end:08x} are not an instruction of this core")
    return instructions


def _instruction(each: capstone.CsInsn) -> Instruction:
    text = f"{each.mnemonic} {each.op_str}".strip()
    _check_special(each, text)
    reads, writes = each.regs_access()
    operands = each.operands
    memory = [op.mem for op in operands if op.type == arm.ARM_OP_MEM]
    registers = frozenset(reg for mem in memory for reg in (mem.base, mem.index) if reg)
    is_compare_branch = each.id in _COMPARE_BRANCHES
    return Instruction(
        address=each.address,
        size=each.size,
        id=each.id,
        text=text,
        is_conditional=is_compare_branch or (each.id != arm.ARM_INS_IT and each.cc not in _ALWAYS),
        writes_pc=is_compare_branch or each.id in _BRANCHES or arm.ARM_REG_PC in writes,
        is_store=each.id in SINGLE_STORES or each.id in MULTIPLE_STORES or each.id in _OTHER_STORES,
        accesses_memory=bool(memory) or each.id in MULTIPLE_LOADS or each.id in MULTIPLE_STORES,
        is_floating=each.mnemonic.startswith("v"),
        is_double=each.mnemonic.startswith("v") and each.group(arm.ARM_GRP_DPVFP),
        register_count=len(operands) - (each.id in _WITH_BASE),
        target=operands[0].reg if each.id in SINGLE_LOADS else 0,
        address_registers=registers,
        has_index_register=any(mem.index for mem in memory),
        reads=frozenset(reads),
        writes=frozenset(writes),
    )


def _check_special(each: capstone.CsInsn, text: str) -> None:
    names = [part.strip() for part in each.op_str.lower().split(",")]
    is_bad = each.mnemonic in _NOT_MODELLED
    is_bad |= each.id == arm.ARM_INS_MRS and names[1] not in _SPECIAL_READABLE
    is_bad |= each.id == arm.ARM_INS_MSR and names[0] not in _SPECIAL_WRITABLE
    is_bad |= each.id == arm.ARM_INS_CPS and not each.op_str.endswith("i")
    if is_bad:
        raise NotModelledError(f"the instruction `{text}` at 0x{each.address:08x} is not modelled")
