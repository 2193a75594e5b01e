"""New weights for boards that run without a host: they stop for them, and go on with the new network."""

from pathlib import Path

import pytest
import serial
from rich.console import Console

from example_folders.example import SAMPLES as SAMPLE_FILE
from example_folders.weights_folders import generate, other_model
from rigs.standalone_boards import FREE_RUNNING, SAMPLES, StandaloneBoards, write_applications
from tinysplit.build.folder import build_folder
from tinysplit.network.integer_reference import quantize_input, run_integer
from tinysplit.network.samples import load_samples
from tinysplit.project.load import read_quantized
from tinysplit_hil.bench.update import update_boards
from tinysplit_hil.rig.project_rig import project_rig, project_wires
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.rig.virtual_clock import VirtualClock
from virtual_stm32 import open_registered

BOARDS = ("nucleo_g071rb", "nucleo_f401re")
QUIET = Console(quiet=True)


@pytest.mark.slow
def test_boards_take_new_weights_and_go_on_with_them(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    project = generate(old, *BOARDS, standalone=FREE_RUNNING)
    quantized = read_quantized(old, project)
    x = load_samples(SAMPLE_FILE, quantized.graph).x[:SAMPLES]
    inputs, before = quantize_input(quantized, x), run_integer(quantized, x)
    write_applications(project, old, inputs, before.reshape(len(x), -1).shape[1])
    build_folder(project, old, QUIET).check()
    newer = generate(new, *BOARDS, model=other_model(tmp_path), structure=old)
    after = run_integer(read_quantized(new, newer), x)
    assert (before != after).any()
    virtual = project_rig(project, old)
    with open_registered("standalone_update", virtual):
        ports = {
            board.number: serial.serial_for_url(f"virtual://standalone_update/{index}", project.host_baud, timeout=0)
            for index, board in enumerate(project.boards)
        }
        rig = Rig("virtual", "", "real", ports, VirtualClock(virtual))
        for expected, folder in ((before, old), (after, new)):
            if folder == new:
                found = update_boards(newer, new, rig, QUIET, may_be_older=False)
                assert [each.after.counter for each in found] == [2, 2]
            boards = StandaloneBoards(project, old, virtual, expected.reshape(len(x), -1), project_wires(project))
            boards.skip()
            boards.run(400)
            assert boards.right > SAMPLES
            assert not boards.wrong
        for port in ports.values():
            port.close()
