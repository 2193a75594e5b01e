"""Rules of Cortex-M7 for single instructions and for pairs; timing/cortex-m7.toml has their numbers and sources."""

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from capstone import arm

from virtual_stm32.core.instructions import (
    BARRIERS,
    DIVISIONS,
    EXCLUSIVE_STORES,
    LONG_ACCUMULATIONS,
    MULTIPLE_LOADS,
    MULTIPLE_STORES,
    PAIR_ACCESSES,
    TABLE_BRANCHES,
    WORD_ACCESSES,
    Instruction,
)
from virtual_stm32.timing_rules import Values


class PipelineStage(IntEnum):
    """Where an instruction needs an operand."""

    EARLY = 0  # address, shifted operand, early ALU
    LATE = 1  # the other ALU
    MULTIPLIED = 2
    ACCUMULATED = 3
    STORED = 4


class Results(NamedTuple):
    """First cycle in which a result can be used, by Stage; relative to the instruction's cycle, or absolute."""

    early: int
    late: int
    multiplied: int
    accumulated: int
    stored: int

    def after(self, cycle: int) -> "Results":
        """Return the cycles of an instruction at `cycle`."""
        return Results(*(cycle + each for each in self))


_MULTIPLY = re.compile(r"mul|ml[as]|sm[lmu]|um[ul]|umaal")
# Bitfields and DSP except multiplications: only as the older of a pair, and not two of them.
_OLDER_ONLY = re.compile(
    r"[su]xt|pkh|[su]bfx|bf[ci]|rev|rbit|clz|sel|[su]sat|usada?8|u?q(add|sub|asx|sax|dadd|dsub)|[su]h?(add|sub|asx|sax)"
)
_SLOW_DSP = re.compile(r"[su]sat|usada?8|u?q(add|sub|asx|sax|dadd|dsub)")
_SHIFTING = re.compile(r"[su]xta|pkh|[su]bfx|bf[ci]|rev|rbit")  # uses the early shifter
# jnk0le names as early readers only extensions that also add. Bosch's images on H7A3 and F746, which extend all their
# weights, take 0.96 to 1.03 of their published times so, and up to 1.19 if rotated operands are read early.
_EXTENSION = re.compile(r"[su]xt(b16|b|h)")
_SHIFTS = frozenset((arm.ARM_INS_LSL, arm.ARM_INS_LSR, arm.ARM_INS_ASR, arm.ARM_INS_ROR))
_EARLY = frozenset(("add", "addw", "sub", "subw", "mov", "movw"))
_FUSED = frozenset(("vfma", "vfms", "vfnma", "vfnms"))
_CHAINED = frozenset(("vmla", "vmls", "vnmla", "vnmls"))
_LONG_FPU = {"vdiv": (16, 30), "vsqrt": (14, 30)}  # single, double; it stops the pipeline
_DOUBLE_FPU = {"vadd": 2, "vsub": 2, "vmul": 5, "vnmul": 5, **dict.fromkeys(_FUSED, 8), **dict.fromkeys(_CHAINED, 9)}
_SPECIAL = frozenset((arm.ARM_INS_MRS, arm.ARM_INS_MSR, arm.ARM_INS_CPS)) | BARRIERS
_SLOW = _SPECIAL | TABLE_BRANCHES | DIVISIONS
_MULTIPLE = MULTIPLE_LOADS | MULTIPLE_STORES
_SINGLE = _SLOW | _MULTIPLE | PAIR_ACCESSES | EXCLUSIVE_STORES | {arm.ARM_INS_VMRS, arm.ARM_INS_VMSR}
_LONG_CONSTANTS = frozenset(("movw", "movt", "addw", "subw", "adr"))  # 12 or 16 bits in the instruction
_LATENCIES = (
    *("flags", "base", "part", "word", "multiplier", "early_alu", "alu"),
    *("fpu_load", "fpu_fused", "fpu_chained", "fpu_alu"),
)
_BYTE = 0xFF
_HALFWORD_BYTES = 2
_WORD_BYTES, _BANKS_BYTES = 4, 8


def _is_multiply(instruction: Instruction) -> bool:
    return _MULTIPLY.match(instruction.name) is not None


