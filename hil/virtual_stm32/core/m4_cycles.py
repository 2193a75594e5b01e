"""Cycles of Cortex-M4, by the rules of timing/cortex-m4.toml, which has their sources."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from capstone import arm
from typing_extensions import override

from virtual_stm32.core.cycle_models import BlockCost, CycleModel, sum_up
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
from virtual_stm32.timing_rules import Values

_WIDE_BYTES = 4
_LONG_RUN = 3  # wide instructions at 2 modulo 4

_FUSED = (arm.ARM_INS_VFMA, arm.ARM_INS_VFMS, arm.ARM_INS_VFNMA, arm.ARM_INS_VFNMS)
_CHAINED = (arm.ARM_INS_VMLA, arm.ARM_INS_VMLS, arm.ARM_INS_VNMLA, arm.ARM_INS_VNMLS)
_NOT_ARITHMETIC = frozenset((arm.ARM_INS_VMOV, arm.ARM_INS_VLDR, arm.ARM_INS_VMRS, arm.ARM_INS_VMSR, arm.ARM_INS_VCMP))
_MOVED_REGISTERS = 2  # of VMOV between two single registers
_LOADS = SINGLE_LOADS | EXCLUSIVE_STORES  # STREX reads, too
_STORES = SINGLE_STORES - EXCLUSIVE_STORES


class M4Cycles(CycleModel):
    """The cycle model with the rules of cortex-m4.toml."""

    def __init__(self, rules: Values) -> None:
        cycles = rules.cycles
        self._load, self._store_with_index = cycles("load"), cycles("store_with_index")
        self._load_after_store = cycles("load_after_store")
        self._unaligned_wide_load = cycles("unaligned_wide_load")
        self._third_unaligned_wide = cycles("third_unaligned_wide")
        self._write_back_same_base = cycles("write_back_same_base")
        self._address_interlock = cycles("address_interlock")
        self._multiple = cycles("multiple")
        self._refill, self._refill_from_memory = cycles("refill"), cycles("refill_from_memory")
        self._refetch = cycles("refetch")
        self._cycles = {
            **dict.fromkeys(DIVISIONS, cycles("shortest_division")),  # on_division() of accesses.c adds the rest
            **dict.fromkeys(TABLE_BRANCHES, cycles("table_branch")),
            **dict.fromkeys((arm.ARM_INS_MRS, arm.ARM_INS_MSR, arm.ARM_INS_CPS, arm.ARM_INS_ISB), cycles("special")),
            **dict.fromkeys((arm.ARM_INS_LDRD, arm.ARM_INS_STRD), cycles("double")),
            arm.ARM_INS_PLD: cycles("preload"),
            **self._of_extension(rules),
        }

    def _of_extension(self, rules: Values) -> Mapping[int, int]:
        """Return the cycles of instructions that Cortex-M3 lacks, or has in another time."""
        cycles = rules.cycles
        self._fpu_interlock = cycles("fpu_interlock")
        return {
            **dict.fromkeys((arm.ARM_INS_VDIV, arm.ARM_INS_VSQRT), cycles("fpu_division")),
            **dict.fromkeys((*_FUSED, *_CHAINED), cycles("fpu_fused")),
            **dict.fromkeys((arm.ARM_INS_VLDR, arm.ARM_INS_VSTR), cycles("fpu_load")),
        }

    @override
    def cost(self, context: Sequence[Instruction], block: Sequence[Instruction]) -> BlockCost:
        """Return the cycles of a block after `context`.

        An instruction in an IT block counts as executed, except for branches, and IT is not folded into the one before.
        Raises NotModelledError for double precision.
        """
        costs, stalls = [], []
        previous = context[-1] if context else None
        runs = list(_unaligned_runs((*context, *block)))[len(context) :]
        for instruction, run in zip(block, runs, strict=True):
            if instruction.is_double:
                raise NotModelledError(
                    f"the FPU of Cortex-M4 has no instruction `{instruction.text}` (0x{instruction.address:08x})"
                )
            stalls.append(self._stall(instruction, previous) + (self._third_unaligned_wide if run == _LONG_RUN else 0))
            costs.append(stalls[-1] + self._of(instruction, previous) + self._refill_of(instruction))
            previous = instruction
        cost = sum_up(costs, block[-1])
        return replace(cost, before=tuple(map(sum, zip(cost.before, stalls, strict=True))))

    @override
    def refetch(self, target: Instruction) -> int:
        """Return the cycles that a taken branch adds, by its target."""
        return self._refetch if _is_unaligned_wide(target) else 0

    def _of(self, instruction: Instruction, previous: Instruction | None) -> int:
        """Return the cycles of one instruction; loads pipeline with a load before them, and so do stores."""
        if instruction.id in _LOADS:
            return self._pipelined_load(instruction, previous) if _pipelines(instruction, previous) else self._load
        if instruction.id in _STORES:
            return self._store_with_index if instruction.index and not _pipelines(instruction, previous) else 1
        if instruction.id in MULTIPLE_LOADS | MULTIPLE_STORES:
            return self._multiple + instruction.register_count
        is_long_move = instruction.id == arm.ARM_INS_VMOV and len(instruction.registers) > _MOVED_REGISTERS
        is_long_access = instruction.id in (arm.ARM_INS_VLDR, arm.ARM_INS_VSTR) and instruction.has_double_register
        return self._cycles.get(instruction.id, 1) + (1 if is_long_move or is_long_access else 0)

    def _pipelined_load(self, instruction: Instruction, previous: Instruction | None) -> int:
        writes_base = previous is not None and previous.writes & instruction.address_registers
        unaligned = self._unaligned_wide_load if _is_unaligned_wide(instruction) else 0
        return min(self._load, 1 + unaligned + (self._write_back_same_base if writes_base else 0))

    def _stall(self, instruction: Instruction, previous: Instruction | None) -> int:
        """Return the interlocks: a store before a load, an address from the instruction before, a result of the FPU.

        A base that a store writes back counts as an address. Loads, STM and STRD take longer, so that their registers
        are written in time.
        """
        if previous is None:
            return 0
        behind_store = self._load_after_store if instruction.id in _LOADS and previous.id in _STORES else 0
        is_load = previous.id in SINGLE_LOADS | MULTIPLE_LOADS or previous.id == arm.ARM_INS_LDRD
        takes_longer = is_load or previous.id in MULTIPLE_STORES or previous.id == arm.ARM_INS_STRD
        if not takes_longer and previous.writes & instruction.address_registers:
            return max(self._address_interlock, behind_store)
        is_arithmetic = previous.is_floating and not takes_longer and previous.id not in _NOT_ARITHMETIC
        depends = is_arithmetic and previous.writes & instruction.reads - {arm.ARM_REG_CPSR}
        return self._fpu_interlock if depends else behind_store

    def _refill_of(self, instruction: Instruction) -> int:
        if not instruction.writes_pc:
            return 0
        return self._refill_from_memory if instruction.loads_pc else self._refill


def _is_unaligned_wide(instruction: Instruction) -> bool:
    return instruction.size == _WIDE_BYTES and bool(instruction.address % _WIDE_BYTES)


def _unaligned_runs(instructions: Sequence[Instruction]) -> Iterator[int]:
    """Yield for each instruction how many wide ones at 2 modulo 4 end with it without another between them."""
    run = 0
    for instruction in instructions:
        run = run + 1 if _is_unaligned_wide(instruction) else 0
        yield run


def _pipelines(instruction: Instruction, previous: Instruction | None) -> bool:
    """Return whether the address phase overlaps with the data phase of a load before, unless that loads the address."""
    if previous is None or previous.id not in _LOADS or previous.writes_pc:
        return False
    loaded = previous.writes if previous.id in EXCLUSIVE_STORES else {previous.target}
    return instruction.address_registers.isdisjoint(loaded)
