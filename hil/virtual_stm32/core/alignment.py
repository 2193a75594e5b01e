"""Loads of a block that may be unaligned, with addresses that follow from the registers at its beginning.

Others, through registers that the block computes or loads, are assumed to be aligned.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capstone import arm

from virtual_stm32.core.instructions import Instruction

_WORD_BYTES = 4
Waits = Mapping[int, tuple[int, int, int, int]]  # additional cycles of a load by address modulo 4, by instruction

_WORDS = (arm.ARM_INS_LDR,)
_HALVES = (arm.ARM_INS_LDRH, arm.ARM_INS_LDRSH)
# Arm DDI 0439, Load/store timings: a halfword-aligned word takes one cycle more, a byte-aligned one two, a byte-aligned
# halfword one. "A STR or STRH cannot delay the processor because of the store buffer."
M4_WAITS: Waits = {**dict.fromkeys(_WORDS, (0, 2, 1, 2)), **dict.fromkeys(_HALVES, (0, 1, 0, 1))}
# github.com/jnk0le/random, cortex_m7.md, measured: 3 cycles more for the older instruction of a pair, 4 for the younger
# one: the longer. Stores do not wait while the store buffer has room.
M7_WAITS: Waits = {**dict.fromkeys(_WORDS, (0, 4, 4, 4)), **dict.fromkeys(_HALVES, (0, 4, 0, 4))}


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
    if not any(each.id in waits for each in block):
        return {}
    values: dict[int, Value | None] = {}
    total: dict[Address, list[int]] = defaultdict(lambda: [0] * _WORD_BYTES)
    for each in block:
        if each.id in waits and (address := _address(each, values)):
            cycles = total[address]
            cycles[:] = [old + new for old, new in zip(cycles, waits[each.id], strict=True)]
        values |= {register: _value(each, register, values) for register in each.writes}
    return {address: tuple(cycles) for address, cycles in total.items()}


def _address(each: Instruction, values: Mapping[int, Value | None]) -> Address | None:
    """Return the address of a load, None if it is not known or always aligned."""
    base = values.get(each.base, Value(each.base))
    index = values.get(each.index, Value(each.index))
    if base is None or index is None or each.base == arm.ARM_REG_PC:
        return None
    offset = base.added + each.displacement + (index.added << each.index_shift)
    if base.register == arm.ARM_REG_SP and not each.index and offset % _WORD_BYTES == 0:
        return None
    return Address(base.register, index.register, each.index_shift, offset % _WORD_BYTES)


def _value(each: Instruction, register: int, values: Mapping[int, Value | None]) -> Value | None:
    """Return the value that an instruction writes, None if it is not a sum of a register and a constant."""
    if each.is_conditional or register == each.target:
        return None
    if each.step is not None and register == each.base:
        source, added = register, each.step
    elif each.name in ("add", "addw", "sub", "subw") and each.immediate and not each.base:
        source, added = each.registers[-1], each.immediate if each.name.startswith("add") else -each.immediate
    elif each.name == "mov" and len(each.registers) > 1 and not each.has_shift:
        source, added = each.registers[-1], 0
    else:
        return None
    value = values.get(source, Value(source))
    return value and Value(value.register, value.added + added)
