"""The three cores: Unicorn model, exception timing and cycle model."""

from collections.abc import Callable
from dataclasses import dataclass

from unicorn import arm_const

from virtual_stm32.core.alignment import M4_WAITS, M7_WAITS, Waits
from virtual_stm32.core.cycle_models import CostModel
from virtual_stm32.core.instructions import Instruction
from virtual_stm32.core.m0plus_cycles import m0plus_cost
from virtual_stm32.core.m4_cycles import m4_cost, m4_refetch
from virtual_stm32.core.m7_cycles import m7_cost


@dataclass(frozen=True, eq=False)
class Core:
    """A core, with the cycles of exception entry, exit and tail-chaining."""

    name: str
    unicorn_model: int
    cpuid: int
    priority_bits: int
    entry_cycles: int
    exit_cycles: int
    tail_chain_cycles: int
    has_fpu: bool
    has_mainline: bool  # ARMv7-M: DWT, and byte access to the priority registers
    mpu_regions: int  # as ST's devices have them
    least_mpu_bytes: int  # of a region
    dma_wait_cycles: int  # for which a byte that DMA transfers stops the core
    cost: CostModel
    unaligned: Waits  # of loads
    refetch: Callable[[Instruction], int]  # cycles that a taken branch adds, by its target
    model_note: str


def _no_refetch(_target: Instruction) -> int:
    return 0


CORES = {
    core.name: core
    for core in (
        # Arm DDI 0484C: interrupt latency 15 cycles. It gives none for the exit and for tail-chaining: assumed.
        Core(
            name="cortex-m0plus",
            unicorn_model=arm_const.UC_CPU_ARM_CORTEX_M0,
            cpuid=0x410CC601,
            priority_bits=2,
            entry_cycles=15,
            exit_cycles=12,
            tail_chain_cycles=10,
            has_fpu=False,
            has_mainline=False,
            # PM0223, PM0214 and PM0253, Memory protection unit; the H7 has more than the F7.
            mpu_regions=8,
            least_mpu_bytes=256,
            # RM0444, bus matrix: round robin, so that a DMA access to SRAM makes the core wait for one cycle if both
            # want it at the same time. Pessimistic: they always do.
            dma_wait_cycles=1,
            cost=m0plus_cost,
            unaligned={},
            refetch=_no_refetch,
            model_note="Cortex-M0+ cycles by DDI 0484C",
        ),
        # Arm DDI 0439: interrupt latency 12 cycles, tail-chaining 6; Arm DDI 0337: exit 10.
        Core(
            name="cortex-m4",
            unicorn_model=arm_const.UC_CPU_ARM_CORTEX_M4,
            cpuid=0x410FC241,
            priority_bits=4,
            entry_cycles=12,
            exit_cycles=10,
            tail_chain_cycles=6,
            has_fpu=True,
            has_mainline=True,
            mpu_regions=8,
            least_mpu_bytes=32,
            dma_wait_cycles=0,
            cost=m4_cost,
            unaligned=M4_WAITS,
            refetch=m4_refetch,
            model_note="Cortex-M4 cycles by DDI 0439 and measurements, IT not folded",
        ),
        # Interrupt latency 12 cycles, as Arm publishes it for zero wait states. Exit and tail-chaining are assumed
        # to be those of Cortex-M4.
        Core(
            name="cortex-m7",
            unicorn_model=arm_const.UC_CPU_ARM_CORTEX_M7,
            cpuid=0x411FC271,
            priority_bits=4,
            entry_cycles=12,
            exit_cycles=10,
            tail_chain_cycles=6,
            has_fpu=True,
            has_mainline=True,
            mpu_regions=16,
            least_mpu_bytes=32,
            dma_wait_cycles=0,
            cost=m7_cost,
            unaligned=M7_WAITS,
            refetch=_no_refetch,
            model_note="Cortex-M7 cycles by measured pairing rules, branch predictor partly assumed",
        ),
    )
}
