"""Problems of layers divided over boards: random ones, and one to count by hand."""

from models.distributed_networks import distributed
from tinysplit.boards.catalog import load_all
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Distributions
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.split.problem import Assignment, DeviceLimits, LayerCosts, Problem
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.topology import NETWORK_INPUT

BOARD, BAUD = "nucleo_f446re", 1_000_000  # which has three UARTs for links


def made(case: tuple[QuantizedGraph, Distributions, int]) -> tuple[Problem, Assignment]:
    """Return the problem of a drawn network, divided over boards, and the board of each part."""
    quantized, how, n_boards = case
    parts = distributed(quantized, how, n_boards)
    settings, boards = CostSettings(baud=BAUD), load_all((BOARD,) * n_boards)
    return make_problem(
        shipped_table(), parts.graph, boards, settings, BitWidths.of_quantized(parts)
    ), parts.graph.boards


def overlapping(beside_s: float = 10.0) -> Problem:
    """Two boards: layers 0 (1 s) and 2 (`beside_s`) on the first, 1 (4 s), which reads 0, on the second.

    Layer 3 (1 s) reads both. Tensors cross in 3 s; a reply takes 0.5 s; a CPU works 0.25 s for a tensor that it sends
    and for one that comes.
    """
    free, seconds = float("inf"), (1.0, 4.0, beside_s, 1.0)
    predecessors, boards = ((NETWORK_INPUT,), (0,), (0,), (1, 2)), (0, 1, 0, 0)
    layers = tuple(
        LayerCosts.alike(f"l{number}", 1, 1, 4, tuple(own if device == board else free for device in range(2)), sources)
        for number, (own, board, sources) in enumerate(zip(seconds, boards, predecessors, strict=True))
    )
    table = ((0.0, 3.0), (3.0, 0.0))
    cpu = ((0.25, 0.25),) * 5
    handoff = Handoff(
        wire_s=(table,) * 4,
        reply_s=((0.0, 0.5), (0.5, 0.0)),
        copy_s=cpu,
        send_s=cpu,
        receive_s=cpu,
        host_s=((0.0, 0.0),) * 2,
    )
    devices = tuple(DeviceLimits(name, 9, 1000) for name in "xy")
    return Problem(
        layers,
        devices,
        (table,) * 4,
        input_bytes=4,
        handoff=handoff,
        origins=(0, 1, 1, 2),
        arena_bytes=(0,) * len(devices),
    )
