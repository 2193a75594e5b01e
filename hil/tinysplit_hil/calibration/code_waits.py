"""Waits for code in flash: the cycles that a wait state adds to each part of each kernel, by family of boards.

Programs run on virtual boards with ideal memory and with that of a board. The difference is what code and its literals
wait, and constants, whose waits are computed. Layers whose straight code overflows the code cache are left out: their
waits are computed, too (`Kernel.straight_code`).
"""

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import CodeMemory
from tinysplit.boards.catalog import load_board
from tinysplit.calibration.fit import CostSample, fit
from tinysplit.calibration.networks import RANDOM_NETWORKS, calibration_networks, random_network
from tinysplit.calibration.project import PlannedNetwork, plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.choices import BIT_WIDTHS
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.interrupts.pool import process_pool
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.code_waits import code_waits
from tinysplit.kernels.cost_table import CycleTable, PartCycles
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit_hil.calibration.layers import CalibrationBench, kernel_of, run_layers

BOARDS = (  # of each family, by their wait states
    *("stm32f103ze", "nucleo_f303re", "nucleo_f446re", "nucleo_g071rb", "nucleo_l433rc_p"),
)
RANDOM_COUNT = 3  # networks besides those that were made for the calibration
DIGITS = 3  # significant digits

Waits = dict[str, dict[str, dict[str, PartCycles]]]  # by family, bits and kind


@dataclass(frozen=True)
class WaitingLayer:
    """A layer on a board: its waits, of one wait state."""

    family: str
    bits: int
    kind: str
    sample: CostSample


def code_wait_table(table: CycleTable) -> Waits:
    """Return the waits of each part, measured on networks of the calibration."""
    networks = (*calibration_networks(), *map(random_network, RANDOM_NETWORKS[:RANDOM_COUNT]))
    cases = [(table, graph, bits, name) for graph in networks for bits in BIT_WIDTHS for name in BOARDS]
    with process_pool() as workers:
        return fit_waits(
            [layer for done in workers.results(_network_waits, *zip(*cases, strict=True)) for layer in done]
        )


def _network_waits(table: CycleTable, graph: Graph, bits: int, name: str) -> list[WaitingLayer]:
    return list(measure_waits(table, *quantize_randomly(graph, bits), name))


def measure_waits(table: CycleTable, quantized: QuantizedGraph, x: IntArray, name: str) -> Iterator[WaitingLayer]:
    """Yield the layers of a network on board `name` that have no straight code, or one that fits the code cache.

    There are none if the network does not fit the board.
    """
    settings = CostSettings(code_memory=CodeMemory.FLASH)
    assignment = (0,) * len(quantized.layers)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "out"
        try:
            planned = plan_network(table, quantized, (load_board(name),), assignment, settings)
            project, _ = planned.build(folder)
        except CheckFailedError:
            return
        ideal, real = (
            run_layers(project, folder, x, CalibrationBench(has_ideal_memory=is_ideal)) for is_ideal in (True, False)
        )
    for number, cycles in ideal.items():
        if planned.plan.boards[0].memory.calls(quantized.dequantized, number - 1) == 1:
            yield from _waiting_layer(planned, number - 1, cycles, real[number])


def _waiting_layer(planned: PlannedNetwork, index: int, cycles: float, real_cycles: float) -> Iterator[WaitingLayer]:
    own = planned.plan.boards[0]
    kernel, quantized, work = kernel_of(planned, index)
    if code_waits(own.table, quantized.layer, own.board, Widths.of(quantized.formats), kernel).straight:
        return
    constants, of_constants = own.constants.get(index), 0.0
    if constants:
        of_constants = constants.copy_waits if constants.is_copied else constants.waits_in_flash
    waits = max(0.0, real_cycles - cycles - of_constants) / own.board.clock.flash_wait_states
    place = (own.board.device.family, planned.quantized.bits, kernel.cost_kind(quantized.layer))
    yield WaitingLayer(*place, CostSample(work, waits, cycles))


def fit_waits(measured: Sequence[WaitingLayer]) -> Waits:
    """Return the waits of each part."""
    groups: dict[tuple[str, int, str], list[CostSample]] = defaultdict(list)
    for layer in measured:
        groups[layer.family, layer.bits, layer.kind].append(layer.sample)
    waits: Waits = defaultdict(lambda: defaultdict(dict))
    for (family, bits, kind), samples in sorted(groups.items()):
        costs = {part: float(f"{cost:.{DIGITS}g}") for part, cost in fit(samples).items()}
        waits[family][str(bits)][kind] = PartCycles(cycles=costs)
    return {family: dict(by_bits) for family, by_bits in waits.items()}
