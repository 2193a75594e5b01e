"""Decrypted constants of planned boards: parts of a layer share one place, and what has no room is named."""

import numpy as np
import pytest
from rich.console import Console

from example_folders.example import MODEL
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.constants_in_ram import Decrypted
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.quantized_distribution import distribute_quantized
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.decryption import with_decrypted_constants
from tinysplit.plan.plan import Plan, make_plan
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.slices.links import with_links

BOARDS = (load_board("nucleo_f446re"),) * 2
ROUNDS = 10


@pytest.fixture(scope="module")
def divided() -> tuple[Plan, QuantizedGraph]:
    """Return a plan of Tiny-CNN, whose convolutions are divided by rows, of which each board computes some apart."""
    graph = import_model(MODEL)
    x = np.random.default_rng(0).random((8, *graph.sample_shape), dtype=np.float32)
    quantized = quantize_model(graph, MODEL, Samples(x), 8, Console(quiet=True)).quantized
    heights = [layer.out_shape.height for layer in graph.layers]
    n_divided = next(index for index, height in enumerate(heights) if height == 1)
    tiles = [
        Distribution.of_sizes(SliceAxis.ROWS, (height - height // 2, height // 2)) for height in heights[:n_divided]
    ]
    whole = [Distribution.whole(layer.out_shape, 0, 2) for layer in graph.layers[n_divided:]]
    how = Distributions((*tiles, *whole), 0, 0, frozenset(range(n_divided)))
    parts = distribute(graph, how, 2, BitWidths.of_quantized(quantized))
    own = distribute_quantized(quantized, parts)
    settings, widths = with_links(CostSettings(), BOARDS, (0, 1), 0), BitWidths.of_quantized(own)
    problem = make_problem(shipped_table(), parts, BOARDS, settings, widths)
    return make_plan(
        shipped_table(), own.dequantized, widths, BOARDS, problem, parts.boards, settings.link_settings_on(BOARDS)
    ), own


def free_bytes(plan: Plan) -> int:
    board_plan = plan.boards[0]
    return board_plan.constants_space.end - board_plan.stages_begin_bytes


def test_parts_of_a_layer_decrypt_their_constants_once(divided: tuple[Plan, QuantizedGraph]) -> None:
    plan, quantized = divided
    placed = with_decrypted_constants(plan, quantized, ROUNDS, free_bytes(plan) - 12_000)
    reused = [(board, number) for board in placed.boards for number, own in board.constants.items() if own.is_reused]
    assert reused
    for board, number in reused:
        own = board.constants[number]
        assert (own.decrypted, own.cost_cycles) == (Decrypted.EACH_TIME, 0)
        same = [each for each in quantized.graph.siblings(number) if each in board.constants]
        assert {tuple(board.constants[each].offsets.items()) for each in same} == {tuple(own.offsets.items())}
        begin = min(own.offsets.values())
        in_use = (each for sibling in same for each in board.memory.in_use[sibling])
        assert all(own.end_bytes <= each.begin or begin >= each.end for each in in_use)


def test_what_has_no_room_is_named(divided: tuple[Plan, QuantizedGraph]) -> None:
    plan, quantized = divided
    with pytest.raises(CheckFailedError, match=r"14208 bytes of decrypted weights of layer 5 'conv3.*' do not fit"):
        with_decrypted_constants(plan, quantized, ROUNDS, free_bytes(plan) - 1000)
    with pytest.raises(CheckFailedError, match="leaves no RAM to decrypt weights, which takes 999999 bytes besides"):
        with_decrypted_constants(plan, quantized, ROUNDS, 999_999)
