"""Cycles that both ends add to a transfer on a link: what its time is longer than the bits on the wire.

Tensors of one frame and of two cross a link between boards of a family, and of this and the next, each whole, with each
driver: both ends add their cycles, whatever the other one is. The layers before them take longer than the reply to
START, whose interrupts would lengthen the transfer.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import USUAL_DRIVER, LinkDriver, usual_driving
from tinysplit.calibration.project import plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.choices import VIRTUAL
from tinysplit.common.interrupts.pool import process_pool
from tinysplit.common.protocol_limits import frames_of, last_frame_of
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.costs.transfers import link_seconds
from tinysplit.kernels.cost_table import CycleTable, LinkCycles
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit_hil.calibration.handoffs import COPYING
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.rig.rig import open_rig

SIDE = 8  # maps of 64 values
WIDE = 32  # channels before the tensor
SIZES = ((4, 3), (2, 4), (1, 1), (1, 7), (1, 29), (1, 61))  # stride to the tensor, its channels: 12 to 3904 bytes
DIGITS = 3


@dataclass(frozen=True)
class TransferExcess:
    """Seconds of a transfer beyond those of its bits and its copies."""

    sender: Board
    receiver: Board
    driver: LinkDriver
    n_bytes: int
    seconds: float


def measure_links(table: CycleTable, boards: Sequence[Board]) -> list[TransferExcess]:
    """Return transfers of all sizes between two of the `boards`, one of each family."""
    pairs = [*zip(boards, boards, strict=True), *zip(boards, (*boards[1:], boards[0]), strict=True)]
    cases = [(table, driver, *pair, size) for driver, pair, size in product(LinkDriver, pairs, SIZES)]
    with process_pool() as pool:
        return [*pool.results(_measure, *zip(*cases, strict=True))]


def _measure(
    table: CycleTable, driver: LinkDriver, sender: Board, receiver: Board, size: tuple[int, int]
) -> TransferExcess:
    stride, channels = size
    net = NetworkBuilder("link", Shape(SIDE, SIDE, 4)).conv(WIDE).conv(WIDE).conv(channels, stride=stride)
    quantized, x = quantize_randomly(net.conv(1).graph(), 8)
    boards = sender, receiver
    rates = (usual_driving(driver).highest_baud(board, board.link_uarts[0]) for board in boards)
    baud = min(driver.facts.calibration_baud, *rates)
    settings = CostSettings(baud=baud, hand_off=HandOffMode.WHOLE, link_driver=driver)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "out"
        project, _ = plan_network(table, quantized, boards, (0, 0, 0, 1), settings).build(folder)
        with open_rig(VIRTUAL, project, folder) as rig:
            measured = measure(project, rig, x[:1])
    n_bytes = project.cuts[0].payload_bytes
    copies_s = sum(COPYING * n_bytes / board.clock.core_hz for board in boards)
    wire_s = link_seconds(n_bytes, (sender.link_uarts[0], receiver.link_uarts[0]), driver, baud)
    return TransferExcess(sender, receiver, driver, n_bytes, measured.cuts[0].seconds.mean - wire_s - copies_s)


def fit_links(transfers: Sequence[TransferExcess]) -> dict[str, dict[str, LinkCycles]]:
    """Return the cycles at both ends that fit the measurements best, by family and driver."""
    by_driver = {
        driver: _fit([transfer for transfer in transfers if transfer.driver is driver]) for driver in LinkDriver
    }
    return {
        family: {driver.value: by_family[family] for driver, by_family in by_driver.items()}
        for family in by_driver[USUAL_DRIVER]
    }


def _fit(transfers: Sequence[TransferExcess]) -> dict[str, LinkCycles]:
    families = sorted({transfer.sender.device.family for transfer in transfers})
    names = [(family, part) for family in families for part in ("sending", "receiving", "last_frame", "joining")]
    rows = np.zeros((len(transfers), len(names)))
    for row, transfer in zip(rows, transfers, strict=True):
        sender, receiver = transfer.sender, transfer.receiver
        row[names.index((sender.device.family, "sending"))] = 1 / sender.clock.core_hz
        row[names.index((receiver.device.family, "receiving"))] = 1 / receiver.clock.core_hz
        row[names.index((receiver.device.family, "last_frame"))] = (
            last_frame_of(transfer.n_bytes) / receiver.clock.core_hz
        )
        row[names.index((receiver.device.family, "joining"))] = (
            frames_of(transfer.n_bytes) > 1
        ) / receiver.clock.core_hz
    fitted, _ = nnls(rows, np.array([transfer.seconds for transfer in transfers]))
    costs = {name: float(f"{cost:.{DIGITS}g}") for name, cost in zip(names, fitted, strict=True)}
    return {
        family: LinkCycles(**{part: cost for (own, part), cost in costs.items() if own == family})
        for family in families
    }
