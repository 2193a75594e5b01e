"""Constants in RAM of tiles of one layer: a tile reads the copy of another one where both have the same bytes."""

import numpy as np

from models.distributed_networks import quantized_randomly
from tinysplit.boards.catalog import load_board
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_distribution import distribute_quantized
from tinysplit.plan.constants import with_constants_in_ram
from tinysplit.plan.plan import make_plan
from tinysplit.slices.links import with_links

BOARDS = (load_board("nucleo_l452re"),) * 3
HEIGHTS = (4, 6, 4)  # of the tiles; each row at a border is a tile of its own
WIDTH, CHANNELS = 5, 64


def test_a_tile_reads_the_copy_of_another_one_only_where_their_constants_are_equal() -> None:
    net = NetworkBuilder("tiles", Shape(sum(HEIGHTS), WIDTH, 1)).conv(CHANNELS, (3, 3)).depthwise().conv(CHANNELS)
    whole = quantized_randomly(net.graph(), 8, seed=0)
    tiles = (Distribution.of_sizes(SliceAxis.ROWS, HEIGHTS),) * len(whole.graph.layers)
    how = Distributions(tiles, 0, 0, frozenset(range(len(tiles))))
    parts = distribute(whole.graph, how, len(BOARDS), BitWidths.of_quantized(whole))
    own = distribute_quantized(whole, parts)
    settings, widths = with_links(CostSettings(), BOARDS, (0, 1, 2), 0), BitWidths.of_quantized(own)
    problem = make_problem(shipped_table(), parts, BOARDS, settings, widths)
    links = settings.link_settings_on(BOARDS)
    plan = make_plan(shipped_table(), own.dequantized, widths, BOARDS, problem, parts.boards, links)
    readers, turned = 0, set()
    for board in with_constants_in_ram(plan, own).boards:
        kernels, placed = board.memory.kernels, board.constants
        copies = {each: kernels[each].constants(own.layers[each]) for each, where in placed.items() if where.is_copied}
        for number in (each for each in copies if placed[each].is_reused):
            alike = [each for each in parts.siblings(number) if each in copies and not placed[each].is_reused]
            owner = next(each for each in alike if placed[each].offsets == placed[number].offsets)
            assert all(np.array_equal(values, copies[owner][name]) for name, values in copies[number].items())
            readers += 1
        planes = [each for each in kernels if kernels[each].name == "planes"]
        turned |= {(board.index, kernels[each].packing(own.layers[each].layer)) for each in planes}
    assert readers
    assert {(1, False), (1, True)} <= turned
