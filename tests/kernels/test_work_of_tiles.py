"""The work of a layer that is computed tile by tile, once its weights have formats, is that of its tiles."""

from tinysplit.boards.catalog import load_board
from tinysplit.calibration.project import plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder


def test_groups_of_long_mac_are_those_of_a_tile() -> None:
    graph = NetworkBuilder("fused", Shape(13, 13, 16)).conv(32, (3, 3), padded=False).max_pool(2, 2).graph()
    quantized, _ = quantize_randomly(graph, 8)
    settings = CostSettings(kernels=((0, "long_mac"),))
    planned = plan_network(shipped_table(), quantized, (load_board("nucleo_h743zi"),), (0, 0), settings)
    memory, whole = planned.plan.boards[0].memory, quantized.layers[0]
    kernel, calls = memory.kernels[0], memory.calls(quantized.dequantized, 0)
    assert (kernel.name, calls) == ("long_mac", 5)
    tile = kernel.quantized_work(memory.layer(quantized.dequantized, 0), whole)
    pairs = kernel.quantized_work(whole.layer, whole)["pairs"]
    assert 0.9 * pairs <= calls * tile["pairs"] <= 1.1 * pairs  # the last row is not read