def _is_load(instruction: Instruction) -> bool:
    return bool(instruction.target) or instruction.id in (arm.ARM_INS_VLDR, arm.ARM_INS_PLD)


def _is_fpu_arithmetic(instruction: Instruction) -> bool:
    return instruction.is_floating and instruction.id not in (arm.ARM_INS_VLDR, arm.ARM_INS_VSTR)


def _is_shifted_constant(instruction: Instruction) -> bool:
    """Return whether a 32-bit instruction makes its constant from eight bits by a shift, and not by repeating them."""
    value = instruction.immediate & 0xFFFFFFFF
    if (
        value <= _BYTE
        or instruction.size == _HALFWORD_BYTES
        or instruction.id in _SHIFTS
        or instruction.base
        or instruction.writes_pc
    ):
        return False
    return instruction.name not in _LONG_CONSTANTS and value & 0xFFFF != value >> 16


def _is_shifted(instruction: Instruction) -> bool:
    """Return whether an operand is shifted before the ALU; extensions rotate theirs themselves."""
    return instruction.has_shift and not _EXTENSION.match(instruction.name)


def _uses_shifter(instruction: Instruction) -> bool:
    return (
        _is_shifted(instruction) or _SHIFTING.match(instruction.name) is not None or _is_shifted_constant(instruction)
    )


def may_go_early(instruction: Instruction, older: Instruction | None) -> bool:
    """Return whether the early ALU may execute an instruction; `older` is that of its pair.

    ADD, SUB and MOV only without a partner before them; shifts also with one that does not use the shifter.
    """
    if instruction.is_conditional or _uses_shifter(instruction):
        return False
    if older is None:
        return instruction.name in _EARLY or instruction.id in _SHIFTS
    return instruction.id in _SHIFTS and not _uses_shifter(older)


def accesses(instruction: Instruction) -> Iterator[tuple[int, PipelineStage]]:
    """Yield the registers that an instruction reads, with the stage that needs them."""
    addresses = instruction.address_registers
    for register in instruction.reads:
        if register in addresses:
            yield register, PipelineStage.EARLY
        elif register == arm.ARM_REG_CPSR:
            if not instruction.writes_pc:  # a branch is predicted, and does not wait
                yield register, PipelineStage.LATE
        else:
            yield register, _stage(instruction, register)


def _stage(instruction: Instruction, register: int) -> PipelineStage:
    if instruction.is_store and instruction.id not in _MULTIPLE:
        return PipelineStage.STORED
    if _is_multiply(instruction) or instruction.name in _FUSED | _CHAINED:
        return PipelineStage.ACCUMULATED if register in _accumulators(instruction) else PipelineStage.MULTIPLIED
    is_shifted = _is_shifted(instruction) or _SHIFTING.match(instruction.name) is not None
    return PipelineStage.EARLY if is_shifted and register == instruction.registers[-1] else PipelineStage.LATE


def _accumulators(instruction: Instruction) -> tuple[int, ...]:
    """Return the registers that are added to the product, unless they are factors, too."""
    operands = instruction.registers
    if instruction.is_floating:
        sums, factors = operands[:1], operands[1:]
    elif instruction.name.startswith(LONG_ACCUMULATIONS):
        sums, factors = operands[:2], operands[2:]
    else:
        sums, factors = operands[3:], operands[1:3]
    return tuple(register for register in sums if register not in factors)


def _is_integer(register: int) -> bool:
    return bool(arm.ARM_REG_R0 <= register <= arm.ARM_REG_R12) or register == arm.ARM_REG_LR


def _is_single(instruction: Instruction) -> bool:
    """Return whether an instruction issues alone."""
    if instruction.is_floating and (
        instruction.name in _LONG_FPU or instruction.is_double or instruction.has_double_register
    ):
        return True
    is_core_move = instruction.id == arm.ARM_INS_VMOV and any(map(_is_integer, instruction.registers))
    return instruction.id in _SINGLE or is_core_move or instruction.text == "wfi"


