"""Encrypted constants in RAM: which layers keep them decrypted, and which have them decrypted in each inference.

The arrays that are kept are decrypted once, when the board gets its key. Where RAM does not hold all, the others are
decrypted before their layer runs, to bytes that are idle meanwhile. What is kept takes from these bytes, so both are
chosen together: for each amount that may be kept, the layers that cost the fewest cycles to decrypt again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tinysplit.boards.board import Board
from tinysplit.boards.parts import Memory
from tinysplit.common.alignment import WORD_BYTES, aligned
from tinysplit.common.errors import CheckFailedError
from tinysplit.memory.constants_in_ram import (
    CALL_CYCLES,
    ByteRange,
    Decrypted,
    FlashWaits,
    LayerConstants,
    PlacedConstants,
    lowest_hole,
    offsets_from,
)
from tinysplit.memory.external_weights import Movable, cheapest

BLOCK_BYTES = 16  # of AES

# Cycles of a block of AES and of each of its rounds, by core, without waits, and the waits of a block for its code, for
# each wait state of a flash without a cache: gcm_decrypt_words of firmware/common/gcm.c, built by GCC 12.2. Held within
# 2 % of virtual boards by tests/firmware/test_decrypted_again.py: how the code lies in the lines of a flash matters.
CIPHER_CODE_BYTES = 640
CIPHER_CODE_WAITS = 16
CIPHER_CYCLES = {
    "cortex-m0": (124, 223),
    "cortex-m0plus": (114, 222),
    "cortex-m3": (131, 113),  # as Cortex-M4: there are no multiplications
    "cortex-m4": (131, 113),
    "cortex-m7": (61, 67),
    "cortex-m33": (131, 113),
}


@dataclass(frozen=True)
class DecryptionRoom:
    """The RAM that decrypted constants may take.

    `space` are offsets that places for single inferences may take, between tensors, of which none lies behind
    `tensors_end`. What is kept lies in `memory`: in `kept_bytes` of it, or, if that is None, at the end of the space.
    """

    memory: Memory
    space: ByteRange
    tensors_end: int
    kept_bytes: int | None

    def most_kept(self, ends: Mapping[int, int]) -> Iterator[int]:
        """Yield the bytes that may be kept if layers with some of these ends of their places are decrypted again."""
        if self.kept_bytes is not None:
            yield self.kept_bytes
            return
        yield from (self.space.end - max(self.tensors_end, end) for end in {self.tensors_end, *ends.values()})

    def places_end(self, kept_bytes: int) -> int:
        """Return where places for single inferences have to end if so many bytes are kept."""
        return self.space.end - (kept_bytes if self.kept_bytes is None else 0)


@dataclass(frozen=True)
class DecryptedConstants:
    """Where the decrypted constants of each layer lie, and the memory of those that are kept."""

    layers: Mapping[int, PlacedConstants]
    memory: Memory

    @property
    def cost_cycles(self) -> float:
        """Cycles that they cost in each inference."""
        return sum(each.cost_cycles for each in self.layers.values())


class NoRoomError(CheckFailedError):
    """Raised where a layer (0-based) finds no room for its decrypted constants, or fused ones for theirs together."""

    def __init__(self, layer: int, needed_bytes: int, free_bytes: int) -> None:
        super().__init__(f"{needed_bytes} bytes of decrypted weights do not fit into {free_bytes} bytes")
        self.layer, self.needed_bytes, self.free_bytes = layer, needed_bytes, free_bytes


def decrypt_cycles(constants: LayerConstants, rounds: int, board: Board) -> float:
    """Return the cycles of decrypting the constants of a layer, without waits for these.

    Arrays begin anywhere in a block, on average in its middle.
    """
    words = [aligned(size) // WORD_BYTES for size in constants.sizes.values()]
    block_words = BLOCK_BYTES // WORD_BYTES
    blocks = sum((own + block_words - 1) / block_words for own in words)
    once, each_round = CIPHER_CYCLES[board.device.core]
    is_cached = board.caches.code_bytes >= CIPHER_CODE_BYTES
    waits = 0 if is_cached else CIPHER_CODE_WAITS * board.clock.flash_wait_states
    return CALL_CYCLES * len(words) + blocks * (once + rounds * each_round + waits)


def place_decrypted(
    board: Board,
    rounds: int,
    constants: Mapping[int, LayerConstants],
    in_use: Mapping[int, Sequence[ByteRange]],
    rooms: Sequence[DecryptionRoom],
) -> DecryptedConstants:
    """Return the places of all constants that cost the fewest cycles in an inference; `rounds` are those of AES.

    `in_use` has what is in use while each layer runs; layers of one step have the same ranges. Raises NoRoomError for
    the layer whose constants lack most room.
    """
    places = dict(_lowest_places(constants, in_use, rooms[0].space.begin))
    found = [each for room in rooms for each in _placed_in(board, rounds, constants, places, room)]
    if not found:
        raise _no_room(constants, in_use, places, rooms[0].space)
    return min(found, key=lambda each: each.cost_cycles)


def _lowest_places(
    constants: Mapping[int, LayerConstants], in_use: Mapping[int, Sequence[ByteRange]], begin: int
) -> Iterator[tuple[int, int]]:
    """Yield the lowest offset for the constants of each layer, beside those of other layers of its step."""
    taken = {number: list(ranges) for number, ranges in in_use.items()}
    for number, own in sorted(constants.items(), key=lambda item: (-item[1].size_bytes, item[0])):
        place = lowest_hole(taken[number], own.size_bytes, begin)
        for other in _of_step(number, in_use):
            taken[other].append(ByteRange(place, place + own.size_bytes))
        yield number, place


def _of_step(number: int, in_use: Mapping[int, Sequence[ByteRange]]) -> list[int]:
    """Return the layers that run in the same step as a layer, itself among them."""
    return [other for other in in_use if in_use[other] is in_use[number]]


def _placed_in(
    board: Board,
    rounds: int,
    constants: Mapping[int, LayerConstants],
    places: Mapping[int, int],
    room: DecryptionRoom,
) -> Iterator[DecryptedConstants]:
    """Yield the best choice for each amount that may be kept, where there is one."""
    kept_waits, flash_waits = FlashWaits.of_ram(board, room.memory), FlashWaits.of(board)
    kept = {
        number: PlacedConstants({}, own.size_bytes, kept_waits.reading(own), 0.0, 0.0, decrypted=Decrypted.ONCE)
        for number, own in constants.items()
    }
    again = {
        number: replace(
            kept[number],
            offsets=dict(offsets_from(own.sizes, places[number])),
            copy_cycles=decrypt_cycles(own, rounds, board),
            copy_waits=flash_waits.copying(own),
            decrypted=Decrypted.EACH_TIME,
        )
        for number, own in constants.items()
    }
    total_bytes = sum(each.size_bytes for each in kept.values())
    for most_bytes in room.most_kept({number: own.end_bytes for number, own in again.items()}):
        end = room.places_end(most_bytes)
        movable = [
            Movable(number, own.size_bytes, own.cost_cycles - kept[number].cost_cycles)
            for number, own in again.items()
            if own.end_bytes <= end
        ]
        needed_bytes = total_bytes - most_bytes
        if most_bytes >= 0 and sum(each.size_bytes for each in movable) >= needed_bytes:
            chosen = cheapest(movable, needed_bytes) if needed_bytes > 0 else []
            yield DecryptedConstants({**kept, **{each.number: again[each.number] for each in chosen}}, room.memory)


def _no_room(
    constants: Mapping[int, LayerConstants],
    in_use: Mapping[int, Sequence[ByteRange]],
    places: Mapping[int, int],
    space: ByteRange,
) -> NoRoomError:
    number = max(constants, key=lambda each: places[each] + constants[each].size_bytes)
    step = [each for each in _of_step(number, in_use) if each in constants]
    return NoRoomError(number, sum(constants[each].size_bytes for each in step), _largest_hole(in_use[number], space))


def _largest_hole(in_use: Sequence[ByteRange], space: ByteRange) -> int:
    begin, largest = space.begin, 0
    for each in (*sorted(in_use), ByteRange(space.end, space.end)):
        largest = max(largest, min(each.begin, space.end) - begin)
        begin = max(begin, aligned(each.end))
    return largest
