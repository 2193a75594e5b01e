"""Real memory of a virtual board: wait states, prefetch, caches and buses, by its registers (C: memory_model.h).

What the manuals leave open is a parameter here, with the value that costs most among those that agree with published
figures (docs/understand/virtual_boards.md).
"""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

from typing_extensions import override

from tinysplit.boards.board import Board
from tinysplit.boards.parts import Memory
from virtual_stm32.core.native import MemoryModel, library
from virtual_stm32.timing_rules import TimingFile, Values

_PREFETCH, _CODE_CACHE, _DATA_CACHE, _LATENCY = 1 << 8, 1 << 9, 1 << 10, 0xF  # of FLASH_ACR
_CODE, _CONSTANTS, _VALUES = range(3)  # stall_kind_t


@dataclass(frozen=True)
class Stalls:
    """Cycles for which a core has waited: for code, for constants in flash, and for values in RAM."""

    code: int
    constants: int
    values: int

    def __sub__(self, before: "Stalls") -> "Stalls":
        return Stalls(self.code - before.code, self.constants - before.constants, self.values - before.values)


@dataclass(frozen=True)
class HookedMemory:
    """A memory whose accesses may stall."""

    start: int
    size_bytes: int
    is_writable: bool


class IdealMemory:
    """Memory without wait states, and the interface of the others."""

    model: MemoryModel | None = None

    def hooked(self) -> Iterator[HookedMemory]:
        """Yield the memories whose accesses may stall."""
        yield from ()

    def clock_changed(self, access_control: int, ahb_divider: int) -> None:
        """Follow FLASH_ACR and the divider from the core to AHB."""

    def switch(self, *, code_is_on: bool, data_is_on: bool) -> None:
        """Follow the cache bits IC and DC of CCR."""

    def maintain(self, address: int, *, cleans: bool, invalidates: bool) -> None:
        """Clean or invalidate the data cache's line at an address."""

    def stalls(self) -> Stalls:
        """Return the stalls since the start."""
        if self.model is None:
            return Stalls(0, 0, 0)
        return Stalls(*(int(self.model.stalls[kind]) for kind in (_CODE, _CONSTANTS, _VALUES)))


