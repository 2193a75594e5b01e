"""The data cache of Cortex-M7, as far as DMA sees it: the core and DMA have different views of memory.

Pessimistic (Arm DDI 0403, B2.2): a line that the core has written stays in the cache until it is cleaned, and a line
that DMA has written stays unseen by the core until it is invalidated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from tinysplit.boards.board import Board

_LINE_BYTES = 32
_TIGHTLY_COUPLED = ("dtcm", "itcm")  # memories that are not cached


@dataclass(frozen=True)
class CachedMemory:
    """A memory behind the cache: what the core sees, and what DMA sees while the cache is on."""

    start: int
    core: memoryview
    dma: memoryview


class DataCache:
    """The two views of cached memories, and the maintenance operations by address that copy lines between them."""

    def __init__(self, size_bytes: int, memories: Iterable[tuple[int, memoryview]]) -> None:
        self.size_bytes = size_bytes  # as the core tells it; the model keeps any number of lines
        self._memories = [
            CachedMemory(start, content, memoryview(bytearray(len(content)))) for start, content in memories
        ]
        self._is_on = False

    @classmethod
    def of(cls, board: Board, contents: Mapping[str, memoryview]) -> Self:
        """Return the cache of a board, which caches nothing on other cores than Cortex-M7; `contents` are its RAM."""
        is_cached = board.device.core == "cortex-m7"
        memories = [each for each in board.device.ram if is_cached and each.name not in _TIGHTLY_COUPLED]
        return cls(board.caches.data_bytes, ((each.start, contents[each.name]) for each in memories))

    def switch(self, *, is_on: bool) -> None:
        """Switch the cache on or off (CCR DC); both views are the same at that time."""
        if is_on and not self._is_on:
            for memory in self._memories:
                memory.dma[:] = memory.core
        self._is_on = is_on

    def seen_by_dma(self, start: int, content: memoryview) -> memoryview:
        """Return the view of DMA on the memory that begins at `start`, whose contents the core sees as `content`."""
        views = [memory.dma for memory in self._memories if self._is_on and memory.start == start]
        return views[0] if views else content

    def maintain(self, address: int, *, cleans: bool, invalidates: bool) -> None:
        """Clean or invalidate the line at an address, or both."""
        for memory in self._memories:
            first = (address - memory.start) & ~(_LINE_BYTES - 1)
            if not self._is_on or not 0 <= first < len(memory.core):
                continue
            line = slice(first, first + _LINE_BYTES)
            if cleans:
                memory.dma[line] = memory.core[line]
            elif invalidates:
                memory.core[line] = memory.dma[line]
