"""Cycles that both ends add to a transfer on a link: what its time is longer than the bits on the wire.

Tensors of one frame and of two cross a link between boards of every pair of cores, each whole, with each driver.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.calibration.project import plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.protocol_limits import frames_of, last_frame_of
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.costs.transfers import link_seconds
from tinysplit.kernels.cost_table import LinkCosts
from tinysplit.network.layers import Shape
from tinysplit.reproduce.network_builder import NetworkBuilder
from tinysplit_hil.calibration.handoffs import COPYING
from tinysplit_hil.measure import measure
from tinysplit_hil.rig import VIRTUAL, open_rig

SIDE = 8  # maps of 64 values
CHANNELS = (1, 7, 29, 61)  # of the tensor: 64 to 3904 bytes
BAUDS = {LinkDriver.DMA: 921_600, LinkDriver.INTERRUPT: 115_200, LinkDriver.POLLING: 57_600}
DIGITS = 3


@dataclass(frozen=True)
class TransferExcess:
    """Seconds of a transfer beyond those of its bits and its copies."""

    sender: Board
    receiver: Board
    driver: LinkDriver
    n_bytes: int
    seconds: float


def measure_links(boards: Mapping[str, Board]) -> Iterator[TransferExcess]:
    """Yield transfers of all sizes between all pairs of `boards`, which are named by their cores."""
    for driver, sender, receiver, channels in product(BAUDS, boards.values(), boards.values(), CHANNELS):
        yield _measure(sender, receiver, driver, channels)


def _measure(sender: Board, receiver: Board, driver: LinkDriver, channels: int) -> TransferExcess:
    quantized, x = quantize_randomly(NetworkBuilder("link", Shape(SIDE, SIDE, 4)).conv(channels).conv(1).graph(), 8)
    boards = sender, receiver
    settings = CostSettings(baud=BAUDS[driver], hand_off=HandOffMode.WHOLE, link_driver=driver)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "out"
        project, _ = plan_network(quantized, boards, (0, 1), settings).build(folder)
        with open_rig(VIRTUAL, project, folder) as rig:
            measured = measure(project, rig, x[:1])
    n_bytes = project.cuts[0].payload_bytes
    copies_s = sum(COPYING * n_bytes / board.clock.core_hz for board in boards)
    wire_s = link_seconds(n_bytes, (sender.link_uarts[0], receiver.link_uarts[0]), driver, BAUDS[driver])
    return TransferExcess(sender, receiver, driver, n_bytes, measured.cuts[0].seconds.mean - wire_s - copies_s)


def fit_links(measured: Iterable[TransferExcess]) -> dict[str, dict[str, LinkCosts]]:
    """Return the cycles of each core at both ends that fit the measurements best, by core and driver."""
    found = list(measured)
    by_driver = {driver: _fit([each for each in found if each.driver is driver]) for driver in BAUDS}
    return {core: {driver.value: own[core] for driver, own in by_driver.items()} for core in by_driver[LinkDriver.DMA]}


def _fit(found: Sequence[TransferExcess]) -> dict[str, LinkCosts]:
    cores = sorted({each.sender.device.core for each in found})
    names = [(core, part) for core in cores for part in ("sending", "receiving", "last_frame", "joining")]
    rows = np.zeros((len(found), len(names)))
    for row, each in zip(rows, found, strict=True):
        sender, receiver = each.sender, each.receiver
        row[names.index((sender.device.core, "sending"))] = 1 / sender.clock.core_hz
        row[names.index((receiver.device.core, "receiving"))] = 1 / receiver.clock.core_hz
        row[names.index((receiver.device.core, "last_frame"))] = last_frame_of(each.n_bytes) / receiver.clock.core_hz
        row[names.index((receiver.device.core, "joining"))] = (frames_of(each.n_bytes) > 1) / receiver.clock.core_hz
    fitted, *_ = np.linalg.lstsq(rows, np.array([each.seconds for each in found]), rcond=None)
    costs = {name: float(f"{max(0.0, cost):.{DIGITS}g}") for name, cost in zip(names, fitted, strict=True)}
    return {core: LinkCosts(**{part: cost for (own, part), cost in costs.items() if own == core}) for core in cores}
