"""Cycles of Cortex-M33: in order, few pairs of 16-bit instructions, by the rules of timing/cortex-m33.toml."""

from collections.abc import Sequence

from capstone import arm
from typing_extensions import override

from virtual_stm32.core.cycle_models import BlockCost, CycleModel, sum_up
from virtual_stm32.core.instructions import (
    DIVISIONS,
    LONG_ACCUMULATIONS,
    MULTIPLE_LOADS,
    MULTIPLE_STORES,
    PAIR_ACCESSES,
    SINGLE_LOADS,
    TABLE_BRANCHES,
    Instruction,
)
from virtual_stm32.errors import NotModelledError
from virtual_stm32.timing_rules import Values

_WIDE_BYTES, _BYTE = 4, 0xFF
_ACCUMULATIONS = ("mla", "mls", "smla", "smls", "smmla", "smmls", *LONG_ACCUMULATIONS)
_PRODUCTS = (*_ACCUMULATIONS, "mul", "smul", "smmul", "smu", "umul")
_EXTENDED_ADDITIONS = ("sxta", "uxta")
_CONSTANTS = frozenset(
    (
        *("add", "adc", "and", "bic", "cmn", "cmp", "eor", "mov"),
        *("mvn", "orn", "orr", "rsb", "sbc", "sub", "teq", "tst"),
    )
)
_FUSED = ("vfma", "vfms", "vfnm", "vmla", "vmls", "vnml")
_FPU_MOVES = ("vmov", "vldr", "vstr", "vldm", "vstm", "vpush", "vpop", "vmrs", "vmsr", "vcmp")
_PATTERNS = (0x00010001, 0x01000100, 0x01010101)  # times a byte: constants that need no shifter


class M33Cycles(CycleModel):
    """The cycle model with the rules of cortex-m33.toml."""

    def __init__(self, rules: Values) -> None:
        cycles = rules.cycles
        self._late = cycles("late_result")
        self._flags_of_late = cycles("flags_of_late_result")
        self._taken, self._taken_in_pair = cycles("taken_branch"), cycles("taken_branch_in_pair")
        self._loaded = cycles("loaded_branch")
        self._refetch = cycles("refetch")
        self._fused, self._fpu_result = cycles("fpu_fused"), cycles("fpu_result")
        self._cycles = {
            **dict.fromkeys(DIVISIONS, cycles("shortest_division")),  # on_division() of accesses.c adds the rest
            **dict.fromkeys(TABLE_BRANCHES, cycles("table_branch")),
            **dict.fromkeys((arm.ARM_INS_MRS, arm.ARM_INS_MSR, arm.ARM_INS_CPS, arm.ARM_INS_ISB), cycles("special")),
            **dict.fromkeys(PAIR_ACCESSES, cycles("double")),
            **dict.fromkeys((arm.ARM_INS_VDIV, arm.ARM_INS_VSQRT), cycles("fpu_division")),
        }

    @override
    def cost(self, context: Sequence[Instruction], block: Sequence[Instruction]) -> BlockCost:
        """Return the cycles of a block after `context`; an instruction in an IT block counts as executed.

        Raises NotModelledError for double precision.
        """
        issue = _Issue(self)
        for instruction in context:
            issue.add(instruction)
        costs = [issue.add(instruction) for instruction in block]
        return sum_up(costs, block[-1], 0 if issue.is_paired else 1)

    @override
    def refetch(self, target: Instruction) -> int:
        """Return the cycles that a taken branch adds, by its target."""
        return self._refetch if target.size == _WIDE_BYTES and target.address % _WIDE_BYTES else 0

    def occupies(self, instruction: Instruction) -> int:
        """Return the cycles in which no other instruction begins, without waiting and branching."""
        if instruction.id in MULTIPLE_LOADS | MULTIPLE_STORES:
            return max(1, instruction.register_count)
        if instruction.has_double_register and instruction.id in (arm.ARM_INS_VLDR, arm.ARM_INS_VSTR):
            return 2
        sets_flags = arm.ARM_REG_CPSR in instruction.writes
        if sets_flags and (instruction.name == "mul" or _has_shifted_constant(instruction)):
            return self._flags_of_late
        return self._cycles.get(instruction.id, 1)

    def branches(self, instruction: Instruction, *, is_paired: bool) -> int:
        """Return the cycles of a branch that is taken."""
        if instruction.loads_pc:
            return self._loaded
        return self._taken_in_pair if is_paired else self._taken

    def result(self, instruction: Instruction) -> int:
        """Return the cycles from the beginning of an instruction to the first that may use its result."""
        if instruction.is_floating:
            return self._fpu_latency(instruction)
        is_late = (
            instruction.id in SINGLE_LOADS
            or instruction.name.startswith((*_PRODUCTS, *_EXTENDED_ADDITIONS))
            or _has_shifted_operand(instruction)
            or _has_shifted_constant(instruction)
        )
        return self._late if is_late else 1

    def _fpu_latency(self, instruction: Instruction) -> int:
        if instruction.name.startswith(_FUSED):
            return self._fused
        return 1 if instruction.name.startswith(_FPU_MOVES) else self._fpu_result

    def fpu_free(self, instruction: Instruction) -> int:
        """Return the cycles from the beginning of an instruction of the FPU to that of the next."""
        return self._fused if instruction.name.startswith(_FUSED) else 1