def _is_same_bank(older: Instruction, younger: Instruction) -> bool | None:
    """Return whether two loads read two even or two odd words; None where registers decide."""
    if older.index or younger.index or older.base != younger.base:
        return None
    distance = younger.displacement - older.displacement
    if older.base == arm.ARM_REG_PC:
        distance += (younger.address & ~3) - (older.address & ~3)
    return distance % _BANKS_BYTES != _WORD_BYTES


class M7Rules:
    """What depends on the numbers of cortex-m7.toml."""

    def __init__(self, rules: Values) -> None:
        self._other_bases_pair = bool(rules.cycles("other_bases_pair"))
        self._slow = {
            **dict.fromkeys(_SPECIAL, rules.cycles("special")),
            arm.ARM_INS_ISB: rules.cycles("barrier_refetch"),
            **dict.fromkeys(TABLE_BRANCHES, rules.cycles("table_branch")),
            **dict.fromkeys(DIVISIONS, rules.cycles("shortest_division")),  # on_division() of accesses.c adds the rest
        }
        self._latencies = {name: Results(*rules.row(name)) for name in _LATENCIES}

    def issue_cycles(self, instruction: Instruction) -> int:
        """Return for how many cycles nothing else issues. LDM, STM: two words a cycle, aligned to 8 bytes: assumed."""
        if instruction.id in _MULTIPLE:
            return (instruction.register_count + 1) // 2
        if instruction.is_floating:
            if instruction.name in _LONG_FPU:
                return _LONG_FPU[instruction.name][instruction.is_double]
            return _DOUBLE_FPU.get(instruction.name, 1) if instruction.is_double else 1
        return self._slow.get(instruction.id, 1)

    def results(self, instruction: Instruction, register: int, *, goes_early: bool) -> Results:
        """Return when the register that an instruction writes can be used."""
        return self._latencies[_latency(instruction, register, goes_early=goes_early)]

    def may_pair(self, older: Instruction, younger: Instruction) -> bool:
        """Return whether two instructions may issue in the same cycle, if their operands are ready."""
        if _is_single(older) or _is_single(younger):
            return False
        if older.writes & younger.writes - younger.reads - {arm.ARM_REG_CPSR}:
            return False
        if _OLDER_ONLY.match(younger.name) or (older.writes_pc and younger.writes_pc):
            return False
        if _uses_shifter(younger) and (_uses_shifter(older) or older.id in _SHIFTS):
            return False
        return not self._is_unit_busy(older, younger)

    def _is_unit_busy(self, older: Instruction, younger: Instruction) -> bool:
        """Return whether both need the multiplier, the store port, the FPU or the same bank of memory."""
        pair = (older, younger)
        if any(map(_is_multiply, pair)) and all(_is_multiply(each) or each.is_store for each in pair):
            return True
        if all(each.is_store for each in pair) or all(map(_is_fpu_arithmetic, pair)):
            return True
        if any(each.name in _FUSED | _CHAINED for each in pair) and all(each.is_floating for each in pair):
            return True
        if not all(map(_is_load, pair)):
            return False
        is_same = _is_same_bank(older, younger)
        return not self._other_bases_pair if is_same is None else is_same


def _latency(instruction: Instruction, register: int, *, goes_early: bool) -> str:
    """Return the name of the latency of a register that an instruction writes."""
    if register == arm.ARM_REG_CPSR:
        return "flags"
    if instruction.is_floating:
        return _fpu_latency(instruction, register)
    if register in instruction.address_registers and register != instruction.target:
        return "base"
    if instruction.target or instruction.id in MULTIPLE_LOADS or instruction.id == arm.ARM_INS_LDRD:
        return "part" if instruction.target and instruction.id not in WORD_ACCESSES else "word"
    if _is_multiply(instruction) or _SLOW_DSP.match(instruction.name):
        return "multiplier"
    return "early_alu" if goes_early else "alu"


def _fpu_latency(instruction: Instruction, register: int) -> str:
    if instruction.id == arm.ARM_INS_VLDR or instruction.id in MULTIPLE_LOADS:
        return "base" if register in instruction.address_registers else "fpu_load"
    if instruction.name in _FUSED:
        return "fpu_fused"
    if instruction.name in _CHAINED:
        return "fpu_chained"
    return "alu" if _is_integer(register) else "fpu_alu"
