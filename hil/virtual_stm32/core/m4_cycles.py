"""Cycles of Cortex-M4 (Arm DDI 0439, Tables 3-1 and 7-1, and section Load/store timings).

The manual leaves open: P, the cycles of a pipeline refill, from 1 to 3 "depending on the alignment and width of the
target instruction, and whether the processor manages to speculate the address early"; cycles of a division; whether
loads that write back their base are pipelined. Measurements answer that:

* [jnk0le]: github.com/jnk0le/random, pipeline cycle test, cortex_m3m4.md, on an STM32F407.
* [compendium]: compendium.i-0.nl, instruction alignment and division timing, Cortex-M4.
"""

from collections.abc import Sequence
from dataclasses import replace

from capstone import arm

from virtual_stm32.core.cycle_models import BlockCost, sum_up
from virtual_stm32.core.instructions import (
    DIVISIONS,
    EXCLUSIVE_STORES,
    MULTIPLE_LOADS,
    MULTIPLE_STORES,
    SINGLE_LOADS,
    SINGLE_STORES,
    TABLE_BRANCHES,
    Instruction,
)
from virtual_stm32.errors import NotModelledError

_REFILL = 1  # P of a branch with a known target: agrees with loops measured on devices
_REFILL_FROM_MEMORY = 3  # P if the target is loaded: "three cycles for the pipeline reload" (Load/store timings)
_WIDE_BYTES = 4
SHORTEST_DIVISION = 2  # on_division() of accesses.c adds what the operands require

_FUSED = (arm.ARM_INS_VFMA, arm.ARM_INS_VFMS, arm.ARM_INS_VFNMA, arm.ARM_INS_VFNMS)
_CHAINED = (arm.ARM_INS_VMLA, arm.ARM_INS_VMLS, arm.ARM_INS_VNMLA, arm.ARM_INS_VNMLS)
_CYCLES = {
    **dict.fromkeys(DIVISIONS, SHORTEST_DIVISION),
    **dict.fromkeys(TABLE_BRANCHES, 3),  # 2 for the load, 1 for the sum (Load/store timings; Table 3-1 has 2)
    # "1 or 2" in Table 3-1: the longer. ISB takes 1 and a refill.
    **dict.fromkeys((arm.ARM_INS_MRS, arm.ARM_INS_MSR, arm.ARM_INS_CPS, arm.ARM_INS_ISB), 2),
    arm.ARM_INS_LDRD: 3,
    arm.ARM_INS_STRD: 3,
    arm.ARM_INS_PLD: 2,
    arm.ARM_INS_VDIV: 14,
    arm.ARM_INS_VSQRT: 14,
    **dict.fromkeys((*_FUSED, *_CHAINED), 3),
    **dict.fromkeys((arm.ARM_INS_VLDR, arm.ARM_INS_VSTR), 2),
}
_NOT_ARITHMETIC = frozenset((arm.ARM_INS_VMOV, arm.ARM_INS_VLDR, arm.ARM_INS_VMRS, arm.ARM_INS_VMSR, arm.ARM_INS_VCMP))
_MOVED_REGISTERS = 2  # of VMOV between two single registers
_PIPELINED_STORES = SINGLE_STORES - EXCLUSIVE_STORES


def m4_cost(context: Sequence[Instruction], block: Sequence[Instruction]) -> BlockCost:
    """Return the cycles of a block after `context`.

    An instruction in an IT block counts as executed, except for branches, and IT is not folded into the one before.
    Raises NotModelledError for double precision.
    """
    costs, stalls = [], []
    previous = context[-1] if context else None
    for instruction in block:
        if instruction.is_double:
            raise NotModelledError(
                f"the FPU of Cortex-M4 has no instruction `{instruction.text}` (0x{instruction.address:08x})"
            )
        stalls.append(_stall(instruction, previous))
        costs.append(stalls[-1] + _cycles(instruction, previous) + _refill(instruction))
        previous = instruction
    cost = sum_up(costs, block[-1])
    return replace(cost, before=tuple(map(sum, zip(cost.before, stalls, strict=True))))


def m4_refetch(target: Instruction) -> int:
    """Return the cycles that a taken branch adds: two fetches for a 32-bit target that is not word-aligned.

    P = 2 of DDI 0439; [compendium] has measured it.
    """
    return 1 if target.size == _WIDE_BYTES and target.address % _WIDE_BYTES else 0


def _cycles(instruction: Instruction, previous: Instruction | None) -> int:
    """Return the cycles of one instruction; loads pipeline with a load before them, and so do stores."""
    if instruction.id in SINGLE_LOADS or instruction.id in EXCLUSIVE_STORES:
        return 1 if _is_pipelined(instruction, previous) else 2
    if instruction.id in _PIPELINED_STORES:  # "STR Rx,[Ry,#imm] is always one cycle"; [jnk0le]: with write-back, too
        return 2 if instruction.index and not _is_pipelined(instruction, previous) else 1
    if instruction.id in MULTIPLE_LOADS | MULTIPLE_STORES:
        return 1 + instruction.register_count
    is_long_move = instruction.id == arm.ARM_INS_VMOV and len(instruction.registers) > _MOVED_REGISTERS
    is_long_access = instruction.id in (arm.ARM_INS_VLDR, arm.ARM_INS_VSTR) and instruction.has_double_register
    return _CYCLES.get(instruction.id, 1) + (1 if is_long_move or is_long_access else 0)


def _is_pipelined(instruction: Instruction, previous: Instruction | None) -> bool:
    """Return whether the address phase overlaps with the data phase of a load before.

    Not if the load gives the address, be it by writing back the base ([jnk0le]); with another base, it pipelines.
    """
    if previous is None or (previous.id not in SINGLE_LOADS and previous.id not in EXCLUSIVE_STORES):
        return False
    return not previous.writes_pc and not previous.writes & instruction.address_registers


def _stall(instruction: Instruction, previous: Instruction | None) -> int:
    """Return the interlocks: an address from the instruction before, or the result of the FPU's arithmetic.

    "Any load or store that generates an address dependent on the result of a preceding data processing operation
    stalls the pipeline for an additional cycle"; a base that a store writes back counts as one. The second rule is in
    the notes of Table 7-1. Loads, STM and STRD take longer, so that their registers are written in time.
    """
    if previous is None:
        return 0
    is_load = previous.id in SINGLE_LOADS | MULTIPLE_LOADS or previous.id == arm.ARM_INS_LDRD
    takes_longer = is_load or previous.id in MULTIPLE_STORES or previous.id == arm.ARM_INS_STRD
    if not takes_longer and previous.writes & instruction.address_registers:
        return 1
    is_arithmetic = previous.is_floating and not takes_longer and previous.id not in _NOT_ARITHMETIC
    return 1 if is_arithmetic and previous.writes & instruction.reads - {arm.ARM_REG_CPSR} else 0


def _refill(instruction: Instruction) -> int:
    if not instruction.writes_pc:
        return 0
    return _REFILL_FROM_MEMORY if instruction.loads_pc else _REFILL
