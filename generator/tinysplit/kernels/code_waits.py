"""Cycles for which a core waits for the code of a layer in flash, beside those of the cost table."""

from dataclasses import dataclass
from functools import lru_cache

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_family
from tinysplit.kernels.base import Kernel, StraightCode
from tinysplit.kernels.cost_table import CycleTable, PartCycles
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedLayer

THUMB_BYTES = 4  # of the longest instruction


@dataclass(frozen=True)
class CodeWaits:
    """The expected waits of a layer in cycles, if its code lies in flash.

    `straight` are those of straight code that overflows the code cache: it is a function of the layer itself. `others`
    are all others, also those of the functions that layers share.
    """

    straight: float = 0.0
    others: float = 0.0

    @property
    def cycles(self) -> float:
        """All of them."""
        return self.straight + self.others


def code_waits(
    table: CycleTable,
    layer: Layer,
    board: Board,
    widths: Widths,
    kernel: Kernel,
    times: int = 1,
    quantized: QuantizedLayer | None = None,
) -> CodeWaits:
    """Return the waits of `kernel` for `layer` on `board`, run `times` times; `quantized` as for `kernel_cycles`.

    Loops that fit the cache, and all code of a board without one, wait for a number of cycles for each execution of
    each part that grows with the wait states, and with the reads. It is measured for each family of boards
    (`CycleTable.code_waits`).
    """
    bits, kind = max(widths.x, widths.w), kernel.cost_kind(layer)
    per_wait_state = table.code_waits.get(board.device.family, {}).get(str(bits), {}).get(kind)
    work = kernel.quantized_work(layer, quantized) if quantized else kernel.work(layer, widths)
    others = per_wait_state.of(work, times) if per_wait_state else 0.0
    costs, code = table.measured(board.device.core, bits, kind), kernel.straight_code(layer, widths)
    straight = times * code.passes * _waits_of_pass(code, board, costs) if code and costs else 0.0
    return CodeWaits(straight, others * board.clock.flash_wait_states * _share_of_reads(board))


def _share_of_reads(board: Board) -> float:
    """Return how many reads the same code takes, of those on boards of the family as delivered, which were measured."""
    return _delivered_bytes(board.device.name) / board.flash_level.access_bytes


@lru_cache
def _delivered_bytes(part: str) -> int:
    return load_family(part).memory_system.access_bytes["flash"]


def _waits_of_pass(code: StraightCode, board: Board, costs: PartCycles) -> float:
    """Return the waits of one pass through code of which the cache, replaced by LRU, has forgotten all.

    The prefetch reads ahead all the time, so that a pass takes as long as its reads. Code begins anywhere in a line.
    """
    if code.size_bytes + board.caches.line_bytes - THUMB_BYTES <= board.caches.code_bytes:
        return 0.0
    read_cycles = (1 + board.clock.flash_wait_states) * code.size_bytes / board.flash_level.access_bytes
    return max(0.0, read_cycles - (costs.of(code.work) - costs.of({})))
