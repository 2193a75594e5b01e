"""Cycles of Cortex-M3, by the rules of timing/cortex-m3.toml: the pipeline of Cortex-M4 with a slower multiplier."""

from collections.abc import Mapping, Sequence

from capstone import arm
from typing_extensions import override

from virtual_stm32.core.cycle_models import BlockCost
from virtual_stm32.core.instructions import Instruction
from virtual_stm32.core.m4_cycles import M4Cycles
from virtual_stm32.errors import NotModelledError
from virtual_stm32.timing_rules import Values


class M3Cycles(M4Cycles):
    """The cycle model with the rules of cortex-m3.toml, which has no FPU and no DSP instructions."""

    @override
    def _of_extension(self, rules: Values) -> Mapping[int, int]:
        cycles = rules.cycles
        self._fpu_interlock = 0
        return {
            **dict.fromkeys((arm.ARM_INS_MLA, arm.ARM_INS_MLS), cycles("multiply_add")),
            **dict.fromkeys((arm.ARM_INS_UMULL, arm.ARM_INS_SMULL), cycles("long_multiply")),
            **dict.fromkeys((arm.ARM_INS_UMLAL, arm.ARM_INS_SMLAL), cycles("long_multiply_add")),
        }

    @override
    def cost(self, context: Sequence[Instruction], block: Sequence[Instruction]) -> BlockCost:
        """Return the cycles of a block after `context`. Raises NotModelledError for an instruction of ARMv7E-M."""
        for each in block:
            if each.is_dsp:
                raise NotModelledError(f"ARMv7-M has no instruction `{each.text}` (0x{each.address:08x})")
        return super().cost(context, block)
