"""Waits for code in flash: the cycles that a wait state adds to each part of each kernel, by family of boards.

The calibration networks run with ideal memory and with that of a board, and all constants are copied to RAM, so that
the difference is what code and its literals wait, and what the copy reads. Layers whose straight code overflows the
code cache are left out: their waits are computed (`Kernel.straight_code`).
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bare_network import run_bare
from calibration_networks import RANDOM_NETWORKS, calibration_networks, random_network
from measured_layers import quantize_randomly
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.kernels.code_waits import code_waits
from tinysplit.kernels.cost_table import PartCosts, Sample, fit
from tinysplit.memory.constants_in_ram import FlashWaits, LayerConstants
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph

BOARDS = ("nucleo_f446re", "nucleo_g071rb", "nucleo_l433rc_p")  # of each family, by their wait states
RANDOM_COUNT = 3  # networks besides those that were made for the calibration
DIGITS = 3  # significant digits

Waits = dict[str, dict[str, dict[str, PartCosts]]]  # by family, bits and kind


@dataclass(frozen=True)
class WaitingLayer:
    """A layer on a board: its waits, of one wait state."""

    family: str
    bits: int
    sample: Sample


def code_wait_table(console: Console) -> Waits:
    """Return the waits of each part, measured on networks of the calibration."""
    networks = (*calibration_networks(), *map(random_network, RANDOM_NETWORKS[:RANDOM_COUNT]))
    with ProcessPoolExecutor() as workers:
        cases = [(graph, bits, name) for graph in networks for bits in (8, 16) for name in BOARDS]
        running = [workers.submit(_network_waits, *case) for case in cases]
        for number, done in enumerate(running, 1):
            graph, bits, name = cases[number - 1]
            done.result()
            console.print(f"{graph.name}, {bits} bits, waits on {name}", highlight=False)
        return fit_waits([layer for done in running for layer in done.result()])


def _network_waits(graph: Graph, bits: int, name: str) -> list[WaitingLayer]:
    return list(measure_waits(*quantize_randomly(graph, bits), name))


def measure_waits(quantized: QuantizedGraph, x: IntArray, name: str) -> Iterator[WaitingLayer]:
    """Yield the layers of a network on board `name` that have no straight code, or one that fits the code cache."""
    board = load_board(name)
    with tempfile.TemporaryDirectory() as folder:
        everything = range(len(quantized.layers))
        run = run_bare(quantized, name, x, Path(folder), has_real_memory=True, copied=everything)
    if run.real is None:
        raise AssertionError("the run with real memory is missing")
    for source, cycles, real_cycles in zip(run.kernels, run.cycles, run.real.cycles, strict=True):
        waits = real_cycles - cycles - _copying(source, board)
        yield from _waiting_layer(source, board, quantized.bits, cycles, max(0.0, waits))


def _copying(source: LayerSource, board: Board) -> float:
    sizes = {name: array.nbytes for name, array in source.constants.items()}
    return FlashWaits.of(board).copying(LayerConstants(sizes, 0))


def _waiting_layer(source: LayerSource, board: Board, bits: int, cycles: int, waits: float) -> Iterator[WaitingLayer]:
    kernel, layer, widths = source.kernel, source.quantized.layer, Widths.of(source.quantized.formats)
    if not code_waits(layer, board, widths, kernel).straight:
        work = kernel.exact_work(kernel.work(layer, widths), source.quantized)
        sample = Sample(kernel.cost_kind(layer), work, waits / board.clock.flash_wait_states, cycles)
        yield WaitingLayer(board.device.family, bits, sample)


def fit_waits(measured: Sequence[WaitingLayer]) -> Waits:
    """Return the waits of each part."""
    groups: dict[tuple[str, int], list[Sample]] = defaultdict(list)
    for layer in measured:
        groups[layer.family, layer.bits].append(layer.sample)
    found: Waits = defaultdict(dict)
    for (family, bits), samples in sorted(groups.items()):
        fitted = sorted(fit(samples).items())
        found[family][str(bits)] = {kind: PartCosts(cycles=_rounded(costs)) for kind, costs in fitted}
    return dict(found)


def _rounded(costs: Mapping[str, float]) -> dict[str, float]:
    return {part: float(f"{cost:.{DIGITS}g}") for part, cost in costs.items()}
