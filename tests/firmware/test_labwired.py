"""A second witness beside QEMU: LabWired, a simulator by other authors, starts the programs and computes Tiny-CNN.

It models reset, clock trees, pins and UARTs, and tells nothing about cycles. It lacks instructions of the DSP extension
(SMLAD, SXTB16, USAT with a shift and others) and does not run code from SRAM2: programs for cores that have such are
compiled for Cortex-M0+, with the plain kernels, in flash.
"""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from example_folders.example import CALIBRATION, MODEL
from programs.firmware_build import linked_elf
from simulators.labwired_board import labwired_rig
from tinysplit import pipeline
from tinysplit.boards.board import Board, CodeMemory
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Slices
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.project.manifest import Project
from tinysplit.slices.settings import Search
from tinysplit_hil.measure.measure import measure
from tinysplit_hil.rig.rig import open_rig

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("labwired") is None, reason="labwired is not installed: pip install .[witness]"),
]
PLAIN_CORE = "cortex-m0plus"
CHIPS = {  # of LabWired: the part itself, or the nearest one
    "nucleo_g071rb": "stm32g071",
    "nucleo_f401re": "stm32f401",
    "nucleo_l452re": "stm32l476",
    "nucleo_h743zi": "stm32h735",
}


@pytest.mark.parametrize("name", CHIPS)
def test_a_program_runs_at_full_frequency_and_computes_tiny_cnn(name: str, tmp_path: Path) -> None:
    board = load_board(name)
    project = plain_project(board, tmp_path / "out")
    inputs = np.random.default_rng(0).integers(-128, 128, (1, 28, 28, 1)).astype(np.int8)
    elf = project.boards[0].elf(tmp_path / "out")
    with labwired_rig(tmp_path, elf, board, CHIPS[name], project.host_baud) as rig:
        client = rig.clients(project)[1]
        identity = client.run(client.identify())
        assert (identity.clock_ok, identity.core_hz) == (True, board.clock.core_hz)
        witnessed = measure(project, rig, inputs, fail_fast=True)
    with open_rig("virtual", project, tmp_path / "out") as rig:
        expected = measure(project, rig, inputs, fail_fast=True)
    assert witnessed.outputs.tolist() == expected.outputs.tolist()


def plain_project(board: Board, folder: Path) -> Project:
    """Generate and build Tiny-CNN for one board: on Cortex-M0+ as it is, on others without DSP instructions."""
    is_whole = board.device.core == PLAIN_CORE
    named = () if is_whole else tuple((number, "direct") for number in range(7))
    settings = CostSettings(kernels=named, code_memory=CodeMemory.FLASH)
    context = Context.load(MODEL, (board.name,), settings, Console(quiet=True))
    cropped = context.of_quantized_file()
    split = pipeline.describe_split(cropped, pipeline.split_network(cropped, Search(slices=Slices.NONE)))
    project = pipeline.generate_folder(context, split, CALIBRATION, folder)
    elf = project.boards[0].elf(folder)
    elf.parent.mkdir(parents=True)
    plain = replace(board, device=replace(board.device, core=PLAIN_CORE))
    linked_elf(folder / project.boards[0].directory, plain).replace(elf)
    return project
