"""Cycles that both ends add to a transfer on a link: what its time is longer than the bits on the wire.

Tensors of three sizes cross a link to and fro, each whole, with each driver, between a board of each series and
`PARTNER`: both ends add their cycles, whatever the other one is. The layers before them take longer than the reply to
START, whose interrupts would lengthen the transfer. It differs from run to run where the DMA's ring interrupts, and so
whether the receiver of a short tensor sleeps at its end: most do, so that the upper quartile tells what that takes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median

import numpy as np
from scipy.optimize import nnls

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import USUAL_DRIVER, LinkDriver, usual_driving
from tinysplit.boards.link_rates import SHORT_WIRES_BAUD, fastest_rate
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.interrupts.pool import process_pool
from tinysplit.common.protocol_limits import BITS_PER_BYTE
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.costs.transfers import chunks_of, hidden_seconds, idle_seconds, sleeping_share, wire_seconds
from tinysplit.kernels.cost_table import CycleTable, LinkCycles
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit_hil.calibration.handoffs import COPYING
from tinysplit_hil.calibration.virtual_boards import on_virtual_boards
from tinysplit_hil.measure.measure import CutTime, measure

PARTNER = "nucleo_g0b1re"
SIDE = 8  # maps of 64 values
SIZES = ((1, 24), (1, 8), (2, 3))  # stride to a tensor, its channels: 1536, 512 and 48 bytes
WIDE = 16  # channels of the layers between
HZ_OF_LAYER = 100e6  # clock for which one more of them keeps a board busy until its reply has left
SAMPLES = 16
UPPER = 0.75  # quantile
DIGITS = 3
EQUAL = 40  # weight of seconds beside relative errors: for costs that are not determined otherwise


@dataclass(frozen=True)
class Transfer:
    """A tensor on a link, which crossed it in these `times` in seconds."""

    sender: Board
    receiver: Board
    driver: LinkDriver
    baud: int
    n_bytes: int
    times: tuple[float, ...]

    @property
    def is_short(self) -> bool:
        """Whether the receiver may sleep at the end, where DMA moves the bytes."""
        uart = self.receiver.link_uarts[0]
        return self.driver.facts.uses_dma and sleeping_share(self.n_bytes, uart, self.driver, self.baud) > 0

    @property
    def seconds(self) -> float:
        """The mean time; of short tensors that of receivers that sleep."""
        return float(np.quantile(self.times, UPPER) if self.is_short else np.mean(self.times))

    @property
    def excess_s(self) -> float:
        """Seconds beyond those of the bits and the copies."""
        sent, received = self.sender.link_uarts[0], self.receiver.link_uarts[0]
        idle_s = idle_seconds(self.n_bytes, received, self.driver, self.baud)
        if self.is_short:
            idle_s = BITS_PER_BYTE / received.actual_baud(self.baud)
        copies_s = sum(COPYING * self.n_bytes / board.clock.core_hz for board in (self.sender, self.receiver))
        return self.seconds - wire_seconds(self.n_bytes, sent, self.baud) - idle_s - copies_s


def measure_links(table: CycleTable, boards: Sequence[Board]) -> list[Transfer]:
    """Return transfers of all sizes, both ways, between each of the `boards`, one of each series, and `PARTNER`."""
    partner = load_board(PARTNER)
    cases = [(table, driver, (board, partner)) for driver, board in product(LinkDriver, boards)]
    with process_pool() as pool:
        return [transfer for each in pool.results(_measure, *zip(*cases, strict=True)) for transfer in each]


def to_and_fro(boards: Sequence[Board]) -> tuple[Graph, tuple[int, ...]]:
    """Return a network whose tensors of all sizes cross from the first board to the second and back; its assignment."""
    net, assignment = NetworkBuilder("links", Shape(SIDE, SIDE, 4)), []
    for stride, channels in SIZES:
        for number, board in enumerate(boards):
            n_busy = 1 + int(board.clock.core_hz // HZ_OF_LAYER)
            for index in range(n_busy):
                net = net.conv(WIDE, stride=stride if index == number == 0 else 1)
            net = net.conv(channels)
            assignment += [number] * (n_busy + 1)
    return net.conv(1).graph(), (*assignment, 0)


def _measure(table: CycleTable, driver: LinkDriver, boards: tuple[Board, Board]) -> list[Transfer]:
    graph, assignment = to_and_fro(boards)
    quantized, x = quantize_randomly(graph, 8)
    rates = (usual_driving(driver).highest_baud(board, board.link_uarts[0]) for board in boards)
    baud = min(driver.facts.calibration_baud, fastest_rate(*boards) or SHORT_WIRES_BAUD, *rates)
    settings = CostSettings(baud=baud, hand_off=HandOffMode.WHOLE, link_driver=driver)
    with on_virtual_boards(table, quantized, boards, assignment, settings) as (project, rig):
        measured = measure(project, rig, np.repeat(x, SAMPLES, axis=0))
    return [_transfer(boards, driver, baud, time) for time in measured.cuts]


def _transfer(boards: tuple[Board, Board], driver: LinkDriver, baud: int, time: CutTime) -> Transfer:
    sender, receiver = (boards[number - 1] for number in (time.cut.from_board, time.cut.to_board))
    return Transfer(sender, receiver, driver, baud, time.cut.payload_bytes, tuple(time.seconds.values))


def fit_links(transfers: Sequence[Transfer]) -> dict[str, dict[str, LinkCycles]]:
    """Return the cycles at both ends that fit the times of transfers best, by series and driver."""
    by_driver = {
        driver: _fit([transfer for transfer in transfers if transfer.driver is driver]) for driver in LinkDriver
    }
    return {
        series: {driver.value: by_series[series] for driver, by_series in by_driver.items()}
        for series in by_driver[USUAL_DRIVER]
    }


def _fit(transfers: Sequence[Transfer]) -> dict[str, LinkCycles]:
    """Return the costs of one driver: those of relative errors of long tensors, and what short ones take beyond them.

    Of how soon a core restarts DMA the times tell nothing while the UART has bytes: it is not taken for sooner.
    """
    all_series = sorted({board.device.series for each in transfers for board in (each.sender, each.receiver)})
    names = [(series, part) for series in all_series for part in ("sending", "receiving", "restarting")]
    rows = np.array([[_seconds_of_cycles(transfer).get(name, 0.0) for name in names] for transfer in transfers])
    weights = np.array([0.0 if transfer.is_short else 1 / transfer.seconds for transfer in transfers])
    excess_s = np.array([transfer.excess_s for transfer in transfers])
    # Seconds of all senders and those of all receivers can change places: of these the costs that are least unequal.
    fitted, _ = nnls(
        np.vstack([rows * weights[:, None], EQUAL * np.diag(np.abs(rows).max(axis=0))]),
        np.concatenate([excess_s * weights, np.zeros(len(names))]),
    )
    cycles: dict[tuple[str, str], list[float]] = {name: [cost] for name, cost in zip(names, fitted, strict=True)}
    for transfer, beyond_s in zip(transfers, excess_s - rows @ fitted, strict=True):
        sender, receiver = transfer.sender, transfer.receiver
        if transfer.is_short:
            slept = max(0.0, beyond_s) * receiver.clock.core_hz
            cycles.setdefault((receiver.device.series, "sleeping"), []).append(slept)
        elif transfer.driver.facts.uses_dma:
            hidden_s = hidden_seconds(sender.link_uarts[0], transfer.baud)
            name = sender.device.series, "restarting"
            cycles[name] = [fitted[names.index(name)] + hidden_s * sender.clock.core_hz]
    costs = {name: float(f"{median(values):.{DIGITS}g}") for name, values in cycles.items()}
    return {
        series: LinkCycles(**{part: cost for (own, part), cost in costs.items() if own == series})
        for series in all_series
    }


def _seconds_of_cycles(transfer: Transfer) -> dict[tuple[str, str], float]:
    """Return the seconds of one cycle of each cost of a transfer, by series and part."""
    sender, receiver, driver = transfer.sender, transfer.receiver, transfer.driver
    chunks = chunks_of(transfer.n_bytes, driver) if driver.facts.uses_dma else 0.0
    return {
        (sender.device.series, "sending"): 1 / sender.clock.core_hz,
        (receiver.device.series, "receiving"): 1 / receiver.clock.core_hz,
        (sender.device.series, "restarting"): chunks / sender.clock.core_hz,
    }
