"""Which constants lie in the external memory: against all choices, and what they cost by hand counts."""

from itertools import chain, combinations

import numpy as np
import pytest

from session.profiles import cases
from tinysplit.boards.catalog import load_board
from tinysplit.memory.constants_in_ram import ByteRange, LayerConstants, PlacedConstants, place_constants
from tinysplit.memory.external_weights import DRIVER_BYTES, Movable, choose_external

MUCH = 1 << 23
BOARD = load_board("disco_l496ag")  # 42 cycles to the first byte of a command, 4 for each byte


def least_cycles(movable: list[Movable], needed_bytes: int) -> float:
    """Return the cycles of the best choice among all."""
    sets = chain.from_iterable(combinations(movable, count) for count in range(len(movable) + 1))
    return min(sum(each.cycles for each in own) for own in sets if sum(each.size_bytes for each in own) >= needed_bytes)


@pytest.mark.parametrize("seed", range(cases(quick=10, full=40, nightly=1000)))
def test_no_other_choice_costs_less(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = 4 * random.integers(0, 1800, random.integers(1, 9))  # less than 16384 words in all: nothing is rounded
    movable = [Movable(number, int(size), float(random.integers(0, 1000))) for number, size in enumerate(sizes)]
    needed_bytes = int(random.integers(1, max(2, sizes.sum())))
    if needed_bytes + DRIVER_BYTES > sizes.sum():
        return
    chosen = choose_external(movable, -needed_bytes, MUCH)
    own = [each for each in movable if each.number in chosen]
    assert sum(each.size_bytes for each in own) >= needed_bytes + DRIVER_BYTES
    assert sum(each.cycles for each in own) == least_cycles(movable, needed_bytes + DRIVER_BYTES)


def test_large_needs_are_met_although_sizes_are_rounded() -> None:
    movable = [Movable(number, 100_003, 1.0) for number in range(80)]
    chosen = choose_external(movable, -4_000_000, MUCH)
    assert sum(100_003 for _ in chosen) >= 4_000_000 + DRIVER_BYTES
    assert len(chosen) <= 42


def test_nothing_goes_out_of_a_flash_that_holds_all() -> None:
    assert choose_external([Movable(0, 1000, 0.0)], 0, MUCH) == frozenset()


def test_a_small_external_memory_takes_what_costs_least_a_byte() -> None:
    movable = [Movable(0, 1000, 500.0), Movable(1, 500, 100.0), Movable(2, 600, 200.0)]
    assert choose_external(movable, -3000, 1200) == {1, 2}


def place(constants: LayerConstants, free_bytes: int) -> PlacedConstants:
    return place_constants(BOARD, {0: constants}, {0: ()}, ByteRange(0, free_bytes))[0]


def test_a_copy_reads_the_external_memory_once() -> None:
    constants = LayerConstants({"weights": 1000}, 8000, is_external=True, kernel_cycles=100.0, are_read_forward=True)
    placed = place(constants, 1000)
    assert placed.is_copied
    assert placed.cost_cycles == 50 + 42 + 4 * 1000  # the copy's own cycles pass while the flash is read
    assert placed.external_cycles == 42 + 4 * 1000


def test_a_kernel_computes_while_the_external_memory_is_read() -> None:
    constants = LayerConstants({"weights": 1000}, 2000, is_external=True, kernel_cycles=3000.0, are_read_forward=True)
    placed = place(constants, 0)
    assert not placed.is_copied
    assert placed.cost_cycles == 2 * 42 + 4 * 2000 - 3000
    assert placed.external_cycles == 2 * 42 + 4 * 2000
    assert str(placed).startswith("constants in external memory cost 5084 cycles of waits: 1000 bytes for a copy")


def test_a_kernel_that_jumps_needs_a_command_for_each_byte() -> None:
    placed = place(LayerConstants({"weights": 100}, 100, is_external=True, kernel_cycles=9999.0), 0)
    assert placed.cost_cycles == 100 * (42 + 4)
