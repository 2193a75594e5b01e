"""Cycles of Cortex-M0+ (Arm DDI 0484C, Table 3-1), with the single-cycle multiplier."""

from collections.abc import Sequence

from capstone import arm

from virtual_stm32.core.cycle_models import BlockCost, sum_up
from virtual_stm32.core.instructions import (
    BARRIERS,
    DIVISIONS,
    MULTIPLE_LOADS,
    MULTIPLE_STORES,
    SINGLE_LOADS,
    SINGLE_STORES,
    Instruction,
)
from virtual_stm32.errors import NotModelledError

_CYCLES = {
    arm.ARM_INS_BL: 3,
    arm.ARM_INS_MRS: 3,
    arm.ARM_INS_MSR: 3,
    **dict.fromkeys(BARRIERS, 3),
    # 1 on the single-cycle I/O port, where the STM32G0 has GPIO: not modelled.
    **dict.fromkeys(SINGLE_LOADS | SINGLE_STORES, 2),
}
_LACKS = DIVISIONS | {arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ, arm.ARM_INS_IT}
_WIDE = BARRIERS | {arm.ARM_INS_BL, arm.ARM_INS_MRS, arm.ARM_INS_MSR}
_WIDE_BYTES = 4


def m0plus_cost(_context: Sequence[Instruction], block: Sequence[Instruction]) -> BlockCost:
    """Return the cycles of a block, which do not depend on the instructions before it.

    Raises NotModelledError for an instruction of ARMv7-M.
    """
    return sum_up([_cycles(each) for each in block], block[-1])


def _cycles(instruction: Instruction) -> int:
    if instruction.id in _LACKS or (instruction.size == _WIDE_BYTES and instruction.id not in _WIDE):
        raise NotModelledError(f"ARMv6-M has no instruction `{instruction.text}` (0x{instruction.address:08x})")
    if instruction.id in MULTIPLE_LOADS | MULTIPLE_STORES:
        return instruction.register_count + (3 if instruction.writes_pc else 1)
    if instruction.id in _CYCLES:
        return _CYCLES[instruction.id]
    return 2 if instruction.writes_pc or instruction.text == "wfi" else 1
