"""Costs that are not those of generated firmware, by name: entry points of the group `tinysplit.cost_models`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinysplit.boards.board import Board
from tinysplit.common.extensions import load_extension
from tinysplit.split.problem import Period, Problem

if TYPE_CHECKING:
    from tinysplit.kernels.cost_table import CycleTable  # which takes long, and settings have to be imported fast
    from tinysplit.network.graph import Graph


@dataclass(frozen=True)
class CostModel:
    """How such costs become a problem of whole layers, at a baud rate, and which rate and period are meant by default.

    Of the cost table, the currents of boards still count. `note` is what users are to know of its figures.
    """

    problem: Callable[["CycleTable", "Graph", Sequence[Board], int], Problem]
    period: Period
    baud: int
    note: str


def cost_model_of(name: str) -> CostModel:
    """Return the cost model of that name. Raises InputError where it is not installed."""
    model: CostModel = load_extension("tinysplit.cost_models", name)
    return model
