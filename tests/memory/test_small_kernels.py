"""Kernels that take little flash: in parts of a network or on a board alone, as few as its flash asks for."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain, combinations

import pytest

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.kernel_reasons import kernel_reasons
from tinysplit.common.choices import Optimize, Slices
from tinysplit.costs.link_options import LinkSettings
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels import Kernel
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.plan.plan import make_plan
from tinysplit.slices.search import SliceSearch
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.slices.solvers import AXES
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate

BOARD = load_board("nucleo_g071rb")
FIRMWARE = shipped_table().firmware[BOARD.device.family]
SETTINGS = CostSettings(baud=3_000_000)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Three layers whose fastest kernels take up to twice the flash of others."""
    net = NetworkBuilder("packed", Shape(16, 16, 16))
    return net.conv(16, (3, 3)).conv(32, (3, 3), 2).conv(32, (1, 1)).graph()


@pytest.fixture(scope="module")
def parts(graph: Graph) -> Graph:
    """Return the network on board 1, but for half of the rows of its first layer."""
    halves = Distribution(SliceAxis.ROWS, (range(8), range(8, 16)))
    others = (Distribution.whole(graph.shape(number), 0, 2) for number in (1, 2))
    how = Distributions((halves, *others), 0, 0, frozenset())
    return distribute(graph, how, 2, BitWidths.all(graph, 8))


def with_flash(size_bytes: int) -> Board:
    return replace(BOARD, device=replace(BOARD.device, flash=replace(BOARD.device.flash, size_bytes=size_bytes)))


def choice_of(parts: Graph, size_bytes: int = BOARD.device.flash.size_bytes) -> KernelChoice:
    return KernelChoice(shipped_table(), parts, BitWidths.all(parts, 8), with_flash(size_bytes))


def kernels(choice: KernelChoice, optimize: Optimize = Optimize.CYCLES) -> Mapping[int, Kernel]:
    return {number: choice.kernel(number, optimize) for number in choice.numbers}


def needed_bytes(choice: KernelChoice, chosen: Mapping[int, Kernel]) -> int:
    own = sum(choice.flash_bytes(number, kernel) for number, kernel in chosen.items())
    return own + FIRMWARE.flash_bytes + FIRMWARE.link_flash_bytes


def cycles(choice: KernelChoice, chosen: Mapping[int, Kernel]) -> float:
    return sum(choice.cycles(number, kernel) for number, kernel in chosen.items())


def subsets(numbers: Iterable[int]) -> Iterable[tuple[int, ...]]:
    every = tuple(numbers)
    return chain.from_iterable(combinations(every, count) for count in range(len(every) + 1))


def test_the_fastest_kernels_where_they_fit(parts: Graph) -> None:
    choice = choice_of(parts)
    fast, small = kernels(choice), kernels(choice, Optimize.FLASH)
    assert sum(fast[number] is not small[number] for number in fast) >= 2
    assert kernels(choice_of(parts, needed_bytes(choice, fast))) == fast


@pytest.mark.parametrize("missing_bytes", [1, 600, 2500])
def test_kernels_of_little_flash_as_far_as_bytes_are_missing(parts: Graph, missing_bytes: int) -> None:
    roomy = choice_of(parts)
    fast, small = kernels(roomy), kernels(roomy, Optimize.FLASH)
    size_bytes = needed_bytes(roomy, fast) - missing_bytes
    choice = choice_of(parts, size_bytes)
    found = kernels(choice)
    assert needed_bytes(choice, found) <= size_bytes
    exchanged = [number for number in found if found[number] is not fast[number]]
    assert all(found[number] is small[number] for number in exchanged)
    for number in exchanged:  # none of them without need
        assert needed_bytes(choice, {**found, number: fast[number]}) > size_bytes
    fitting = ({**fast, **{number: small[number] for number in some}} for some in subsets(found))
    least = min(cycles(choice, each) for each in fitting if needed_bytes(choice, each) <= size_bytes)
    assert least <= cycles(choice, found) <= 1.1 * least


def test_whole_layers_have_the_same_kernels_in_every_split(graph: Graph) -> None:
    """A split may give a board some of the layers, so that all of them need not fit."""
    assert kernels(choice_of(graph, FIRMWARE.flash_bytes)) == kernels(choice_of(graph))


def test_a_board_alone_has_kernels_of_little_flash_in_its_plan_too(graph: Graph) -> None:
    roomy = choice_of(graph)
    fast = kernels(roomy)
    board = with_flash(needed_bytes(roomy, fast) - FIRMWARE.link_flash_bytes - 2000)
    two, one = (make_problem(shipped_table(), graph, [board] * count, SETTINGS) for count in (2, 1))
    assert [layer.flash_bytes[0] for layer in two.layers] == [roomy.flash_bytes(*each) for each in fast.items()]
    plan = make_plan(shipped_table(), graph, 8, [board], one, (0, 0, 0), LinkSettings(115_200))
    chosen = plan.boards[0].memory.kernels
    assert {number for number in fast if chosen[number] is not fast[number]} == plan.problem.small
    assert plan.problem.small
    flash_bytes = sum(roomy.flash_bytes(*each) for each in chosen.items())
    assert evaluate(one, (0, 0, 0)).flash_bytes == (flash_bytes,)
    assert flash_bytes <= one.devices[0].flash_bytes
    (why,) = (
        kernel_reasons(plan.boards[0].kernel_choice(graph, roomy.widths), plan.boards[0], number)
        for number in sorted(plan.problem.small)[:1]
    )
    assert any("bytes more flash, which the whole network does not leave free" in each for each in why)


def test_parts_of_tight_boards_are_no_slower_than_with_small_kernels_alone(graph: Graph) -> None:
    roomy = choice_of(graph)
    board = with_flash(needed_bytes(roomy, kernels(roomy)) - 2000)
    found = []
    for optimize in (Optimize.CYCLES, Optimize.FLASH):
        settings = replace(SETTINGS, optimize=optimize)
        network = SlicedNetwork(
            shipped_table(), graph, [board, board], settings, BitWidths.all(graph, 8), input_board=0, output_board=0
        )
        best = SliceSearch(network, clock.now() + 60).run(AXES[Slices.ROWS])
        assert best is not None
        found.append(best)
    either, small = found
    assert either.is_feasible
    assert either.figures.value < 0.98 * small.figures.value
    problem = make_problem(shipped_table(), either.graph, [board, board], either.settings)
    used = zip(either.figures.flash_bytes, problem.devices, strict=True)
    assert all(own <= device.flash_bytes for own, device in used)
