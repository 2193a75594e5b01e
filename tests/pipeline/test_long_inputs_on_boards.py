"""Inputs of several frames, which the host sends without a pause, to boards whose host port has no FIFO."""

from pathlib import Path

import numpy as np
import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.calibration.project import plan_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.choices import VIRTUAL
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.integer_reference import run_layers
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.rig.rig import open_rig
from tinysplit_hil.wire.protocol import HOST_PAYLOAD_BYTES


@pytest.mark.parametrize(
    "name", ["nucleo_c031c6", "nucleo_f091rc", "nucleo_f103rb", "nucleo_f302r8", "nucleo_l053r8", "nucleo_l452re"]
)
def test_no_byte_of_a_long_input_is_lost(name: str, tmp_path: Path) -> None:
    board = load_board(name)
    assert not board.host_uart.has_fifo
    graph = NetworkBuilder("long_input", Shape(32, 32, 3)).max_pool(4, 4).conv(4).graph()
    quantized, x = quantize_randomly(graph, 8)
    assert x[0].size > 2 * HOST_PAYLOAD_BYTES
    planned = plan_network(shipped_table(), quantized, (board,), (0, 0), CostSettings())
    project, _ = planned.build(tmp_path / "out")
    with open_rig(VIRTUAL, project, tmp_path / "out") as rig:
        measured = measure(project, rig, x[:1], fail_fast=True)
    *_, expected = run_layers(quantized, x[:1])
    assert np.array_equal(measured.outputs.ravel(), expected.ravel())
