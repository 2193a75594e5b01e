"""Constants in RAM from the start: which layers have them, by what they save, and where."""

from dataclasses import replace

import pytest

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.boards.parts import Memory
from tinysplit.memory.constants_in_ram import ByteRange, FlashWaits, LayerConstants, PlacedConstants, place_constants
from tinysplit.memory.resident_constants import ResidentRoom, far_ram, resident_rooms, with_residents

G0, L4, H7 = (load_board(f"nucleo_{name}") for name in ("g071rb", "l4r5zi", "h743zi"))
CYCLES = 100_000.0


def read_once(*sizes: int) -> dict[int, LayerConstants]:
    return {number: LayerConstants({"weights": size}, size) for number, size in enumerate(sizes)}


def placed_on(board: Board, constants: dict[int, LayerConstants]) -> dict[int, PlacedConstants]:
    return dict(place_constants(board, constants, dict.fromkeys(constants, ()), ByteRange(0, 0)))


def near(size_bytes: int) -> list[ResidentRoom]:
    return [ResidentRoom(is_far=False, size_bytes=size_bytes)]


def test_what_costs_most_comes_first_and_what_saves_little_stays_in_flash() -> None:
    """Five cycles for each eight bytes: 12 500, 6250, 375 and 9375 cycles, of which half a percent is the least."""
    constants = read_once(20_000, 10_000, 600, 15_000)
    placed = with_residents(placed_on(L4, constants), constants, [(0,), (1,), (2,), (3,)], near(40_000), CYCLES)
    assert [number for number, own in placed.items() if own.residence] == [0, 3]
    assert [own.cost_cycles for own in placed.values()] == [0, 6250, 375, 0]
    assert str(placed[0]) == "constants in RAM from the start: flash would cost 12500 cycles of waits"
    assert not with_residents(placed_on(L4, constants), constants, [(0,)], near(19_999), CYCLES)[0].residence


def test_a_copy_that_a_layer_makes_is_left_out_where_ram_has_room_from_the_start() -> None:
    constants = {0: LayerConstants({"weights": 20_000}, 10 * 20_000)}
    copied = dict(place_constants(L4, constants, {0: ()}, ByteRange(0, 20_000)))
    assert copied[0].is_copied
    [own] = with_residents(copied, constants, [(0,)], near(40_000), CYCLES).values()
    assert (own.is_copied, own.residence is not None, own.cost_cycles) == (False, True, 0)
    assert with_residents(copied, constants, [(0,)], near(19_999), CYCLES) == copied


def test_tiles_share_what_the_first_of_them_has() -> None:
    constants = read_once(600, 600)
    placed = placed_on(L4, constants)
    together = with_residents(placed, constants, [(0, 1)], near(600), CYCLES)
    assert [(own.residence is not None, own.is_reused) for own in together.values()] == [(True, False), (True, True)]
    apart = with_residents(placed, constants, [(0,), (1,)], near(1_200), CYCLES)
    assert not any(own.residence for own in apart.values())  # each saves 375 cycles, less than half a percent


def test_a_far_ram_takes_what_the_near_one_has_no_room_for() -> None:
    constants = read_once(64_000, 32_000)
    axi = next(memory for memory in H7.device.ram if memory == H7.device.largest_ram)
    rooms = resident_rooms(H7, 2 * 64_000, axi)  # of which applications have half
    placed = with_residents(placed_on(H7, constants), constants, [(0,), (1,)], rooms, CYCLES)
    first, second = (own.residence for own in placed.values())
    assert first
    assert second
    assert (first.is_far, first.wait_cycles) == (False, 0)
    waits = FlashWaits.of_ram(H7, axi)
    assert (second.is_far, second.wait_cycles) == (True, waits.wait_cycles * 32_000 / 32)
    assert f"with {second.wait_cycles:.0f} cycles of waits: flash would cost" in str(placed[1])


@pytest.mark.parametrize(
    ("board", "has_code", "expected"),
    [
        (L4, True, Memory("sram", 0x2004_0000, 384 * 1024)),  # SRAM3, behind code in SRAM2
        (L4, False, None),  # all RAM follows the variables
        (G0, False, None),
    ],
)
def test_far_ram(board: Board, has_code: bool, expected: Memory | None) -> None:
    assert far_ram(board, board.near_memory, 1000, 0, has_code=has_code) == expected


def test_far_ram_of_an_h7_begins_behind_an_arena_there() -> None:
    axi = H7.device.largest_ram
    alone = far_ram(H7, H7.near_memory, 1000, 0, has_code=False)
    assert alone == replace(axi, size_bytes=axi.size_bytes - H7.read_ahead_bytes)
    behind = far_ram(H7, axi, 200_001, 0, has_code=False)
    assert behind
    assert (behind.start, behind.end) == (axi.start + 200_004, alone.end)
    with_buffers = far_ram(H7, axi, 200_001, 4096, has_code=False)
    assert with_buffers
    assert alone.end - with_buffers.end == (4096 if H7.dma.memory == axi else 0)
