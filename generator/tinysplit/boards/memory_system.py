"""Memory levels, wait cycles and caches of a device at its clock, from the family file."""

from collections.abc import Iterator
from itertools import pairwise

from tinysplit.boards.board import MPU_PARTS, Caches, ClockTree, CodeRam, Device, MemoryLevel
from tinysplit.boards.family_schema import CodeAlias, MemorySystem
from tinysplit.boards.parts import Memory
from tinysplit.boards.schema import CacheSizes
from tinysplit.common.errors import InputError

_ADDRESSES = 1 << 32
_LEAST_CODE_BYTES = MPU_PARTS * 256  # a region has parts from 256 bytes on (Arm DDI 0403, B3.5.3)


def memory_levels(system: MemorySystem, device: Device, clock: ClockTree) -> tuple[MemoryLevel, ...]:
    """Return RAM and flash in the order of their levels.

    Flash has `flash_wait_states` wait cycles of its bus (ST's tables are for HCLK), beside those of the bus itself.

    Raises InputError for a memory that the family file does not describe, for one without a byte, for memories that
    overlap, and without a RAM of level 1.
    """
    _check_sizes(device)
    levels = tuple(sorted(_levels(system, device, clock), key=lambda level: level.level))
    if not any(level.level == 1 and level.name != device.flash.name for level in levels):
        names = ", ".join(memory.name for memory in device.ram) or "none"
        raise InputError(f"{device.name}: no RAM is of level 1 in memory_system of {device.family}.toml; RAM: {names}")
    return levels


def _check_sizes(device: Device) -> None:
    """Raise InputError if a memory is empty or overlaps another one."""
    memories = sorted((*device.ram, device.flash), key=lambda memory: memory.start)
    for memory in memories:
        if memory.size_bytes <= 0:
            raise InputError(f"{device.name}: {memory.name} at 0x{memory.start:08x} has {memory.size_bytes} bytes")
    for low, high in pairwise(memories):
        if _overlap(low, high):
            raise InputError(
                f"{device.name}: {high.name} at 0x{high.start:08x} overlaps {low.name}, {low.size_bytes} bytes at "
                f"0x{low.start:08x}, by {min(low.end, high.end) - high.start} bytes"
            )


def _levels(system: MemorySystem, device: Device, clock: ClockTree) -> Iterator[MemoryLevel]:
    for memory in (*device.ram, device.flash):
        name = "flash" if memory == device.flash else memory.name
        if not all(name in facts for facts in (system.levels, system.access_bytes, system.dma)):
            raise InputError(f"{device.name}: memory_system of {device.family}.toml does not describe {name}")
        bus_cycles = system.bus_cycles.get(name, 0)
        wait_states = clock.flash_wait_states if memory == device.flash else 0
        yield MemoryLevel(
            level=system.levels[name],
            name=memory.name,
            wait_cycles=(bus_cycles + wait_states) * clock.ahb_divider,
            bus_cycles=bus_cycles,
            access_bytes=system.access_bytes[name],
            is_cached=name in system.caches,
            dma=system.dma[name],
        )


def caches(system: MemorySystem, sizes: CacheSizes | None) -> Caches:
    """Return the caches of a device; `sizes` override those of its family."""
    code, data = system.code_cache_bytes, system.data_cache_bytes
    if sizes:
        code, data = sizes.code_bytes, sizes.data_bytes
    return Caches(system.cache_line_bytes, code, data)


def code_ram(alias: CodeAlias, memory: Memory, device: Device) -> CodeRam:
    """Return `memory` with its address on the code buses.

    Raises InputError unless it is there alone, or a part of the data RAM, that regions of the MPU can cover, and its
    bytes on the code buses overlap no other memory.
    """
    what = f"{device.name}: code_alias of {device.family}.toml: {memory.name}"
    if not memory.size_bytes:
        raise InputError(f"{what} has 0 bytes")
    if memory.start != alias.start and not any(_contains(ram, memory) for ram in device.ram):
        raise InputError(f"{what} at 0x{memory.start:08x} is no part of the data RAM")
    on_code_buses = Memory(memory.name, alias.start, memory.size_bytes)
    flash_at_0 = [Memory("flash at address 0", 0, device.flash.size_bytes)] if 0 in device.flash_addresses else []
    for other in (*flash_at_0, device.flash, *device.ram):
        if _overlap(on_code_buses, other):
            raise InputError(f"{what} at 0x{alias.start:08x} overlaps {other.name}")
    if memory.size_bytes < _LEAST_CODE_BYTES or any(
        place % memory.size_bytes for place in (_ADDRESSES, memory.start, alias.start)
    ):
        raise InputError(
            f"{what} with {memory.size_bytes} bytes at 0x{memory.start:08x} and 0x{alias.start:08x} cannot be"
            f" protected: regions of the MPU have 2^n bytes, here at least {_LEAST_CODE_BYTES}, at multiples of them"
        )
    return CodeRam(memory.name, alias.start, memory.start, memory.size_bytes)


def _contains(outer: Memory, inner: Memory) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _overlap(first: Memory, second: Memory) -> bool:
    return first.start < second.end and second.start < first.end
