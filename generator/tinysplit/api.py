"""tinysplit as a library: what a network takes on boards, from its shapes, in milliseconds.

from tinysplit import api

boards = [api.load_board("nucleo_f401re")] * 2
graph = api.load_model("model.onnx")  # or api.NetworkBuilder: trained weights are not needed
found = api.predict(graph, boards, baud=921600)
print(found.latency_s, found.energy_j, [board.flash_bytes for board in found.boards])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import Board, check_baud
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import UsageError
from tinysplit.costs.problem_builder import CostSettings, make_problem
from tinysplit.kernels.cost_table import load_cycle_table
from tinysplit.network.bit_widths import BITS
from tinysplit.network.graph import Graph
from tinysplit.onnx_import import import_model
from tinysplit.reproduce.network_builder import NetworkBuilder
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.problem import Objective
from tinysplit.split.solution import Split
from tinysplit.split.solvers.dispatch import AUTO

__all__ = ["BoardUse", "NetworkBuilder", "Prediction", "load_board", "load_model", "predict"]

DEFAULT_TIME_LIMIT_S = 1.0


@dataclass(frozen=True)
class BoardUse:
    """What a board computes and takes: `layers` count from 1, `l_s` are the seconds of its layers.

    Of the whole program, with firmware and stack: `flash_bytes` at most, `ram_bytes` at least, as the firmware keeps
    copies of constants in RAM that would be idle.
    """

    name: str
    layers: tuple[int, ...]
    l_s: float
    flash_bytes: int
    ram_bytes: int


@dataclass(frozen=True)
class Prediction:
    """The best split of a network over boards: times in seconds, joules an inference (None without an energy model).

    Latency and period are those of the generated firmware; a network on one board is the split without a cut. Copies of
    the network on several boards, which `tinysplit split --objective throughput` also tries, are left out.
    """

    latency_s: float
    period_s: float
    energy_j: float | None
    boards: tuple[BoardUse, ...]  # those that compute something, in the order in which they were given


def load_model(path: str | Path) -> Graph:
    """Read an ONNX network, with or without trained weights. Raises InputError for what is not supported."""
    return import_model(Path(path), needs_weights=False)


def predict(
    graph: Graph,
    boards: Sequence[Board],
    *,
    bits: int = CostSettings.bits,
    baud: int = CostSettings.baud,
    objective: Objective = Objective.LATENCY,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
) -> Prediction:
    """Return what the best split of `graph` over `boards`, or a part of them, takes with weights and values of `bits`.

    Weights need not be trained: their values change 8-bit kernels of Cortex-M0+ a little. Raises CheckFailedError where
    the network does not fit, UsageError for a `baud` that a board cannot generate and for arguments that make no sense.
    """
    if not boards or bits not in BITS or objective not in list(Objective):
        raise UsageError(f"boards, {BITS[0]} or {BITS[1]} bits and an objective of {', '.join(Objective)} are needed")
    for board in boards:
        check_baud(board, board.link_uarts[0], baud)
    problem = make_problem(graph, boards, CostSettings(bits=bits, baud=baud, objective=Objective(objective)))
    n_links = [len(board.link_uarts) for board in boards]
    split = solve_within_links(problem, n_links, AUTO, time_limit_s=time_limit_s)
    has_energy = all(board.known_power for board in boards)
    return Prediction(
        latency_s=split.figures.i_s,
        period_s=split.period_s,
        energy_j=split.energy_j if has_energy else None,
        boards=tuple(_use(split, boards, index) for index in sorted(set(split.assignment))),
    )


def _use(split: Split, boards: Sequence[Board], index: int) -> BoardUse:
    board, seconds = boards[index], split.figures.layer_seconds
    layers = [number for number, device in enumerate(split.assignment) if device == index]
    firmware = load_cycle_table().firmware[board.device.family]
    links_bytes = firmware.link_flash_bytes if split.cuts else 0
    return BoardUse(
        name=board.name,
        layers=tuple(number + 1 for number in layers),
        l_s=sum(seconds[number] for number in layers),
        flash_bytes=split.figures.flash_bytes[index] + firmware.flash_bytes + links_bytes,
        ram_bytes=split.figures.ram_bytes[index] + firmware.ram_bytes,
    )
