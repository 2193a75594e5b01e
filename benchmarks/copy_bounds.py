"""Cycles that copies and waits take in plans: what DMA or circular buffers could save at most.

    .venv/bin/python benchmarks/copy_bounds.py [--json] [--board BOARD] [--bits 8|16]

Of each network on one board, as planned: copies of constants to RAM, which DMA could make while the layer before is
computed; waits for tensors that do not lie next to the core, which DMA could prefetch by rows; moves of rows between
the tiles of fused layers, which circular buffers do without. All are predictions; percent of the predicted cycles.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from rich.console import Console

from accuracy import NETWORKS
from kernels import BOARDS, calibrated, plan_network
from tinysplit.common.alignment import WORD_BYTES
from tinysplit.common.tables import plain_table
from tinysplit.memory.arena import NEAR_BEGIN
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.memory.layout import MOVE_CYCLES
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.onnx_import import import_model
from tinysplit.plan.plan import BoardPlan


@dataclass(frozen=True)
class Bounds:
    """Predicted cycles of a network on a board: of all layers, and of what could be hidden or saved at most."""

    network: str
    board: str
    bits: int
    cycles: float
    copies: float
    waits: float
    moves: float


def bounds(boards: list[str], widths: list[int]) -> Iterator[Bounds]:
    """Yield the bounds of all networks whose files are there."""
    for network in NETWORKS:
        if not network.model.exists():
            continue
        graph = import_model(network.model)
        for bits in widths:
            quantized, _ = calibrated(network, graph, bits)
            for board in boards:
                plan = plan_network(quantized, board, bits, None)
                yield _bounds(network.name, quantized.dequantized, plan, bits)


def _bounds(name: str, graph: Graph, plan: BoardPlan, bits: int) -> Bounds:
    choice, memory = KernelChoice(graph, BitWidths.all(graph, bits), plan.board), plan.memory
    far = (key for key, offset in plan.arena.offsets.items() if offset < NEAR_BEGIN)
    return Bounds(
        network=name,
        board=plan.board.name,
        bits=bits,
        cycles=sum(choice.cycles(number, kernel) for number, kernel in memory.kernels.items()),
        copies=sum(each.cost_cycles for each in plan.constants.values() if each.is_copied),
        waits=sum(memory.waits.get(key, 0.0) for key in far),
        moves=sum(_moves(graph, plan, producer, bits) for producer in memory.fused),
    )


def _moves(graph: Graph, plan: BoardPlan, producer: int, bits: int) -> float:
    """Return the cycles of moving the rows that the next tile of two fused layers needs."""
    rows, (_, width, channels) = plan.memory.fused[producer], graph.layers[producer].out_shape
    row_words = width * channels * bits / 8 / WORD_BYTES
    return MOVE_CYCLES * rows.tiles * rows.halo_rows * row_words


def main() -> None:
    """Print one row per network, board and width."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.add_argument("--board", choices=BOARDS, action="append", help="only this board; repeat for several")
    parser.add_argument("--bits", type=int, choices=(8, 16), action="append", help="only this bit width")
    options = parser.parse_args()
    found = list(bounds(options.board or list(BOARDS), options.bits or [8, 16]))
    if options.json:
        print(json.dumps([asdict(each) for each in found], indent=2))
        return
    table = plain_table("network", "board", numbers=("bits", "cycles", "copies", "%", "waits", "%", "moves", "%"))
    for own in found:
        parts = ((f"{part:,.0f}", f"{100 * part / own.cycles:.2f}") for part in (own.copies, own.waits, own.moves))
        table.add_row(
            own.network, own.board, str(own.bits), f"{own.cycles:,.0f}", *(text for each in parts for text in each)
        )
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
