"""What a cycle model says of a basic block: cycles in ideal memory, without flash wait states."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from virtual_stm32.core.instructions import Instruction


@dataclass(frozen=True)
class BlockCost:
    """Cycles before each instruction, cycles of the block, and additional cycles if its last branch is taken.

    `mispredicted` are the additional cycles if the core has predicted another target, 0 without branch prediction.
    Divisions count with their shortest duration.
    """

    before: tuple[int, ...]
    cycles: int
    taken: int
    mispredicted: int = 0


class CycleModel(ABC):
    """The cycles of a core's instructions."""

    @abstractmethod
    def cost(self, context: Sequence[Instruction], block: Sequence[Instruction]) -> BlockCost:
        """Return the cycles of a block.

        `context` are the instructions that run directly before it, if it is not entered by a branch.
        """

    def refetch(self, target: Instruction) -> int:  # noqa: ARG002
        """Return the cycles that a taken branch adds, by its target: on most cores none."""
        return 0


def sum_up(costs: Sequence[int], last: Instruction, not_taken: int = 1) -> BlockCost:
    """Return the sum of `costs`; a conditional last instruction takes `not_taken` cycles if it does not branch."""
    before = [0]
    for cost in costs:
        before.append(before[-1] + cost)
    total = before.pop()
    taken = costs[-1] - not_taken if last.is_conditional and last.writes_pc else 0
    return BlockCost(tuple(before), total - taken, taken)
