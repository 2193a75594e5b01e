"""Copies of constants in idle RAM: what they save by hand counts, and that they take no memory in use."""

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.kernels import KERNELS
from tinysplit.memory.constants_in_ram import ByteRange, LayerConstants, PlacedConstants, place_constants
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder

G0, L4, F4, H7 = (load_board(f"nucleo_{name}") for name in ("g071rb", "l4r5zi", "f401re", "h743zi"))
LIMIT_BYTES = 10_000


def place_one(board: object, size_bytes: int, reads: int, limit_bytes: int = LIMIT_BYTES) -> PlacedConstants:
    constants = LayerConstants({"weights": size_bytes}, reads * size_bytes)
    return place_constants(board, {0: constants}, {0: ()}, ByteRange(0, limit_bytes))[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("board", "waits", "copy_waits"),
    [
        (G0, 10 * 800 / 4 * 2, 800 / 4 * 2),  # two wait states for each word
        (L4, 10 * 800 / 8 * 5, 800 / 8 * 5),  # five for 64 bits: the data cache holds 256 bytes
        (F4, 10 * 800 / 16 * 2, 800 / 16 * 2),
    ],
)
def test_waits_are_those_of_the_reads_of_flash(board: object, waits: float, copy_waits: float) -> None:
    placed = place_one(board, 800, 10)
    assert (placed.waits_in_flash, placed.copy_waits) == (waits, copy_waits)
    assert placed.copy_cycles == 50 + 23 * 800 / 32  # blocks of 32 bytes
    assert placed.is_copied


@pytest.mark.parametrize(("name", "load_bytes"), [("direct", (9 * 8 + 6) / (9 * 8 + 2)), ("packed", 4)])
def test_loads_of_g0_wait_each(name: str, load_bytes: float) -> None:
    """Plain C reads bytes of weights, and of each channel a bias of 4 and a factor of 2 bytes."""
    (layer,) = NetworkBuilder("net", Shape(4, 4, 8)).conv(4, (3, 3)).graph().layers
    kernel = next(each for each in KERNELS if each.name == name)
    assert kernel.load_bytes(layer, Widths.all(8)) == pytest.approx(load_bytes)
    constants = {0: LayerConstants({"weights": 780}, 7800, load_bytes)}
    placed = place_constants(G0, constants, {0: ()}, ByteRange(0, 0))[0]
    assert placed.waits_in_flash == pytest.approx(7800 / load_bytes * 2)
    assert placed.copy_waits == 780 / 4 * 2  # of words, whatever the kernel reads


def test_lines_of_an_h7_come_over_its_bus() -> None:
    """18 cycles to the first beat: 4 wait states and 5 cycles of AXI, at half the clock of the core."""
    placed = place_one(H7, 20_000, 10, 1 << 20)
    assert (placed.waits_in_flash, placed.copy_waits) == (10 * 20_000 / 32 * 18, 20_000 / 32 * 18)


@pytest.mark.parametrize(("board", "size_bytes"), [(L4, 256 - 32), (F4, 128 - 16), (H7, 16384 - 32)])
def test_constants_that_the_data_cache_surely_holds_stay_in_flash(board: object, size_bytes: int) -> None:
    """They may begin anywhere in a line; more of them take each other's place."""
    assert place_one(board, size_bytes + 4, 100, 1 << 20).is_copied
    placed = place_one(board, size_bytes, 10, 1 << 20)
    assert not placed.is_copied
    assert placed.waits_in_flash == placed.copy_waits
    assert str(placed).startswith(
        f"constants in flash cost {placed.waits_in_flash:.0f} cycles of waits: a copy to RAM "
    )


def test_constants_that_are_read_once_stay_in_flash() -> None:
    assert not place_one(G0, 800, 1).is_copied


def test_the_choice_follows_the_size_of_the_memory() -> None:
    fits, does_not = place_one(G0, 800, 10, 800), place_one(G0, 800, 10, 796)
    assert (fits.offsets, fits.end_bytes) == ({"weights": 0}, 800)
    assert not does_not.is_copied
    assert str(does_not).endswith("800 bytes for a copy are not free in RAM")


def test_copies_lie_between_what_is_in_use() -> None:
    constants = {0: LayerConstants({"weights": 300, "bias": 33}, 5000)}
    in_use = (ByteRange(700, 1000), ByteRange(0, 100), ByteRange(90, 399))
    placed = place_constants(G0, constants, {0: in_use}, ByteRange(0, LIMIT_BYTES))[0]
    assert placed.offsets == {"weights": 1000, "bias": 1300}  # 400 to 700 is too short for 336 bytes
    assert placed.end_bytes == 1336


def test_copies_lie_in_the_space_that_is_given() -> None:
    constants = {0: LayerConstants({"weights": 400}, 4000)}
    in_use = {0: (ByteRange(0, 300), ByteRange(1100, 1200))}
    placed = place_constants(G0, constants, in_use, ByteRange(1000, 2000))[0]
    assert placed.offsets == {"weights": 1200}
    assert not place_constants(G0, constants, in_use, ByteRange(1000, 1500))[0].is_copied


def test_layers_of_one_step_do_not_share_memory_and_others_do() -> None:
    constants = {number: LayerConstants({"weights": 400}, 4000 + number) for number in range(3)}
    step, other = (ByteRange(0, 100),), (ByteRange(0, 200),)
    placed = place_constants(G0, constants, {0: step, 1: step, 2: other}, ByteRange(0, LIMIT_BYTES))
    assert [placed[number].offsets["weights"] for number in range(3)] == [500, 100, 200]  # 1 saves more than 0
    tight = place_constants(G0, constants, {0: step, 1: step, 2: other}, ByteRange(0, 600))
    assert [tight[number].is_copied for number in range(3)] == [False, True, True]
