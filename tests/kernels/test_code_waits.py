"""Waits for code in flash: of straight code by its bytes, of all other code by what was measured."""

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.kernels.code_waits import CodeWaits, code_waits
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.kernels.dsp.dual_mac import DualMac
from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers import Shape
from tinysplit.network.layers.base import Layer
from tinysplit.network.network_builder import NetworkBuilder

BYTES = Widths(8, 8, 8)
PASSES = 16 * 8 * 4  # rows, pairs of columns, blocks of 4 of 16 channels


def conv(channels: int, kernel: tuple[int, int] = (3, 3)) -> Layer:
    return NetworkBuilder("network", Shape(16, 16, channels)).conv(16, kernel).graph().layers[0]


def waits(board_name: str, layer: Layer) -> CodeWaits:
    return code_waits(shipped_table(), layer, load_board(board_name), BYTES, DualMac())


def test_straight_code_has_56_bytes_for_each_pair_of_values() -> None:
    code = DualMac().straight_code(conv(3), BYTES)
    assert code is not None
    assert (code.size_bytes, code.passes) == (3 * 5 * 56 + 2 * 4 + 180, PASSES)
    assert code.work == {"two_pairs": 15, "two_blocks": 1, "positive_two_blocks": 1}
    assert DualMac().straight_code(conv(8), BYTES) is None  # 36 pairs have a loop
    narrow = DualMac().straight_code(conv(8, (1, 1)), BYTES)
    assert narrow is not None
    assert narrow.size_bytes == 4 * 56 + 180
    assert DualMac().straight_code(conv(40, (1, 1)), BYTES) is None


@pytest.mark.parametrize(
    ("board_name", "reads", "wait_states"),
    [
        ("nucleo_f401re", 1336 / 16, 2),  # its prefetch is faster than the core
        ("nucleo_f446re", 1336 / 16, 5),
        ("nucleo_l433rc_p", 1336 / 8, 4),
        ("nucleo_l4r5zi", 1336 / 8, 5),
    ],
)
def test_straight_code_beyond_the_cache_takes_as_long_as_its_reads(
    board_name: str, reads: float, wait_states: int
) -> None:
    cycles = shipped_table().cores["cortex-m4"]["8"]["conv/dual_mac"].cycles
    pass_cycles = 20 * cycles["two_pairs"] + cycles.get("two_blocks", 0.0) + cycles.get("positive_two_blocks", 0.0)
    expected = max(0.0, reads * (1 + wait_states) - pass_cycles)
    layer = conv(1, (10, 4))
    assert waits(board_name, layer).straight == pytest.approx(PASSES * expected)
    assert (expected > 0) is (board_name != "nucleo_f401re")


@pytest.mark.parametrize("board_name", ["nucleo_f446re", "nucleo_l433rc_p"])
def test_code_that_fits_the_cache_wherever_it_begins_is_read_once(board_name: str) -> None:
    assert waits(board_name, conv(2, (1, 13))).straight == 0  # 908 bytes
    assert waits(board_name, conv(2, (1, 15))).straight > 0  # 1020 bytes: 65 lines of 16 bytes


def test_other_waits_grow_with_the_wait_states() -> None:
    two, five = (waits(name, conv(8)).others for name in ("nucleo_f401re", "nucleo_f446re"))
    assert five == pytest.approx(2.5 * two)
    assert two > 0


def test_cortex_m7_has_a_cache_for_all_code() -> None:
    assert waits("nucleo_h743zi", conv(1, (10, 4))) == CodeWaits()


def test_both_are_waits() -> None:
    assert CodeWaits(3.0, 4.0).cycles == 7