class _Issue:
    """When instructions begin, one after the other."""

    def __init__(self, model: M33Cycles) -> None:
        self._model = model
        self._now = 0  # when the next may begin
        self._ready: dict[int, int] = {}  # when registers can be used
        self._early: dict[int, int] = {}  # the same for what a multiplication adds, and what is stored
        self._fpu_free = 0
        self._previous: Instruction | None = None
        self.is_paired = False  # the last one, with that before it

    def add(self, instruction: Instruction) -> int:
        """Return the cycles of the next instruction."""
        if instruction.is_double:
            raise NotModelledError(
                f"the FPU of Cortex-M33 has no instruction `{instruction.text}` (0x{instruction.address:08x})"
            )
        model, before = self._model, self._now
        self.is_paired = not self.is_paired and self._pairs(instruction)
        begin = max(before - 1 if self.is_paired else before, self._operands_ready(instruction))
        if instruction.is_floating:
            begin = max(begin, self._fpu_free)
            self._fpu_free = begin + model.fpu_free(instruction)
        self._note_results(instruction, begin)
        if instruction.writes_pc:
            flags = self._previous is not None and arm.ARM_REG_CPSR in self._previous.writes
            depends = flags and instruction.is_conditional
            end = begin + model.occupies(instruction) - 1
            end += model.branches(instruction, is_paired=self.is_paired and not depends)
            end += 1 if self.is_paired else 0
        else:
            end = begin + model.occupies(instruction)
        self._now = max(before, end)
        self._previous = instruction
        return self._now - before

    def _pairs(self, instruction: Instruction) -> bool:
        """Whether an instruction begins together with that before it."""
        previous = self._previous
        if previous is None or _WIDE_BYTES in (previous.size, instruction.size) or previous.writes_pc:
            return False
        if instruction.id == arm.ARM_INS_IT or (instruction.writes_pc and not instruction.loads_pc):
            return True
        return previous.text == "nop" and not instruction.writes_pc

    def _operands_ready(self, instruction: Instruction) -> int:
        late = _late_operands(instruction)
        ignored = {arm.ARM_REG_CPSR} if self.is_paired else set()  # flags of the other one of a pair come in time
        times = [self._ready.get(register, 0) for register in instruction.reads - late - ignored]
        times += [self._early.get(register, 0) for register in late]
        return max(times, default=0)

    def _note_results(self, instruction: Instruction, begin: int) -> None:
        latency = self._model.result(instruction)
        can_add = instruction.id in SINGLE_LOADS or instruction.name.startswith((*_PRODUCTS, *_EXTENDED_ADDITIONS))
        for register in instruction.writes:
            own = 1 if register == instruction.base and instruction.step is not None else latency
            self._ready[register] = begin + own
            self._early[register] = begin + (1 if can_add or _has_shifted_operand(instruction) else own)


def _late_operands(instruction: Instruction) -> frozenset[int]:
    """Return the registers that are used a cycle later than others: what is added to a product, and what is stored."""
    registers = instruction.registers
    if instruction.is_floating:
        return frozenset()
    if instruction.is_store and registers:
        return frozenset(registers) - instruction.address_registers
    if instruction.name.startswith(LONG_ACCUMULATIONS):
        return frozenset(registers[:2]) - frozenset(registers[2:])
    if instruction.name.startswith(_ACCUMULATIONS):
        return frozenset(registers[3:]) - frozenset(registers[1:3])
    if instruction.name.startswith(_EXTENDED_ADDITIONS):
        return frozenset(registers[1:2]) - frozenset(registers[2:])
    return frozenset()


def _has_shifted_operand(instruction: Instruction) -> bool:
    return instruction.has_shift and not instruction.accesses_memory and instruction.name not in ("sxth", "uxth")


def _has_shifted_constant(instruction: Instruction) -> bool:
    """Whether a constant is a byte that is shifted: none below 256, none of 12 bits, and no pattern of one byte."""
    value = instruction.immediate & 0xFFFFFFFF
    if instruction.size != _WIDE_BYTES or instruction.name not in _CONSTANTS or value <= _BYTE:
        return False
    return value // (value & -value) <= _BYTE and all(value % each or value // each > _BYTE for each in _PATTERNS)
