"""Cycles of hand-offs: what inputs, outputs and tensors on links take from the cores, beside the layers.

Networks of two or three boards of one type are streamed. One of the boards computes nearly everything, so that its
layers and its hand-offs make up the period; networks whose tensors have other sizes tell the parts of the hand-offs
apart. The middle one of three boards has no host, which tells what each tensor takes however small it is. Tensors cross
whole: the time of layers would contain that of streamed rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil
from statistics import median

import numpy as np
from scipy.optimize import nnls

from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import OVERLAPPING, USUAL_DRIVER, LinkDriver, usual_driving
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.errors import ToolError
from tinysplit.common.interrupts.pool import process_pool
from tinysplit.common.protocol_limits import LINK_PAYLOAD_BYTES
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable, HandoffCosts
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.project.manifest import Project
from tinysplit_hil.calibration.virtual_boards import on_virtual_boards
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.measure.stream import stream
from tinysplit_hil.rig.rig import Rig

BAUD = 2_000_000  # or what the driver keeps up with: the line is never the slowest
SIDE = 8  # maps of 64 values
WIDE = 128  # channels of the layers that keep the board busy
# Clock in Hz for which one layer keeps a board busy beside the link.
HZ_OF_LAYER = {
    "cortex-m0": 64e6,
    "cortex-m0plus": 64e6,
    "cortex-m3": 64e6,
    "cortex-m33": 28e6,
    "cortex-m4": 28e6,
    "cortex-m7": 20e6,
}
SLOWER = 4  # times the layers beside a link of a lower rate
SAMPLES = 8
COPYING = 1.0  # cycles of a byte that is copied word by word: 4 words are loaded and stored at once
DIGITS = 3
ENDS = ("sending", "receiving")
FED_ALONE = (4, 64)  # channels of inputs
IDLE_MS = 100
TAKING_S = 0.001  # at least, for which the layers of an input last: longer than the frame that says that it was taken
MS = 1000  # in a second


@dataclass(frozen=True)
class Sizes:
    """Channels of a network's input, of the tensor between its boards, and of its output."""

    inputs: int
    cut: int
    outputs: int


AT_SENDER = (Sizes(4, 8, 1), Sizes(4, 32, 1), Sizes(4, 64, 1), Sizes(16, 8, 1))
AT_RECEIVER = (Sizes(4, 8, 1), Sizes(4, 32, 1), Sizes(4, 64, 1), Sizes(4, 8, 16))
IN_CHAIN = Sizes(4, 16, 1)
IN_THE_MIDDLE = (Sizes(4, 2, 1), Sizes(4, 8, 1), Sizes(4, 32, 1))


