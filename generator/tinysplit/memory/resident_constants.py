"""Constants that lie in RAM from the start of the program: of layers that would wait for flash in each inference.

A layer that reads each weight once, as fully connected ones do, gains nothing from a copy that it makes before it runs,
and others would make their copy again in each inference. The start-up code copies such constants with the initial
values of variables, into RAM that nothing else needs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tinysplit.boards.board import Board
from tinysplit.boards.parts import Memory
from tinysplit.common.alignment import aligned
from tinysplit.memory.constants_in_ram import FlashWaits, LayerConstants, PlacedConstants, Residence

NEAR_SHARE = 0.5  # of the RAM behind the variables; applications may have variables of their own there
LEAST_SHARE = 0.005  # of the cycles of a board's layers, which constants have to save for the RAM that they take


@dataclass(frozen=True)
class ResidentRoom:
    """RAM that nothing else needs: behind the variables, or elsewhere; `waits` None: next to the core."""

    is_far: bool
    size_bytes: int
    waits: FlashWaits | None = None

    def residence(self, constants: LayerConstants) -> Residence:
        """Return where constants lie in this room."""
        return Residence(self.is_far, self.waits.reading(constants) if self.waits else 0.0)


def far_ram(board: Board, arena: Memory, arena_bytes: int, buffers_bytes: int, *, has_code: bool) -> Memory | None:
    """Return the largest RAM that nothing needs but constants: behind the layers' code, or not next to the core.

    `arena` is the memory of the arena; `buffers_bytes` are those that DMA uses, `has_code`: layers have code in RAM.
    """
    near, far, code_ram = board.near_memory, board.device.largest_ram, board.code_ram
    if code_ram and has_code and near.start <= code_ram.end < near.end:
        return Memory(near.name, code_ram.end, near.end - code_ram.end)
    if far == near:
        return None
    begin = far.start + aligned(arena_bytes if far == arena else 0)
    used_bytes = board.read_ahead_bytes + (buffers_bytes if far == board.dma.memory else 0)
    return Memory(far.name, begin, far.end - begin - used_bytes)


def resident_rooms(board: Board, near_bytes: int, far: Memory | None) -> Sequence[ResidentRoom]:
    """Return the rooms for constants: a share of the `near_bytes` behind the variables, to take first, and `far`."""
    near = ResidentRoom(is_far=False, size_bytes=int(NEAR_SHARE * near_bytes))
    if far is None:
        return [near]
    waits = None if far.name == board.near_memory.name else FlashWaits.of_ram(board, far)
    return [near, ResidentRoom(is_far=True, size_bytes=far.size_bytes, waits=waits)]


def with_residents(
    placed: Mapping[int, PlacedConstants],
    constants: Mapping[int, LayerConstants],
    sharing: Sequence[Sequence[int]],
    rooms: Sequence[ResidentRoom],
    cycles: float,
) -> Mapping[int, PlacedConstants]:
    """Return `placed` with those in RAM from the start that cost most; the first of `rooms` that has room takes them.

    Each list of layers in `sharing` reads the same constants; `cycles` are those of all layers with their waits.
    """
    found, free_bytes = dict(placed), {room.is_far: room.size_bytes for room in rooms}
    costs = {tuple(own): sum(placed[number].cost_cycles for number in own) for own in sharing}
    for own, cost in sorted(costs.items(), key=lambda item: (-item[1], item[0])):
        first, size_bytes = placed[own[0]], aligned(placed[own[0]].size_bytes)
        if first.is_external:
            continue
        for room in rooms:
            saved = cost - sum(room.residence(constants[number]).wait_cycles for number in own)
            if saved >= LEAST_SHARE * cycles and size_bytes <= free_bytes[room.is_far]:
                free_bytes[room.is_far] -= size_bytes
                found |= dict(_residents(placed, constants, own, room))
                break
    return found


def _residents(
    placed: Mapping[int, PlacedConstants],
    constants: Mapping[int, LayerConstants],
    sharing: Sequence[int],
    room: ResidentRoom,
) -> Iterator[tuple[int, PlacedConstants]]:
    for number in sharing:
        residence = room.residence(constants[number])
        yield number, replace(placed[number], offsets={}, residence=residence, is_reused=number != sharing[0])
