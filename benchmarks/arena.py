"""Arena of whole networks on one board, optimised for cycles and for RAM, compared with the lower bound.

    .venv/bin/python benchmarks/arena.py

Arena bytes include the network's input and output. Lower bound: the live buffers of the step that needs most.
Moved bytes: per inference.
"""

import argparse

from rich.console import Console

from accuracy import NETWORKS
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Optimize
from tinysplit.common.tables import plain_table
from tinysplit.memory.arena import live_bytes
from tinysplit.memory.layout import BoardMemory, Schedule
from tinysplit.memory.optimize import plan_memory
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.onnx_import import import_model

BOARDS = ("nucleo_l4r5zi", "nucleo_g071rb")
PLENTY_BYTES = 1 << 30


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    numbers = ("bits", "arena bytes", "lower bound", "moved bytes", "fused pairs")
    table = plain_table("network", "board", "optimize", numbers=numbers)
    for network in (each for each in NETWORKS if each.model.exists()):
        graph = import_model(network.model)
        for bits in (8, 16):
            for board in map(load_board, BOARDS):
                for optimize in Optimize:
                    figures = (bits, *_figures(graph, BitWidths.of(graph, bits), board, optimize))
                    table.add_row(network.name, board.name, optimize, *(f"{figure:,}" for figure in figures))
    Console().print(table)


def _figures(graph: Graph, widths: BitWidths, board: Board, optimize: Optimize) -> tuple[int, int, int, int]:
    steps = [PlanStep(StepKind.RUN, number, number) for number in range(len(graph.layers))]
    memory = plan_memory(graph, widths, board, steps, PLENTY_BYTES, optimize)
    moved_bytes = sum(widths.size_bytes(graph, move.tensor) for move in memory.moves)
    return memory.arena.size_bytes, _lower_bound(graph, widths, steps, memory), moved_bytes, len(memory.fused)


def _lower_bound(graph: Graph, widths: BitWidths, steps: list[PlanStep], memory: BoardMemory) -> int:
    schedule = Schedule(graph, widths, steps, memory.kernels, memory.fused, memory.moves)
    buffers = list(schedule.buffers())
    return max(live_bytes(buffers, buffer.first) for buffer in buffers)


if __name__ == "__main__":
    main()
