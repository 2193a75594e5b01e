"""Cycles of Cortex-M7: two instructions a cycle, in order, by the rules of timing/cortex-m7.toml.

Each instruction issues in the earliest cycle in which its operands are ready, as the older of a pair or as the younger
of the one before. The pipeline has an early and a late ALU, one cycle apart, and multiplies one stage later than that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from capstone import arm
from typing_extensions import override

from virtual_stm32.core.cycle_models import BlockCost, CycleModel
from virtual_stm32.core.instructions import Instruction
from virtual_stm32.core.m7_rules import M7Rules, PipelineStage, Results, accesses, may_go_early
from virtual_stm32.timing_rules import Values


@dataclass
class _Pipeline:
    """Instructions that have issued; `cycle` is the first without any."""

    rules: M7Rules
    cycle: int = 0
    older: Instruction | None = None  # issued in the cycle before, and may still get a partner
    ready: dict[int, Results] = field(default_factory=dict)  # cycles by register
    flags_at: int = 0

    def issue(self, instruction: Instruction) -> int:
        """Issue the next instruction and return its cycle."""
        earliest = max((self._at(register, stage) for register, stage in accesses(instruction)), default=0)
        older = self.older
        if older is not None and earliest < self.cycle and self.rules.may_pair(older, instruction):
            start, self.older = self.cycle - 1, None
        else:
            start, older = max(self.cycle, earliest), None
            self.cycle = start + self.rules.issue_cycles(instruction)
            self.older = instruction
        goes_early = may_go_early(instruction, older) and all(
            self._at(register, PipelineStage.EARLY) <= start for register, _ in accesses(instruction)
        )
        done = start + self.rules.issue_cycles(instruction) - 1
        for register in instruction.writes:
            self.ready[register] = self.rules.results(instruction, register, goes_early=goes_early).after(done)
        if arm.ARM_REG_CPSR in instruction.writes:
            self.flags_at = start
        return start

    def _at(self, register: int, stage: PipelineStage) -> int:
        known = self.ready.get(register)
        return known[stage] if known else 0

    @property
    def drained(self) -> int:
        """The cycle in which an instruction that follows a branch finds all results."""
        return max([self.cycle, *(each[PipelineStage.LATE] for each in self.ready.values())])


class M7Cycles(CycleModel):
    """The cycle model with the rules of cortex-m7.toml."""

    def __init__(self, rules: Values) -> None:
        self._rules = M7Rules(rules)
        self._mispredicted, self._mispredicted_early = rules.cycles("mispredicted"), rules.cycles("mispredicted_early")
        self._early_flags = rules.cycles("early_flags")

    @override
    def cost(self, context: Sequence[Instruction], block: Sequence[Instruction]) -> BlockCost:
        """Return the cycles of a block after `context`, with cache hits.

        A taken branch that is predicted takes no additional cycle (Arm DDI 0489, Prefetch Unit: a branch target address
        cache "for the single-cycle turn-around"), but the instruction at its target does not pair with it, and finds
        all results: both are assumptions.
        """
        pipeline = _Pipeline(self._rules)
        for instruction in context:
            pipeline.issue(instruction)
        begin = pipeline.cycle
        starts = [pipeline.issue(instruction) for instruction in block]
        before = tuple(max(0, start - begin) for start in starts)
        last = block[-1]
        wait = pipeline.drained - pipeline.cycle if last.writes_pc else 0
        cycles = pipeline.cycle - begin + (0 if last.is_conditional else wait)
        mispredicted = self._misprediction(last, starts[-1] - pipeline.flags_at) if last.writes_pc else 0
        return BlockCost(before, cycles, wait if last.is_conditional else 0, mispredicted)

    def _misprediction(self, last: Instruction, flags_age: int) -> int:
        tests_early_flags = arm.ARM_REG_CPSR in last.reads and flags_age >= self._early_flags
        is_known_early = last.is_direct and (not last.is_conditional or tests_early_flags)
        return self._mispredicted_early if is_known_early else self._mispredicted
