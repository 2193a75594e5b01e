"""Where the code of layers lies, with the numbers that decide."""

from dataclasses import replace

import pytest

from tinysplit.boards.board import Board, CodeMemory
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.kernels.code_waits import CodeWaits
from tinysplit.memory.code_in_ram import CodeBytes, RamCode, choose_ram_code, remaining_waits
from tinysplit.plan.code_placement import IN_FLASH, CodePlacement, place_code

KB = 1024
L4PLUS, L4, G0 = load_board("nucleo_l4r5zi"), load_board("nucleo_l452re"), load_board("nucleo_g071rb")
ESTIMATE = 6774  # of KWS
STRAIGHT = 2524
LARGEST, LARGEST_OF_STRAIGHT = 16660, 3155
ROOM, ROOM_OF_STRAIGHT = 17 * KB, 4 * KB  # on the L4R5, where code begins at multiples of 1 KB
WAITS = {0: CodeWaits(30_000.0, 2_000.0), 2: CodeWaits(0.0, 8_000.0)}
IN_FLASH_WAITS = "in flash they would wait about 40000 cycles for code"
TITLE = "board 1 (nucleo_l4r5zi)"


def place(
    board: Board, code_bytes: int, data_bytes: int = 12 * KB, requested: CodeMemory | None = None
) -> CodePlacement:
    return place_code(board, CodeBytes(code_bytes, STRAIGHT), WAITS, data_bytes, requested, TITLE)


def test_idle_ram_holds_code_that_is_larger_than_the_cache() -> None:
    assert CodeBytes(ESTIMATE, STRAIGHT).largest(RamCode.ALL) == LARGEST
    assert place(L4PLUS, ESTIMATE) == CodePlacement(RamCode.ALL, LARGEST, IN_FLASH_WAITS)


@pytest.mark.parametrize(
    ("data_bytes", "free_bytes"),
    [
        (192 * KB, 64 * KB),  # all in front of SRAM2
        (256 * KB - ROOM, ROOM),
        (256 * KB - ROOM + 1, ROOM - KB),
        (256 * KB - ROOM_OF_STRAIGHT, ROOM_OF_STRAIGHT),
        (256 * KB - ROOM_OF_STRAIGHT + 1, ROOM_OF_STRAIGHT - KB),
        (256 * KB, 0),
        (300 * KB, 0),
    ],
)
def test_data_have_priority_and_straight_code_comes_next(data_bytes: int, free_bytes: int) -> None:
    placement = place(L4PLUS, ESTIMATE, data_bytes)
    reason = (
        f"{free_bytes} of the 65536 bytes of sram2 are free, and the code of its layers (about 6774 bytes) may take up"
        f" to {LARGEST}; {IN_FLASH_WAITS}"
    )
    if free_bytes >= LARGEST:
        assert placement.in_ram is RamCode.ALL
    elif free_bytes >= LARGEST_OF_STRAIGHT:
        reason += "; only code that overflows the instruction cache is in RAM (layers: 1)"
        assert placement == CodePlacement(RamCode.STRAIGHT, LARGEST_OF_STRAIGHT, reason, (0,))
    else:
        assert placement == CodePlacement(RamCode.NONE, reason=reason)


def test_without_straight_code_all_or_none_moves() -> None:
    code_bytes = CodeBytes(ESTIMATE, 0)
    assert choose_ram_code(L4PLUS, code_bytes, 256 * KB - ROOM, None) is RamCode.ALL
    assert choose_ram_code(L4PLUS, code_bytes, 256 * KB - ROOM + 1, None) is RamCode.NONE


def test_only_the_layers_with_straight_code_count_as_such() -> None:
    assert CodeBytes.of([(100, CodeWaits(1.0, 2.0)), (20, CodeWaits(0.0, 2.0))]) == CodeBytes(120, 100)


def test_waits_remain_for_code_in_flash() -> None:
    assert remaining_waits(WAITS[0], RamCode.NONE) == 32_000
    assert remaining_waits(WAITS[0], RamCode.STRAIGHT) == 2_000
    assert remaining_waits(WAITS[0], RamCode.ALL) == 0


def test_sram2_at_the_end_of_the_ram_shrinks_with_the_arena() -> None:
    room = 33 * 512  # for LARGEST: code begins at multiples of 512
    assert place(L4, ESTIMATE, 160 * KB - room).in_ram is RamCode.ALL
    assert place(L4, ESTIMATE, 160 * KB - room + 1).in_ram is RamCode.STRAIGHT
    assert place(L4, ESTIMATE, 160 * KB - room + 1).memory is CodeMemory.RAM


def test_code_that_fits_into_the_cache_stays_in_flash() -> None:
    reason = "the code of its layers (about 1024 bytes) fits into the instruction cache of 1024 bytes"
    assert place(L4PLUS, 1024) == CodePlacement(RamCode.NONE, reason=reason)
    assert place(L4PLUS, 1025).memory is CodeMemory.RAM


def test_code_stays_in_flash_without_wait_states() -> None:
    slow = replace(L4PLUS, hsi_clock=replace(L4PLUS.hsi_clock, flash_wait_states=0))
    assert place(slow, ESTIMATE) == CodePlacement(RamCode.NONE, reason="flash has no wait states")


def test_a_request_decides_where_it_can() -> None:
    assert place(L4PLUS, ESTIMATE, requested=CodeMemory.FLASH) == CodePlacement(RamCode.NONE, reason="requested")
    assert place(L4PLUS, 100, requested=CodeMemory.RAM) == CodePlacement(
        RamCode.ALL, CodeBytes(100, STRAIGHT).largest(RamCode.ALL), "requested"
    )
    tight = place(L4PLUS, ESTIMATE, 256 * KB - 7 * KB, CodeMemory.RAM)  # up to the linker
    assert tight == CodePlacement(RamCode.ALL, 7 * KB, "requested")


def test_a_request_that_does_not_fit_is_refused_with_the_bytes() -> None:
    with pytest.raises(CheckFailedError) as error:
        place(L4PLUS, ESTIMATE, 256 * KB - 7 * KB + 4, CodeMemory.RAM)
    assert str(error.value) == (
        f"--code-memory ram: the code of the layers of {TITLE} takes about 6774 bytes, and 6144 of the 65536 bytes of"
        " sram2 are free"
    )


def test_boards_without_ram_on_the_code_buses() -> None:
    assert place(G0, ESTIMATE) == place(G0, ESTIMATE, requested=CodeMemory.FLASH) == IN_FLASH
    with pytest.raises(UsageError, match=r"--code-memory ram: board 1 .* has no RAM on the code buses"):
        place(G0, ESTIMATE, requested=CodeMemory.RAM)
