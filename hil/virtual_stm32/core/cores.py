"""The cores: Unicorn model, exception timing and cycle model."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from unicorn import arm_const

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_family
from virtual_stm32.core.alignment import Waits, waits
from virtual_stm32.core.armv6m_cycles import Armv6mCycles
from virtual_stm32.core.cycle_models import CycleModel
from virtual_stm32.core.m3_cycles import M3Cycles
from virtual_stm32.core.m4_cycles import M4Cycles
from virtual_stm32.core.m7_cycles import M7Cycles
from virtual_stm32.core.m33_cycles import M33Cycles
from virtual_stm32.timing_rules import SHIPPED, TimingFile, Values


@dataclass(frozen=True, kw_only=True)
class CoreFacts:
    """What a core is, whatever its timing."""

    unicorn_model: int
    cpuid: int
    priority_bits: int
    has_fpu: bool
    has_vtor: bool
    has_mainline: bool  # ARMv7-M: DWT, and byte access to the priority registers
    # PM0223, PM0214 and PM0253, Memory protection unit
    mpu_regions: int  # as ST's devices have them, but for `_MPU_REGIONS`
    least_mpu_bytes: int  # of a region
    model: Callable[[Values], CycleModel]
    model_note: str
    has_mpu_v8: bool = False  # ARMv8-M


_FACTS = {
    "cortex-m0": CoreFacts(
        unicorn_model=arm_const.UC_CPU_ARM_CORTEX_M0,
        cpuid=0x410CC200,
        priority_bits=2,
        has_fpu=False,
        has_vtor=False,
        has_mainline=False,
        mpu_regions=0,
        least_mpu_bytes=0,
        model=Armv6mCycles,
        model_note="Cortex-M0 cycles by DDI 0432C",
    ),
    "cortex-m0plus": CoreFacts(
        unicorn_model=arm_const.UC_CPU_ARM_CORTEX_M0,
        cpuid=0x410CC601,
        priority_bits=2,
        has_fpu=False,
        has_vtor=True,
        has_mainline=False,
        mpu_regions=8,
        least_mpu_bytes=256,
        model=Armv6mCycles,
        model_note="Cortex-M0+ cycles by DDI 0484C",
    ),
    "cortex-m3": CoreFacts(
        unicorn_model=arm_const.UC_CPU_ARM_CORTEX_M3,
        cpuid=0x411FC231,
        priority_bits=4,
        has_fpu=False,
        has_mainline=True,
        has_vtor=True,
        mpu_regions=8,
        least_mpu_bytes=32,
        model=M3Cycles,
        model_note="Cortex-M3 cycles by DDI 0337 and the rules of Cortex-M4, long multiplications at their longest",
    ),
    "cortex-m4": CoreFacts(
        unicorn_model=arm_const.UC_CPU_ARM_CORTEX_M4,
        cpuid=0x410FC241,
        priority_bits=4,
        has_fpu=True,
        has_vtor=True,
        has_mainline=True,
        mpu_regions=8,
        least_mpu_bytes=32,
        model=M4Cycles,
        model_note="Cortex-M4 cycles by DDI 0439 and measurements, IT not folded",
    ),
    "cortex-m7": CoreFacts(
        unicorn_model=arm_const.UC_CPU_ARM_CORTEX_M7,
        cpuid=0x411FC271,
        priority_bits=4,
        has_fpu=True,
        has_vtor=True,
        has_mainline=True,
        mpu_regions=16,
        least_mpu_bytes=32,
        model=M7Cycles,
        model_note="Cortex-M7 cycles by measured pairing rules, branch predictor partly assumed",
    ),
    "cortex-m33": CoreFacts(
        unicorn_model=arm_const.UC_CPU_ARM_CORTEX_M33,
        cpuid=0x410FD214,
        priority_bits=4,
        has_fpu=True,
        has_mainline=True,
        has_vtor=True,
        mpu_regions=8,
        least_mpu_bytes=32,
        model=M33Cycles,
        model_note="Cortex-M33 cycles by measurements of others on another part, and assumptions: less sure",
        has_mpu_v8=True,
    ),
}
_MPU_REGIONS = {"stm32f1": 0, "stm32f7": 8}  # RM0008: none; the Cortex-M7 of the H7 has more (PM0253)


class Core:
    """A core with its timing rules."""

    def __init__(self, name: str, family: str, rules: Values, *, has_fpu: bool) -> None:
        """`has_fpu`: where the core may have one."""
        self.name = name
        facts = _FACTS[name]
        regions = _MPU_REGIONS.get(family, facts.mpu_regions)
        self.facts = replace(facts, mpu_regions=regions, has_fpu=facts.has_fpu and has_fpu)
        self.entry_cycles = rules.cycles("exception_entry")
        self.exit_cycles = rules.cycles("exception_exit")
        self.tail_chain_cycles = rules.cycles("tail_chain")
        self.dma_wait_cycles = rules.cycles("dma_wait")  # for which a byte that DMA transfers stops the core
        self.unaligned: Waits = waits(rules) if self.facts.has_mainline else {}
        model = self.facts.model(rules)
        self.cost, self.refetch = model.cost, model.refetch

    @classmethod
    def of(cls, board: Board, timing: TimingFile = SHIPPED) -> "Core":
        """Return the core of a board; the same one for the same rules, so that costs of blocks are computed once."""
        name = board.device.core
        has_fpu = load_family(board.device.name).has_fpu
        return _core(name, board.device.family, tuple(timing.changes_of(board, name).items()), has_fpu=has_fpu)


@lru_cache
def _core(name: str, family: str, changes: tuple[tuple[str, int], ...], *, has_fpu: bool) -> Core:
    return Core(name, family, Values.of(name, dict(changes)), has_fpu=has_fpu)
