"""Networks of the calibration on virtual boards."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit.calibration.project import plan_network
from tinysplit.common.choices import VIRTUAL
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.project.manifest import Project
from tinysplit.split.problem import Assignment
from tinysplit_hil.rig.rig import Rig, open_rig


@contextmanager
def on_virtual_boards(
    table: CycleTable,
    quantized: QuantizedGraph,
    boards: Sequence[Board],
    assignment: Assignment,
    settings: CostSettings = CostSettings(),
) -> Iterator[tuple[Project, Rig]]:
    """Yield the built project of a network, and virtual boards that run it.

    Raises CheckFailedError where a program does not fit its board.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "out"
        project, _ = plan_network(table, quantized, boards, assignment, settings).build(folder)
        with open_rig(VIRTUAL, project, folder) as rig:
            yield project, rig
