"""Constants in idle RAM of planned boards: as the memories shrink, fewer layers have a copy, and nothing overlaps."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console

from example_folders.example import MODEL
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels import TABLE_ERROR
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.constants_in_ram import ByteRange
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.constants import with_constants_in_ram
from tinysplit.plan.plan import BoardPlan, make_plan
from tinysplit.quantize.quantize_model import quantize_model

G0 = load_board("nucleo_g071rb")
SECOND_CONV = 2
RAM_BYTES = (36864, 24576, 16384, 12288)


@pytest.fixture(scope="module")
def quantized() -> QuantizedGraph:
    graph = import_model(MODEL)
    x = np.random.default_rng(0).random((8, *graph.sample_shape), dtype=np.float32)
    return quantize_model(graph, MODEL, Samples(x), 8, Console(quiet=True)).quantized


def with_ram(ram_bytes: int) -> Board:
    ram = (replace(G0.device.ram[0], size_bytes=ram_bytes),)
    return replace(G0, device=replace(G0.device, ram=ram))


def plan(quantized: QuantizedGraph, board: Board) -> BoardPlan:
    graph, settings = quantized.dequantized, CostSettings()
    problem = make_problem(shipped_table(), graph, (board,), settings)
    whole = make_plan(
        shipped_table(), graph, 8, (board,), problem, (0,) * len(graph.layers), settings.link_settings_on((board,))
    )
    return with_constants_in_ram(whole, quantized).boards[0]


def test_less_ram_means_fewer_copies_another_kernel_and_no_fewer_cycles(quantized: QuantizedGraph) -> None:
    boards = [with_ram(ram_bytes) for ram_bytes in RAM_BYTES]
    plans = [plan(quantized, board) for board in boards]
    copied = [sum(each.is_copied for each in own.constants.values()) for own in plans]
    assert copied == sorted(copied, reverse=True)
    assert copied[0] > copied[-1]
    kernels = [own.memory.kernels[SECOND_CONV].name for own in plans]
    assert kernels == ["packed", "packed", "unpacked_8k", "unpacked"]  # which reads flash once, and needs no copy
    problems = (make_problem(shipped_table(), quantized.dequantized, (board,), CostSettings()) for board in boards)
    seconds = [sum(layer.seconds[0] for layer in problem.layers) for problem in problems]
    assert all(after > before * (1 - TABLE_ERROR) for before, after in pairwise(seconds))


@pytest.mark.parametrize("ram_bytes", RAM_BYTES)
def test_copies_take_bytes_that_are_free(quantized: QuantizedGraph, ram_bytes: int) -> None:
    board_plan = plan(quantized, with_ram(ram_bytes))
    assert board_plan.stages_begin_bytes <= board_plan.constants_space.end
    stages = ByteRange(board_plan.stages_begin_bytes, board_plan.arena_bytes)
    for number, own in board_plan.constants.items():
        if own.is_copied:
            begin = min(own.offsets.values())
            used = (*board_plan.memory.in_use[number], stages)
            assert all(own.end_bytes <= each.begin or begin >= each.end for each in used)


def test_two_fused_layers_have_their_copies_beside_each_other(quantized: QuantizedGraph) -> None:
    board_plan = plan(quantized, G0)
    memory, placed = board_plan.memory, board_plan.constants
    copies = [(number, own) for number, own in placed.items() if own.is_copied]
    together = [
        (one, other)
        for first, one in copies
        for second, other in copies
        if first < second and memory.in_use[first] is memory.in_use[second]
    ]
    assert all(a.end_bytes <= min(b.offsets.values()) or b.end_bytes <= min(a.offsets.values()) for a, b in together)