class WaitStateFlash(IdealMemory):
    """Flash of G0, F4 and L4 behind the ART accelerator; RAM has no wait states.

    Lines are fully associative, replaced by LRU and filled access by access: of the organisations that agree with
    published figures, this one costs loops most that are a little longer than the cache. The G0 has no buffer for data.
    """

    _LONG_LINE_READS = 2  # beyond which a branch into another line looks it up

    def __init__(self, board: Board, core: Values, family: Values) -> None:
        self._flash = board.device.flash
        line_bytes = board.caches.line_bytes
        reads = line_bytes // board.flash_level.access_bytes
        self._memory = ctypes.create_string_buffer(library().flash_bytes())
        self._places = ctypes.create_string_buffer(2 * (self._flash.size_bytes // line_bytes))
        library().flash_begin(
            self._memory,
            self._flash.start,
            self._flash.size_bytes,
            board.flash_level.access_bytes,
            line_bytes,
            board.caches.code_bytes // line_bytes,
            board.caches.data_bytes // line_bytes,
            bool(family.cycles("keeps_prefetched")),
            core.cycles("system_bus_word"),
            family.cycles("new_line_branch") if reads > self._LONG_LINE_READS else 0,
            self._places,
        )
        self.model = MemoryModel.from_buffer(self._memory)

    @override
    def hooked(self) -> Iterator[HookedMemory]:
        yield HookedMemory(self._flash.start, self._flash.size_bytes, is_writable=False)

    @override
    def clock_changed(self, access_control: int, ahb_divider: int) -> None:
        library().flash_set(
            self._memory,
            access_control & _LATENCY,
            bool(access_control & _PREFETCH),
            bool(access_control & _CODE_CACHE),
            bool(access_control & _DATA_CACHE),
        )


class CachedBuses(IdealMemory):
    """Memories of Cortex-M7: TCM at core speed, all others over AXI behind the L1 caches."""

    _LINE_BYTES = 32
    _BEAT_BYTES = 8  # of AXI

    def __init__(self, board: Board, core: Values) -> None:
        device = board.device
        self._levels = {level.name: level for level in board.memory_levels}
        self._flash = device.flash
        self._memories = [*(each for each in device.ram if self._levels[each.name].is_cached), device.flash]
        code_ways, data_ways = core.cycles("code_ways"), core.cycles("data_ways")
        self._memory = ctypes.create_string_buffer(library().buses_bytes())
        code_lines, data_lines = (
            size // self._LINE_BYTES for size in (board.caches.code_bytes, board.caches.data_bytes)
        )
        library().buses_begin(
            self._memory,
            self._LINE_BYTES,
            code_lines // code_ways,
            code_ways,
            data_lines // data_ways,
            data_ways,
        )
        self.model = MemoryModel.from_buffer(self._memory)

    @override
    def hooked(self) -> Iterator[HookedMemory]:
        for memory in self._memories:
            yield HookedMemory(memory.start, memory.size_bytes, is_writable=memory != self._flash)

    @override
    def clock_changed(self, access_control: int, ahb_divider: int) -> None:
        for memory in self._memories:
            first, rest = self._bus_cycles(memory, access_control & _LATENCY)
            library().buses_set(
                self._memory,
                memory.start,
                memory.size_bytes,
                first * ahb_divider,
                rest * ahb_divider,
                memory == self._flash,
            )

    def _bus_cycles(self, memory: Memory, wait_states: int) -> tuple[int, int]:
        """Return the cycles of AXI to the first beat of a line, and from there to the last."""
        level = self._levels[memory.name]
        if memory == self._flash:
            return level.bus_cycles + wait_states, self._LINE_BYTES // self._BEAT_BYTES - 1
        return level.bus_cycles, self._LINE_BYTES // level.access_bytes - 1

    @override
    def switch(self, *, code_is_on: bool, data_is_on: bool) -> None:
        library().buses_switch(self._memory, code_is_on, data_is_on)

    @override
    def maintain(self, address: int, *, cleans: bool, invalidates: bool) -> None:
        library().buses_maintain(self._memory, address, cleans, invalidates)


class Icache(IdealMemory):
    """Flash of H5, L5 and U5 behind the ICACHE, which holds code and constants; RAM has no wait states."""

    def __init__(self, board: Board, core: Values) -> None:
        self._flash, self._level = board.device.flash, board.flash_level
        ways = core.cycles("cache_ways")
        self._line_bytes = board.caches.line_bytes
        self._memory = ctypes.create_string_buffer(library().buses_bytes())
        sets = (board.caches.code_bytes + board.caches.data_bytes) // self._line_bytes // ways
        library().buses_begin(self._memory, self._line_bytes, sets, ways, 0, 0)
        self.model = MemoryModel.from_buffer(self._memory)

    @override
    def hooked(self) -> Iterator[HookedMemory]:
        yield HookedMemory(self._flash.start, self._flash.size_bytes, is_writable=False)

    @override
    def clock_changed(self, access_control: int, ahb_divider: int) -> None:
        wait_states = access_control & _LATENCY
        first = self._level.bus_cycles + wait_states
        rest = (self._line_bytes // self._level.access_bytes - 1) * (1 + wait_states)
        library().buses_set(self._memory, self._flash.start, self._flash.size_bytes, first, rest, True)
        is_on = bool(access_control & _CODE_CACHE)
        library().buses_switch(self._memory, is_on, is_on)

    @override
    def switch(self, *, code_is_on: bool, data_is_on: bool) -> None:
        pass  # the core has no caches


def memory_timing(board: Board, timing: TimingFile, *, is_ideal: bool) -> IdealMemory:
    """Return the memory of a board, or an ideal one."""
    if is_ideal:
        return IdealMemory()
    core = timing.values(board, board.device.core)
    if board.device.core == "cortex-m7":
        return CachedBuses(board, core)
    if board.device.core == "cortex-m33":
        return Icache(board, core)
    return WaitStateFlash(board, core, timing.values(board, board.device.family))
