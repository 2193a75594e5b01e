"""Cycles of basic blocks on each core by Arm's technical reference manuals, without flash wait states."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from capstone import arm

from tinysplit_hil.virtual.core.instructions import (
    BARRIERS,
    DIVISIONS,
    MULTIPLE_LOADS,
    MULTIPLE_STORES,
    SINGLE_LOADS,
    SINGLE_STORES,
    TABLE_BRANCHES,
    Instruction,
)
from tinysplit_hil.virtual.errors import NotModelledError


@dataclass(frozen=True)
class BlockCost:
    """Cycles before each instruction, cycles of the block, and additional cycles if its last branch is taken."""

    before: tuple[int, ...]
    cycles: int
    taken: int


CostModel = Callable[[Sequence[Instruction]], BlockCost]


def _sum_up(costs: Sequence[int], last: Instruction, not_taken: int = 1) -> BlockCost:
    """Return the sum of `costs`; a conditional last instruction takes `not_taken` cycles if it does not branch."""
    before = [0]
    for cost in costs:
        before.append(before[-1] + cost)
    total = before.pop()
    taken = costs[-1] - not_taken if last.is_conditional and last.writes_pc else 0
    return BlockCost(tuple(before), total - taken, taken)


_M0PLUS_CYCLES = {
    arm.ARM_INS_BL: 3,
    arm.ARM_INS_MRS: 3,
    arm.ARM_INS_MSR: 3,
    **dict.fromkeys(BARRIERS, 3),
    **dict.fromkeys(SINGLE_LOADS | SINGLE_STORES, 2),
}
_M0PLUS_LACKS = DIVISIONS | {arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ, arm.ARM_INS_IT}
_M0PLUS_WIDE = BARRIERS | {arm.ARM_INS_BL, arm.ARM_INS_MRS, arm.ARM_INS_MSR}
_WIDE = 4


def m0plus_cost(block: Sequence[Instruction]) -> BlockCost:
    """Return the cycles on Cortex-M0+ (Arm DDI 0484C, Table 3-1), with the single-cycle multiplier."""
    return _sum_up([_m0plus(each) for each in block], block[-1])


def _m0plus(each: Instruction) -> int:
    if each.id in _M0PLUS_LACKS or (each.size == _WIDE and each.id not in _M0PLUS_WIDE):
        raise NotModelledError(f"ARMv6-M has no instruction `{each.text}` (0x{each.address:08x})")
    if each.id in MULTIPLE_LOADS | MULTIPLE_STORES:
        return each.register_count + (3 if each.writes_pc else 1)
    if each.id in _M0PLUS_CYCLES:
        return _M0PLUS_CYCLES[each.id]
    return 2 if each.writes_pc or each.text == "wfi" else 1


# Arm DDI 0439 gives 1 + P for a taken branch, with P from 1 to 3: P = 1 agrees with loops measured on devices.
_M4_REFILL = 1
_M4_CYCLES = {
    **dict.fromkeys(DIVISIONS, 7),  # 2 to 12, depending on the operands: the mean
    **dict.fromkeys(TABLE_BRANCHES, 2),
    arm.ARM_INS_LDRD: 3,
    arm.ARM_INS_STRD: 3,
    arm.ARM_INS_PLD: 2,
    arm.ARM_INS_VDIV: 14,
    arm.ARM_INS_VSQRT: 14,
    **dict.fromkeys((arm.ARM_INS_VMLA, arm.ARM_INS_VMLS, arm.ARM_INS_VNMLA, arm.ARM_INS_VNMLS), 3),
    **dict.fromkeys((arm.ARM_INS_VFMA, arm.ARM_INS_VFMS, arm.ARM_INS_VFNMA, arm.ARM_INS_VFNMS), 3),
    **dict.fromkeys((arm.ARM_INS_VLDR, arm.ARM_INS_VSTR), 2),
}


def m4_cost(block: Sequence[Instruction]) -> BlockCost:
    """Return the cycles on Cortex-M4 (Arm DDI 0439, Tables 3-1 and 7-1; pipelined loads: section Load/store timings).

    Instructions in an IT block count as executed, except for branches. Raises NotModelledError for double precision.
    """
    costs = []
    previous: Instruction | None = None
    for each in block:
        if each.is_double:
            raise NotModelledError(f"the FPU of Cortex-M4 has no instruction `{each.text}` (0x{each.address:08x})")
        costs.append(_m4(each, previous) + (_M4_REFILL if each.writes_pc else 0))
        previous = each
    return _sum_up(costs, block[-1])


def _m4(each: Instruction, previous: Instruction | None) -> int:
    if each.id in SINGLE_LOADS or (each.id in SINGLE_STORES and each.has_index_register):
        return 1 if previous and previous.target and previous.target not in each.address_registers else 2
    if each.id in MULTIPLE_LOADS | MULTIPLE_STORES:
        return 1 + each.register_count
    return _M4_CYCLES.get(each.id, 1)


_M7_LATENCY_LOAD = 2
_M7_LATENCY_MULTIPLY = 2
_M7_TAKEN = 1  # predicted branches; misprediction is not modelled
_M7_SLOW = {
    **dict.fromkeys(DIVISIONS, 8),
    arm.ARM_INS_VDIV: 16,
    arm.ARM_INS_VSQRT: 14,
    **dict.fromkeys(BARRIERS, 4),
}


def m7_cost(block: Sequence[Instruction]) -> BlockCost:
    """Return the cycles on Cortex-M7 by a coarse model: in-order dual issue, limited by dependences and units.

    Arm publishes no timing table. The model assumes cache hits and correctly predicted branches.
    """
    ready: dict[int, int] = {}
    before, cycle, partner = [], 0, None
    for each in block:
        earliest = max((ready.get(register, 0) for register in each.reads), default=0)
        is_paired = partner is not None and earliest <= cycle - 1 and _m7_may_pair(partner, each)
        start = cycle - 1 if is_paired else max(cycle, earliest)
        before.append(start)
        for register in each.writes:
            ready[register] = start + _m7_latency(each)
        cycle = max(cycle, start + _m7_issue(each))
        partner = None if is_paired or _m7_issue(each) > 1 else each
    last = block[-1]
    taken = _M7_TAKEN if last.writes_pc else 0
    return BlockCost(tuple(before), cycle + (0 if last.is_conditional else taken), taken if last.is_conditional else 0)


def _m7_issue(each: Instruction) -> int:
    if each.id in MULTIPLE_LOADS | MULTIPLE_STORES:
        return (each.register_count + 1) // 2 + 1
    return _M7_SLOW.get(each.id, 1)


def _m7_latency(each: Instruction) -> int:
    if each.target:
        return _M7_LATENCY_LOAD
    if each.id in _M7_SLOW or each.id in MULTIPLE_LOADS:
        return _m7_issue(each)
    return _M7_LATENCY_MULTIPLY if _m7_unit(each) == "multiplier" else 1


def _m7_unit(each: Instruction) -> str:
    if each.target or each.is_store or each.id in MULTIPLE_LOADS:
        return "memory"
    if each.is_floating:
        return "fpu"
    mnemonic = each.text.split(" ", maxsplit=1)[0]
    return "multiplier" if mnemonic.startswith(("mul", "mla", "mls", "sm", "um")) else "alu"


def _m7_may_pair(first: Instruction, second: Instruction) -> bool:
    if first.writes_pc or first.writes & (second.reads | second.writes) - {arm.ARM_REG_CPSR}:
        return False
    unit = _m7_unit(first)
    return unit == "alu" or unit != _m7_unit(second)
