"""Kernels that take much flash for fewer cycles: chosen where the board's memories have room, and only there."""

from dataclasses import replace

import pytest

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Optimize
from tinysplit.kernels import flash_bytes
from tinysplit.kernels.cost_table import KernelCosts, shipped_table
from tinysplit.memory.kernel_choice import LINKS_BYTES, KernelChoice
from tinysplit.memory.layout import layer_ram_bytes
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder

BOARD = load_board("nucleo_l4r5zi")
FIRMWARE = shipped_table().firmware[BOARD.device.family]


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two layers for Winograd: the second saves fewer cycles a byte, on a smaller map with more weights."""
    net = NetworkBuilder("winograd", Shape(32, 32, 16)).conv(16, (3, 3)).conv(32, (3, 3), 2).conv(32, (3, 3))
    return net.average_pool().dense(10).graph()


def choice_on(graph: Graph, board: Board = BOARD, bits: int = 8) -> KernelChoice:
    return KernelChoice(shipped_table(), graph, BitWidths.all(graph, bits), board)


def names(choice: KernelChoice, optimize: Optimize = Optimize.CYCLES) -> list[str]:
    return [choice.kernel(number, optimize).name for number in (0, 1, 2)]


def with_flash(size_bytes: int) -> Board:
    return replace(BOARD, device=replace(BOARD.device, flash=replace(BOARD.device.flash, size_bytes=size_bytes)))


def needed_bytes(graph: Graph, *large: int) -> int:
    """Return the flash for the firmware and all layers, with Winograd for some of them."""
    choice = choice_on(graph)
    total = FIRMWARE.flash_bytes + FIRMWARE.link_flash_bytes
    for number, layer in enumerate(graph.layers):
        kernel = choice.kernel(number, name="winograd" if number in large else "dual_mac")
        total += flash_bytes(shipped_table(), kernel, layer, "cortex-m4", choice.widths.of_layer(layer))
    return total


def test_large_flash_is_used(graph: Graph) -> None:
    choice = choice_on(graph)
    assert names(choice) == ["winograd", "dual_mac", "winograd"]
    for number in (0, 2):
        usual = choice.kernel(number, name="dual_mac")
        assert choice.cycles(number, choice.kernel(number)) < 0.9 * choice.cycles(number, usual)


def test_equal_choices_are_known_once(graph: Graph) -> None:
    known = choice_on(graph).known
    assert replace(choice_on(graph), index=1).known is known  # of a whole network, boards of one kind have the same
    assert replace(choice_on(graph), widths=BitWidths.all(graph, 16)).known is not known
    assert choice_on(graph, with_flash(needed_bytes(graph))).known is not known


def test_the_layer_that_saves_most_cycles_a_byte_comes_first(graph: Graph) -> None:
    assert names(choice_on(graph, with_flash(needed_bytes(graph, 0, 2)))) == ["winograd", "dual_mac", "winograd"]
    assert names(choice_on(graph, with_flash(needed_bytes(graph, 0, 2) - 1))) == ["winograd", "dual_mac", "dual_mac"]
    assert names(choice_on(graph, with_flash(needed_bytes(graph, 0)))) == ["winograd", "dual_mac", "dual_mac"]
    assert names(choice_on(graph, with_flash(needed_bytes(graph, 0) - 1))) == ["dual_mac"] * 3


def test_a_limit_counts_as_a_smaller_flash(graph: Graph) -> None:
    limit = needed_bytes(graph, 0)
    limited = replace(BOARD, flash_limit_bytes=limit)
    assert names(choice_on(graph, limited)) == names(choice_on(graph, with_flash(limit))) != names(choice_on(graph))
    assert limited.sha256 == BOARD.sha256


def with_arena(board: Board, size_bytes: int) -> Board:
    firmware_bytes = shipped_table().firmware[board.device.family].ram_bytes
    near = replace(board.near_memory, size_bytes=size_bytes + firmware_bytes)
    return replace(board, device=replace(board.device, ram=(near,)))


def test_ram_has_to_hold_it_beside_links(graph: Graph) -> None:
    board = load_board("nucleo_f401re")  # its constants need no copy in RAM
    choice = choice_on(graph, board)
    first, last = (layer_ram_bytes(graph, number, 8, choice.kernel(number)) + LINKS_BYTES for number in (0, 2))
    assert names(choice_on(graph, with_arena(board, first))) == ["winograd", "dual_mac", "winograd"]
    assert names(choice_on(graph, with_arena(board, first - 1))) == ["dual_mac", "dual_mac", "winograd"]
    assert last < first


@pytest.mark.parametrize("optimize", [Optimize.RAM, Optimize.FLASH])
def test_another_objective_takes_none(graph: Graph, optimize: Optimize) -> None:
    assert "winograd" not in names(choice_on(graph), optimize)


def test_a_core_or_width_without_it(graph: Graph) -> None:
    assert "winograd" not in names(choice_on(graph, bits=16))
    assert "winograd" not in names(choice_on(graph, load_board("nucleo_g071rb")))


def test_a_kernel_that_was_not_measured_is_not_taken(graph: Graph) -> None:
    kinds = {kind: costs for kind, costs in shipped_table().cores["cortex-m4"]["8"].items() if "winograd" not in kind}
    table = shipped_table().model_copy(update={"cores": {"cortex-m4": {"8": kinds}}})
    assert "winograd" not in names(KernelChoice(table, graph, BitWidths.all(graph, 8), BOARD))


def test_a_kernel_that_saves_more_follows_where_flash_is_left(graph: Graph) -> None:
    kinds = shipped_table().cores["cortex-m4"]["8"]
    quick = KernelCosts(cycles={"pairs": 17.0}, code_bytes=0)  # 0.73 cycles a MAC; winograd 0.67 for more flash
    table = shipped_table().model_copy(update={"cores": {"cortex-m4": {"8": {**kinds, "conv/long_mac": quick}}}})

    def last_kernel(flash_bytes: int) -> str:
        return KernelChoice(table, graph, BitWidths.all(graph, 8), with_flash(flash_bytes)).kernel(2).name

    needed = next(size for size in range(60_000, 200_000, 256) if last_kernel(size) == "winograd")
    assert last_kernel(needed - 256) == "long_mac"
    assert last_kernel(2 * needed) == "winograd"


def test_flash_is_lacking_where_more_would_give_other_kernels(graph: Graph) -> None:
    every = needed_bytes(graph, 0, 2)
    roomy = choice_on(graph)
    assert not roomy.lacks_flash
    assert choice_on(graph, with_flash(every - 1)).lacks_flash
    assert roomy.alone is roomy
    tight = choice_on(graph, with_flash(every - 1))  # links leave it to a board alone
    assert names(tight.alone) == ["winograd", "dual_mac", "winograd"] != names(tight)
