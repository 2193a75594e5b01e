"""Bytes of flash and RAM of the firmware beside layers, by family of boards."""

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.build.report import BuildReport
from tinysplit.calibration.networks import calibration_networks
from tinysplit.calibration.program_bytes import program_parts
from tinysplit.calibration.project import plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.choices import BIT_WIDTHS
from tinysplit.common.interrupts.pool import process_pool
from tinysplit.common.units import KB
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable, FirmwareBytes
from tinysplit.network.quantized_graph import QuantizedGraph

FAMILIES = (  # one board each
    *("nucleo_g071rb", "nucleo_f303re", "nucleo_f401re", "nucleo_f767zi", "nucleo_l452re", "nucleo_g474re"),
    "nucleo_h743zi",
)
NETWORKS = 3  # number of small networks
BAUD = 1_000_000
FLASH_MARGIN_BYTES = 512  # kernels of other shapes may be larger
FLASH_STEP_BYTES = 64


def firmware_bytes(table: CycleTable) -> dict[str, FirmwareBytes]:
    """Return what the firmware takes of each family: alone and for links at most, and the bytes of its parts."""
    boards = list(map(load_board, FAMILIES))
    with process_pool() as pool:
        found = [*pool.results(partial(_bytes_on, table), boards)]
    return {board.device.family: own for board, own in zip(boards, found, strict=True)}


def _bytes_on(table: CycleTable, board: Board) -> FirmwareBytes:
    networks = [quantize_randomly(*each)[0] for each in product(calibration_networks()[:NETWORKS], BIT_WIDTHS)]
    alone = [size for each in networks for size in _sizes(table, each, (board,))]
    linked = [size for each in networks for size in _sizes(table, each, (board, board))]
    flash_bytes, linked_bytes = (
        _rounded_up([flash + FLASH_MARGIN_BYTES for flash, _ in sizes], FLASH_STEP_BYTES) for sizes in (alone, linked)
    )
    ram_bytes = _rounded_up([ram for _, ram in alone], KB)
    flash_parts, ram_parts = program_parts(table, board)
    return FirmwareBytes(
        flash_bytes=flash_bytes,
        ram_bytes=ram_bytes,
        link_flash_bytes=linked_bytes - flash_bytes,
        flash_parts=flash_parts,
        ram_parts=ram_parts,
    )


def _sizes(table: CycleTable, quantized: QuantizedGraph, boards: Sequence[Board]) -> Iterator[tuple[int, int]]:
    """Yield flash and RAM beside the layers of each board, among which these are divided equally."""
    count = len(quantized.layers)
    assignment = tuple(number * len(boards) // count for number in range(count))
    with tempfile.TemporaryDirectory() as name:
        planned = plan_network(table, quantized, boards, assignment, CostSettings(baud=BAUD))
        _, report = planned.build(Path(name) / "out")
    return _beside_layers(report)


def _beside_layers(report: BuildReport) -> Iterator[tuple[int, int]]:
    for built in report.boards:
        sizes = built.sizes
        kernels = sum(sizes.layer_code_bytes.values()) + sum(sizes.shared_code_bytes.values())
        ram_bytes = sum(use.used_bytes for use in sizes.ram) - sizes.arena_bytes - sizes.ram_code_bytes
        yield sizes.code_bytes - kernels, ram_bytes


def _rounded_up(sizes: Sequence[int], step: int) -> int:
    """Return the largest, rounded up: tables of the schedule add some bytes per layer."""
    return -(-max(sizes) // step) * step
