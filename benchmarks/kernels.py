"""Cycles, arena and flash of whole networks on one board, compared with CMSIS-NN; cycles of layers with lower bounds.

    .venv/bin/python benchmarks/kernels.py [--json] [--core CORE] [--board BOARD] [--bits 8|16] [--level -O3] [--layers]
                                        [--kernel NAME]

Every kernel runs on a virtual board, with ideal memory (Arm's cycle counts) and with the board's own at its highest
clock (docs/virtual_boards.md), and is compiled with the flags of the generated projects. Its output is compared with
the integer reference. Stalls are the cycles for which the core waits for code, for constants in flash (weights), and
for values in RAM.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from accuracy import CALIBRATION_COUNT, NETWORKS, Network
from bare_network import BareRun, RealMemory, build_flags, enlarged, run_bare
from tinysplit.boards.board import Board, CodeMemory
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.tables import plain_table
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import quantize_input, run_layers
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples, load_samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.constants import with_constants_in_ram
from tinysplit.plan.plan import BoardPlan, Plan, make_plan
from tinysplit.quantize.quantize_model import quantize_model
from virtual_stm32 import Stalls

BOARDS = ("nucleo_g071rb", "nucleo_l4r5zi", "nucleo_f401re", "nucleo_h743zi")


@dataclass(frozen=True)
class Peer:
    """CMSIS-NN 7, its kernels called one after the other, int8, -Ofast, under the same cycle model."""

    cycles: dict[str, int]
    ram_bytes: int


PEERS = {
    "KWS DS-CNN": Peer({"cortex-m4": 8_800_000, "cortex-m0plus": 39_970_000}, 16_160),
    "ResNet-8": Peer({"cortex-m4": 34_460_000, "cortex-m0plus": 137_300_000}, 51_456),
}

# Cycles per MAC of the inner loop with full registers and grouped loads: a lower bound for any register blocking.
LIMITS = {
    ("cortex-m4", "dual_mac", 8): (8 + 4 + 1 + 2) / 16,  # 8 SMLAD, 4 loads, the first of them longer, 2 SXTB16
    ("cortex-m4", "dual_mac", 16): (8 + 6 + 2) / 16,  # weights take twice the loads, in two groups
    ("cortex-m7", "dual_mac", 8): 8 / 16,  # one SMLAD a cycle, everything else beside it
    ("cortex-m7", "dual_mac", 16): 8 / 16,
    ("cortex-m7", "planes", 8): 3 * 8 / 36,
    ("cortex-m0plus", "packed", 8): (5 + 4 + 4 + 4) / 8,  # LDM of four words, two values, four double products, sums
    ("cortex-m0plus", "unpacked", 8): (5 + 4 + 4 + 4) / 8,
    ("cortex-m0plus", "wide", 16): (2 + 2 + 2 * (3 + 4 + 4 + 4)) / 8,  # two values, two LDM, halves, products, sums
    ("cortex-m0plus", "sliding", 8): (9 + 3 * (4 + 3 + 3)) / 9,  # three values, three LDM, products, sums
    ("cortex-m0plus", "sliding", 16): (12 + 3 * (4 + 3 + 3)) / 9,
    ("cortex-m4", "planes", 8): 3 * (8 + 5 + 1) / 36,  # a row of three taps for four outputs: 8 products, 5 loads
}


@dataclass(frozen=True)
class LayerRow:
    """One layer; `limit` is a lower bound of its cycles per MAC, None if unknown."""

    number: int
    kind: str
    output: str
    kernel: str
    cycles: int
    real_memory_cycles: int
    stalls: Stalls
    macc: int
    cycles_per_macc: float
    limit: float | None


@dataclass(frozen=True)
class Row:
    """One network on one board: `cycles` with ideal memory, and with the board's own."""

    network: str
    core: str
    board: str
    bits: int
    flags: str
    cycles: int
    real_memory_cycles: int
    macc: int
    cycles_per_macc: float
    arena_bytes: int
    flash_bytes: int
    peer_cycles: int | None
    peer_ram_bytes: int | None
    layers: tuple[LayerRow, ...]


def measure(boards: list[str], widths: list[int], level: str, name: str | None) -> Iterator[Row]:
    """Yield all rows; skips networks whose files are missing. Raises CheckFailedError for a wrong output."""
    for network in NETWORKS:
        if not network.model.exists():
            continue
        graph = import_model(network.model)
        for bits in widths:
            quantized, x = calibrated(network, graph, bits)
            integers = quantize_input(quantized, x)
            for board in boards:
                plan = plan_network(quantized, board, bits, name)
                copied = {number for number, each in plan.constants.items() if each.is_copied}
                is_in_ram = plan.code.memory is CodeMemory.RAM
                with tempfile.TemporaryDirectory() as folder:
                    run = run_bare(
                        quantized,
                        board,
                        integers,
                        Path(folder),
                        level,
                        [plan.memory.kernels[number].name for number in range(len(quantized.layers))],
                        has_real_memory=True,
                        copied=copied,
                        has_ram_code=is_in_ram,
                    )
                yield _row(network.name, board, bits, quantized, integers, run, level, plan.arena.size_bytes)


def calibrated(network: Network, graph: Graph, bits: int) -> tuple[QuantizedGraph, np.ndarray]:
    """Return the network, calibrated as in benchmarks/accuracy.py, and one input."""
    if network.samples:
        x = load_samples(network.samples, graph).x[:CALIBRATION_COUNT]
    else:
        shape = (8, *graph.sample_shape)
        x = np.random.default_rng(0).uniform(network.low, network.high, shape).astype(np.float32)
    return quantize_model(graph, network.model, Samples(x, None), bits, Console(quiet=True)).quantized, x[:1]