@dataclass(frozen=True)
class HandoffCycles:
    """Cycles of one board in a period beside its layers; the middle one of three boards receives and sends a tensor."""

    receives: bool
    sends: bool
    driver: LinkDriver
    in_bytes: int
    cut_bytes: int
    out_bytes: int
    cycles: float
    tick: float  # cycles of a millisecond in which a board only waits

    @property
    def frames(self) -> int:
        """Frames of the tensor on the link."""
        return -(-self.cut_bytes // LINK_PAYLOAD_BYTES)


def measure_handoffs(table: CycleTable, board: Board) -> list[HandoffCycles]:
    """Return the cycles of all networks on boards of a type, at both ends of a link by both drivers, between two."""
    with process_pool() as pool:
        return [*pool.results(partial(_measure, table, board), _cases())]


@dataclass(frozen=True)
class _Case:
    """A network, and whether the board that is measured receives the tensor, sends it, or both."""

    driver: LinkDriver
    sizes: Sizes
    receives: bool
    sends: bool


def _cases() -> Iterator[_Case]:
    for driver in OVERLAPPING:
        n_sizes = len(AT_SENDER) if driver is USUAL_DRIVER else 2
        for sends, sizes in ((True, AT_SENDER), (False, AT_RECEIVER)):
            yield from (_Case(driver, each, receives=not sends, sends=sends) for each in sizes[:n_sizes])
    yield from (_Case(LinkDriver.DMA, each, receives=True, sends=True) for each in IN_THE_MIDDLE)


def _measure(table: CycleTable, board: Board, case: _Case) -> HandoffCycles:
    driver, sizes, receives, sends = case.driver, case.sizes, case.receives, case.sends
    baud = min(BAUD, usual_driving(driver).highest_baud(board, board.link_uarts[0]))
    busy = ceil(board.clock.core_hz / HZ_OF_LAYER[board.device.core]) * (1 if baud == BAUD else SLOWER)
    net = NetworkBuilder("handoff", Shape(SIDE, SIDE, sizes.inputs))
    wide = [WIDE] * busy
    before, after = ([sizes.cut] if receives else []), ([sizes.cut] if sends else [])
    for channels in (*before, *wide, *after, sizes.outputs):
        net = net.conv(channels)
    quantized, x = quantize_randomly(net.graph(), 8)
    settings = CostSettings(baud=baud, link_driver=driver, hand_off=HandOffMode.WHOLE)
    boards = (board,) * (1 + receives + sends)
    number = int(receives)
    n_layers = busy + 1  # the last of them computes the tensor that is sent, or the output
    assignment = (0,) * receives + (number,) * n_layers + (number + 1,) * sends
    with on_virtual_boards(table, quantized, boards, assignment, settings) as (project, rig):
        cycles, tick = _cycles_beside_layers(project, rig, np.repeat(x, SAMPLES, axis=0), board, number + 1)
    pixels = SIDE * SIDE
    in_bytes, out_bytes = (0 if receives else sizes.inputs) * pixels, (0 if sends else sizes.outputs) * pixels
    return HandoffCycles(receives, sends, driver, in_bytes, sizes.cut * pixels, out_bytes, cycles, tick)


def _cycles_beside_layers(project: Project, rig: Rig, x: np.ndarray, board: Board, number: int) -> tuple[float, float]:
    measured = measure(project, rig, x[:1])
    period_s = stream(project, rig, x).period_s
    tick = _tick_cycles(rig)
    layers_s = sum(time.seconds.mean for time in measured.layers if time.layer.board == number)
    if period_s is None or layers_s < max(cut.estimated_s for cut in project.cuts):
        raise ToolError(f"{board.name}: the link is busy for longer than the layers, which leaves cores waiting")
    return (period_s - layers_s) * board.clock.core_hz, tick


@dataclass(frozen=True)
class FedAsleep:
    """Cycles of a board that sleeps while an input comes, beside layers and ticks; `starting`: those from START on."""

    in_bytes: int
    cycles: float
    starting: float


def measure_fed_asleep(table: CycleTable, board: Board) -> Iterator[FedAsleep]:
    """Yield the cycles of inputs of two sizes; networks take longer than the frame that says that they began."""
    for channels in FED_ALONE:
        net = NetworkBuilder("waiting", Shape(SIDE, SIDE, channels)).conv(WIDE).conv(WIDE).conv(1)
        quantized, x = quantize_randomly(net.graph(), 8)
        with on_virtual_boards(table, quantized, (board,), (0,) * len(quantized.layers)) as (project, rig):
            measured = measure(project, rig, x[:1])
            tick = _tick_cycles(rig)
        (activity,) = measured.activities
        beside_s, starting_s = (each - measured.l_s.mean for each in (activity.run_s, measured.i_s.mean))
        hz = board.clock.core_hz
        yield FedAsleep(channels * SIDE * SIDE, beside_s * hz - tick * MS * activity.sleep_s, starting_s * hz)


def measure_taking(table: CycleTable, board: Board) -> float:
    """Return the cycles by which the first half of equal layers, behind an input, is longer than the second one."""
    channels = FED_ALONE[-1]
    net = NetworkBuilder("taking", Shape(SIDE, SIDE, channels))
    for _ in range(ceil(TAKING_S * board.clock.core_hz / (SIDE * SIDE * channels))):
        net = net.max_pool(1, 1)
    quantized, x = quantize_randomly(net.graph(), 8)
    with on_virtual_boards(table, quantized, (board,), (0,) * len(quantized.layers)) as (project, rig):
        layers = [layer.cycles.mean for layer in measure(project, rig, x[:1]).layers]
    half = len(layers) // 2
    return sum(layers[:half]) - half * median(layers[half:])


def measure_resuming(table: CycleTable, board: Board) -> float:
    """Return the cycles from when a board that sleeps knows that it has a tensor until its next step.

    It is what a third board adds from START to DONE beside its layers and transfers.
    """
    return _cycles_of_chain(table, board, 3) - _cycles_of_chain(table, board, 2)


def _cycles_of_chain(table: CycleTable, board: Board, n_boards: int) -> float:
    net = NetworkBuilder("chain", Shape(SIDE, SIDE, IN_CHAIN.inputs))
    for channels in (*[IN_CHAIN.cut] * (n_boards - 1), IN_CHAIN.outputs):
        net = net.conv(channels)
    quantized, x = quantize_randomly(net.graph(), 8)
    baud = min(BAUD, usual_driving(USUAL_DRIVER).highest_baud(board, board.link_uarts[0]))
    settings = CostSettings(baud=baud, link_driver=USUAL_DRIVER, hand_off=HandOffMode.WHOLE)
    with on_virtual_boards(table, quantized, (board,) * n_boards, tuple(range(n_boards)), settings) as (project, rig):
        measured = measure(project, rig, np.repeat(x, SAMPLES, axis=0))
    return (measured.i_s.mean - measured.l_s.mean - measured.t_s.mean) * board.clock.core_hz


def _tick_cycles(rig: Rig) -> float:
    """Return the cycles that a board which does nothing runs in a millisecond, on average over boards."""
    if rig.accounts is None:
        raise ToolError("cycles of sleeping boards are counted by virtual boards only")
    before = rig.accounts()
    rig.clock.wait(IDLE_MS / MS)
    after = rig.accounts()
    ran = [after[number].ran - before[number].ran for number in before]
    return sum(ran) / len(ran) / IDLE_MS


def fit_handoffs(
    measured: Iterable[HandoffCycles], fed_asleep: Iterable[FedAsleep], resuming: float, taking: float
) -> HandoffCosts:
    """Return the costs that fit the measurements of one core best."""
    handoffs = list(measured)
    names = ["frame", "input", "output", "feeding", "reading", *(f"{end} {d}" for end in ENDS for d in OVERLAPPING)]
    rows = np.zeros((len(handoffs), len(names)))
    beyond = np.zeros(len(handoffs))
    for row, handoff in zip(rows, handoffs, strict=True):
        n_ends = handoff.receives + handoff.sends
        row[names.index("frame")] = n_ends * handoff.frames
        row[names.index("input")] = not handoff.receives
        row[names.index("output")] = not handoff.sends
        row[names.index("feeding")] = handoff.in_bytes
        row[names.index("reading")] = handoff.out_bytes
        for end, is_there in zip(ENDS, (handoff.sends, handoff.receives), strict=True):
            row[names.index(f"{end} {handoff.driver}")] = handoff.cut_bytes * is_there
    for number, handoff in enumerate(handoffs):
        n_ends = handoff.receives + handoff.sends
        beyond[number] = handoff.cycles - COPYING * (n_ends * handoff.cut_bytes + handoff.in_bytes + handoff.out_bytes)
    fitted, _ = nnls(rows, beyond)
    costs = {name: _rounded(cost) for name, cost in zip(names, fitted, strict=True)}
    few, many = fed_asleep
    more_bytes = many.in_bytes - few.in_bytes
    of_byte, checking = (many.cycles - few.cycles) / more_bytes, (many.starting - few.starting) / more_bytes
    return HandoffCosts(
        frame=costs["frame"],
        input=costs["input"],
        output=costs["output"],
        copying=COPYING,
        sending={driver: costs[f"{ENDS[0]} {driver}"] for driver in OVERLAPPING},
        receiving={driver: costs[f"{ENDS[1]} {driver}"] for driver in OVERLAPPING},
        feeding=costs["feeding"],
        reading=costs["reading"],
        starting=_rounded(few.starting - checking * few.in_bytes),
        checking=_rounded(checking - COPYING),
        taking=_rounded(taking),
        resuming=_rounded(resuming),
        tick=_rounded(sum(handoff.tick for handoff in handoffs) / len(handoffs)),
        wake=_rounded(of_byte - costs["feeding"] - COPYING),  # beyond what a byte takes while the board computes
    )


def _rounded(cost: float) -> float:
    return float(f"{max(0.0, cost):.{DIGITS}g}")
