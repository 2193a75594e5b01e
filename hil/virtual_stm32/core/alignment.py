"""Loads of a block that may be unaligned, with addresses that follow from the registers at its beginning.

Others, through registers that the block computes or loads, are assumed to be aligned.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capstone import arm

from virtual_stm32.core.instructions import Instruction
from virtual_stm32.timing_rules import Values

_WORD_BYTES = 4
Waits = Mapping[int, tuple[int, ...]]  # additional cycles of a load by address modulo 4, by instruction

_WORDS = (arm.ARM_INS_LDR,)
_HALVES = (arm.ARM_INS_LDRH, arm.ARM_INS_LDRSH)


def waits(rules: Values) -> Waits:
    """Return the additional cycles of unaligned loads of a core."""
    return {
        **dict.fromkeys(_WORDS, rules.row("unaligned_word")),
        **dict.fromkeys(_HALVES, rules.row("unaligned_halfword")),
    }


@dataclass(frozen=True)
class Value:
    """A register at the beginning of a block, and what has been added to it."""

    register: int
    added: int = 0


@dataclass(frozen=True)
class Address:
    """The sum of a register at the beginning of a block, a shifted one (0 for none) and an offset, modulo 4."""

    base: int
    index: int
    shift: int
    offset: int


def possible_waits(block: Sequence[Instruction], waits: Waits) -> dict[Address, tuple[int, ...]]:
    """Return the additional cycles of all loads from the same address, by the address modulo 4."""
    if not any(instruction.id in waits for instruction in block):
        return {}
    values: dict[int, Value | None] = {}
    total: dict[Address, list[int]] = defaultdict(lambda: [0] * _WORD_BYTES)
    for instruction in block:
        if instruction.id in waits and (address := _address(instruction, values)):
            cycles = total[address]
            cycles[:] = [old + new for old, new in zip(cycles, waits[instruction.id], strict=True)]
        values |= {register: _value(instruction, register, values) for register in instruction.writes}
    return {address: tuple(cycles) for address, cycles in total.items()}


def _address(instruction: Instruction, values: Mapping[int, Value | None]) -> Address | None:
    """Return the address of a load, None if it is not known or always aligned."""
    base = values.get(instruction.base, Value(instruction.base))
    index = values.get(instruction.index, Value(instruction.index))
    if base is None or index is None or instruction.base == arm.ARM_REG_PC:
        return None
    offset = base.added + instruction.displacement + (index.added << instruction.index_shift)
    if base.register == arm.ARM_REG_SP and not instruction.index and offset % _WORD_BYTES == 0:
        return None
    return Address(base.register, index.register, instruction.index_shift, offset % _WORD_BYTES)


def _value(instruction: Instruction, register: int, values: Mapping[int, Value | None]) -> Value | None:
    """Return the value that an instruction writes, None if it is not a sum of a register and a constant."""
    if instruction.is_conditional or register == instruction.target:
        return None
    if instruction.step is not None and register == instruction.base:
        source, added = register, instruction.step
    elif instruction.name in ("add", "addw", "sub", "subw") and instruction.immediate and not instruction.base:
        source = instruction.registers[-1]
        added = instruction.immediate if instruction.name.startswith("add") else -instruction.immediate
    elif instruction.name == "mov" and len(instruction.registers) > 1 and not instruction.has_shift:
        source, added = instruction.registers[-1], 0
    else:
        return None
    value = values.get(source, Value(source))
    return value and Value(value.register, value.added + added)
