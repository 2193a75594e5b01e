"""Memory levels, wait cycles and caches of a device at its clock, from the family file."""

from collections.abc import Iterator

from tinysplit.boards.board import Caches, ClockTree, Device, Memory, MemoryLevel
from tinysplit.boards.schema import CacheSizes, MemorySystem
from tinysplit.common.errors import InputError


def memory_levels(system: MemorySystem, device: Device, clock: ClockTree) -> tuple[MemoryLevel, ...]:
    """Return RAM and flash in the order of their levels.

    Flash has `flash_wait_states` wait cycles of its bus (ST's tables are for HCLK). An access to RAM of level 2 takes a
    cycle of its bus, one to level 1 a cycle of the core.

    Raises InputError for a memory that the family file does not describe.
    """
    return tuple(sorted(_levels(system, device, clock), key=lambda level: level.level))


def _levels(system: MemorySystem, device: Device, clock: ClockTree) -> Iterator[MemoryLevel]:
    for memory in (*device.ram, device.flash):
        name = "flash" if memory == device.flash else memory.name
        if not all(name in facts for facts in (system.levels, system.access_bytes, system.dma)):
            raise InputError(f"{device.name}: memory_system of {device.family}.toml does not describe {name}")
        level = system.levels[name]
        yield MemoryLevel(
            level=level,
            name=memory.name,
            wait_cycles=0 if level == 1 else _bus_cycles(memory, device, clock) - 1,
            access_bytes=system.access_bytes[name],
            is_cached=name in system.caches,
            dma=system.dma[name],
        )


def _bus_cycles(memory: Memory, device: Device, clock: ClockTree) -> int:
    """Return the core cycles of an access over the bus, wait states included."""
    wait_states = clock.flash_wait_states if memory == device.flash else 0
    return (1 + wait_states) * clock.ahb_divider


def caches(system: MemorySystem, sizes: CacheSizes | None) -> Caches:
    """Return the caches of a device; `sizes` override those of its family."""
    code, data = system.code_cache_bytes, system.data_cache_bytes
    if sizes:
        code, data = sizes.code_bytes, sizes.data_bytes
    return Caches(system.cache_line_bytes, code, data)
