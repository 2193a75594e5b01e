"""Cycles of Cortex-M0 and M0+, by the rules of timing/cortex-m0.toml and cortex-m0plus.toml."""

from collections.abc import Sequence

from capstone import arm
from typing_extensions import override

from virtual_stm32.core.cycle_models import BlockCost, CycleModel, sum_up
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
from virtual_stm32.timing_rules import Values

_LACKS = DIVISIONS | {arm.ARM_INS_CBZ, arm.ARM_INS_CBNZ, arm.ARM_INS_IT}
_WIDE = BARRIERS | {arm.ARM_INS_BL, arm.ARM_INS_MRS, arm.ARM_INS_MSR}
_WIDE_BYTES = 4


class Armv6mCycles(CycleModel):
    """The cycle model with the rules of either core."""

    def __init__(self, rules: Values) -> None:
        self._multiple, self._multiple_to_pc = rules.cycles("multiple"), rules.cycles("multiple_to_pc")
        self._taken_branch = rules.cycles("taken_branch")
        self._cycles = {
            arm.ARM_INS_BL: rules.cycles("call"),
            **dict.fromkeys({arm.ARM_INS_MRS, arm.ARM_INS_MSR} | BARRIERS, rules.cycles("special")),
            **dict.fromkeys(SINGLE_LOADS | SINGLE_STORES, rules.cycles("load")),
        }

    @override
    def cost(self, _context: Sequence[Instruction], block: Sequence[Instruction]) -> BlockCost:
        """Return the cycles of a block, which do not depend on the instructions before it.

        Raises NotModelledError for an instruction of ARMv7-M.
        """
        return sum_up([self._of(each) for each in block], block[-1])

    def _of(self, instruction: Instruction) -> int:
        if instruction.id in _LACKS or (instruction.size == _WIDE_BYTES and instruction.id not in _WIDE):
            raise NotModelledError(f"ARMv6-M has no instruction `{instruction.text}` (0x{instruction.address:08x})")
        if instruction.id in MULTIPLE_LOADS | MULTIPLE_STORES:
            return instruction.register_count + (self._multiple_to_pc if instruction.writes_pc else self._multiple)
        if instruction.id in self._cycles:
            return self._cycles[instruction.id]
        return self._taken_branch if instruction.writes_pc or instruction.text == "wfi" else 1