def _row(
    name: str,
    board: str,
    bits: int,
    quantized: QuantizedGraph,
    x: IntArray,
    run: BareRun,
    level: str,
    arena_bytes: int,
) -> Row:
    *_, expected = run_layers(quantized, x)
    core = load_board(board).device.core
    if not np.array_equal(run.output, expected.reshape(-1)):
        raise CheckFailedError(f"{name}, {bits} bits on {board}: the output is not that of the integer reference")
    if run.real is None:
        raise AssertionError("the run with real memory is missing")
    cycles, macc, peer = sum(run.cycles), quantized.graph.macc, PEERS.get(name)
    flags = [flag for flag in build_flags(load_board(board)) if flag.startswith("-O")]
    return Row(
        network=name,
        core=core,
        board=board,
        bits=bits,
        flags=level or flags[-1],
        cycles=cycles,
        real_memory_cycles=sum(run.real.cycles),
        macc=macc,
        cycles_per_macc=round(cycles / macc, 3),
        arena_bytes=arena_bytes,
        flash_bytes=run.flash_bytes,
        peer_cycles=peer.cycles.get(core) if peer and bits == 8 else None,  # noqa: PLR2004 - int8
        peer_ram_bytes=peer.ram_bytes if peer and bits == 8 else None,  # noqa: PLR2004 - int8
        layers=tuple(_layers(core, bits, run, run.real)),
    )


def _layers(core: str, bits: int, run: BareRun, real: RealMemory) -> Iterator[LayerRow]:
    rows = zip(run.kernels, run.cycles, real.cycles, real.stalls, strict=True)
    for number, (source, cycles, real_cycles, stalls) in enumerate(rows, 1):
        layer, kernel = source.quantized.layer, source.kernel.name
        rate, limit = round(cycles / max(layer.macc, 1), 2), LIMITS.get((core, kernel, bits))
        shown = round(limit, 2) if limit else None
        shape = str(layer.out_shape)
        yield LayerRow(number, layer.kind, shape, kernel, cycles, real_cycles, stalls, layer.macc, rate, shown)


def plan_network(quantized: QuantizedGraph, board_name: str, bits: int, name: str | None) -> BoardPlan:
    """Return the plan of the whole network on one board, or on one with enough memory if it does not fit."""
    graph, board = quantized.dequantized, load_board(board_name)
    named = (LayerSource.choose(layer, board.device.core, name).kernel.name for layer in quantized.layers)
    settings = CostSettings(bits=bits, kernels=tuple(enumerate(named)) if name else ())

    def plan_on(own: Board) -> Plan:
        problem = make_problem(graph, (own,), settings)
        assignment = (0,) * len(graph.layers)
        plan = make_plan(graph, bits, (own,), problem, assignment, settings.link_settings, kernels=settings.kernels)
        return with_constants_in_ram(plan, quantized)

    try:
        plan = plan_on(board)
    except CheckFailedError:
        plan = plan_on(enlarged(board))
    return plan.boards[0]


def _print_rows(console: Console, rows: list[Row]) -> None:
    numbers = ("bits", "cycles, ideal", "real memory", "MACC", "cycles/MACC", "arena", "flash", "CMSIS-NN", "its RAM")
    table = plain_table("network", "board", "flags", numbers=numbers)
    for row in rows:
        cycles = (row.cycles, row.real_memory_cycles)
        sizes = (*cycles, row.macc, row.cycles_per_macc, row.arena_bytes, row.flash_bytes)
        peers = ("" if value is None else f"{value:,}" for value in (row.peer_cycles, row.peer_ram_bytes))
        table.add_row(row.network, row.board, row.flags, str(row.bits), *(f"{size:,}" for size in sizes), *peers)
    console.print(table)


def _print_layers(console: Console, row: Row) -> None:
    stalls = ("waits: code", "weights", "values")
    numbers = ("#", "cycles, ideal", "cycles/MACC", "limit", "real memory", *stalls)
    table = plain_table("kind", "output", "kernel", numbers=numbers)
    for layer in row.layers:
        limit = "" if layer.limit is None else f"{layer.limit:.2f}"
        ideal = (str(layer.number), f"{layer.cycles:,}", f"{layer.cycles_per_macc:.2f}", limit)
        waits = (layer.stalls.code, layer.stalls.constants, layer.stalls.values)
        real = (f"{value:,}" for value in (layer.real_memory_cycles, *waits))
        table.add_row(layer.kind, layer.output, layer.kernel, *ideal, *real)
    console.print(f"\n{row.network}, {row.board}, {row.bits} bits, {row.flags}", highlight=False)
    console.print(table)


def main() -> None:
    """Print one row per network, core and bit width, and optionally a table of its layers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON, layers included, instead of tables")
    cores = sorted({load_board(name).device.core for name in BOARDS})
    parser.add_argument("--core", choices=cores, action="append", help="only this core; repeat for several")
    parser.add_argument("--board", choices=BOARDS, action="append", help="only this board; repeat for several")
    parser.add_argument("--bits", type=int, choices=(8, 16), action="append", help="only this bit width")
    parser.add_argument("--level", default="", help="optimisation level of GCC, as in -O3")
    parser.add_argument("--kernel", help="kernel or scheme for every layer that supports it, as in winograd")
    parser.add_argument("--layers", action="store_true", help="print the layers of every network")
    options = parser.parse_args()
    boards = [name for name in options.board or BOARDS if load_board(name).device.core in (options.core or cores)]
    rows = list(measure(boards, options.bits or [8, 16], options.level, options.kernel))
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    console = Console(width=140)
    _print_rows(console, rows)
    for row in rows if options.layers else []:
        _print_layers(console, row)


if __name__ == "__main__":
    main()
