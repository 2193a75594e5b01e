"""Where the code of layers lies, with the numbers that decide."""

from dataclasses import replace

import pytest

from tinysplit.boards.board import Board, CodeMemory
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.kernels.code_waits import CodeWaits
from tinysplit.memory.code_in_ram import RamCode, largest_code_bytes, remaining_waits
from tinysplit.plan.code_placement import IN_FLASH, CodePlacement, place_code

KB = 1024
L4PLUS, L4, G0 = load_board("nucleo_l4r5zi"), load_board("nucleo_l452re"), load_board("nucleo_g071rb")
ESTIMATE = 6774  # of KWS
LARGEST, LARGEST_OF_LAYERS = 16660, 8468
WAITS = CodeWaits(30_000.0, 10_000.0)
IN_FLASH_WAITS = "in flash they would wait about 40000 cycles for code"
TITLE = "board 1 (nucleo_l4r5zi)"


def place(
    board: Board, code_bytes: int, data_bytes: int = 12 * KB, requested: CodeMemory | None = None
) -> CodePlacement:
    return place_code(board, code_bytes, WAITS, data_bytes, requested, TITLE)


def test_idle_ram_holds_code_that_is_larger_than_the_cache() -> None:
    assert largest_code_bytes(ESTIMATE) == LARGEST
    assert place(L4PLUS, ESTIMATE) == CodePlacement(RamCode.ALL, LARGEST, IN_FLASH_WAITS)


@pytest.mark.parametrize(
    ("data_bytes", "free_bytes"),
    [
        (192 * KB, 64 * KB),  # all in front of SRAM2
        (256 * KB - LARGEST, LARGEST),
        (256 * KB - LARGEST + 1, LARGEST - 1),
        (256 * KB - LARGEST_OF_LAYERS, LARGEST_OF_LAYERS),
        (256 * KB - LARGEST_OF_LAYERS + 1, LARGEST_OF_LAYERS - 1),
        (256 * KB, 0),
        (300 * KB, 0),
    ],
)
def test_data_have_priority_and_the_layers_own_functions_come_next(data_bytes: int, free_bytes: int) -> None:
    placement, free = place(L4PLUS, ESTIMATE, data_bytes), f"{free_bytes} of the 65536 bytes of sram2 are free"
    if free_bytes >= LARGEST:
        assert placement.in_ram is RamCode.ALL
    elif free_bytes >= LARGEST_OF_LAYERS:
        reason = f"{IN_FLASH_WAITS}; {free}, and the functions that they share stay in flash"
        assert placement == CodePlacement(RamCode.LAYERS, LARGEST_OF_LAYERS, reason)
    else:
        most = f"the code of its layers (about 6774 bytes) may take up to {LARGEST_OF_LAYERS}"
        reason = f"{free}, and {most}; {IN_FLASH_WAITS}"
        assert placement == CodePlacement(RamCode.NONE, reason=reason)


def test_waits_remain_for_code_in_flash() -> None:
    assert remaining_waits(WAITS, RamCode.NONE) == 40_000
    assert remaining_waits(WAITS, RamCode.LAYERS) == 10_000
    assert remaining_waits(WAITS, RamCode.ALL) == 0


def test_sram2_at_the_end_of_the_ram_shrinks_with_the_arena() -> None:
    assert place(L4, ESTIMATE, 160 * KB - LARGEST).in_ram is RamCode.ALL
    assert place(L4, ESTIMATE, 160 * KB - LARGEST + 1).in_ram is RamCode.LAYERS
    assert place(L4, ESTIMATE, 160 * KB - LARGEST + 1).memory is CodeMemory.RAM


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
        RamCode.ALL, largest_code_bytes(100), "requested"
    )
    tight = place(L4PLUS, ESTIMATE, 256 * KB - ESTIMATE, CodeMemory.RAM)  # up to the linker
    assert tight == CodePlacement(RamCode.ALL, ESTIMATE, "requested")


def test_a_request_that_does_not_fit_is_refused_with_the_bytes() -> None:
    with pytest.raises(CheckFailedError) as error:
        place(L4PLUS, ESTIMATE, 256 * KB - ESTIMATE + 4, CodeMemory.RAM)
    assert str(error.value) == (
        f"--code-memory ram: the code of the layers of {TITLE} takes about 6774 bytes, and 6770 of the 65536 bytes of"
        " sram2 are free"
    )


def test_boards_without_ram_on_the_code_buses() -> None:
    assert place(G0, ESTIMATE) == place(G0, ESTIMATE, requested=CodeMemory.FLASH) == IN_FLASH
    with pytest.raises(UsageError, match=r"--code-memory ram: board 1 .* has no RAM on the code buses"):
        place(G0, ESTIMATE, requested=CodeMemory.RAM)
