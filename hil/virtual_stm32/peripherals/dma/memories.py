"""The memories of a board as its DMA controllers see them."""

from collections.abc import Iterator, Mapping
from functools import partial

from tinysplit.boards.board import Board
from virtual_stm32.core.data_cache import DataCache
from virtual_stm32.peripherals.dma.controller import DmaMemory


def dma_memories(board: Board, contents: Mapping[str, memoryview], cache: DataCache) -> Iterator[DmaMemory]:
    """Yield RAM and flash, with their contents by name, behind the data cache of the core."""
    flash = board.device.flash
    controllers = {level.name: level.dma for level in board.memory_levels}
    for memory in (*board.device.ram, flash):
        content, name = contents[memory.name], memory.name
        view = partial(cache.seen_by_dma, memory.start, content)
        yield DmaMemory(name, memory.start, content, view, controllers[name], is_writable=memory != flash)
