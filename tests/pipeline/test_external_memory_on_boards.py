"""Weights in external memory: bit-exact on a virtual board, with the time and the energy that were predicted."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from example_folders.example import CALIBRATION, MODEL, SAMPLES
from tinysplit import pipeline
from tinysplit.boards.catalog import load_board
from tinysplit.boards.debug_port import load_debug_port
from tinysplit.build.folder import build_folder
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import ToolError
from tinysplit.context import Context
from tinysplit.costs.problem_builder import make_problems
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable, shipped_table
from tinysplit.onnx_import import import_model
from tinysplit.project.manifest import ConstantsIn, Project
from tinysplit.slices.settings import Search
from tinysplit.split.alternatives import best_of
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve
from tinysplit_hil.bench.flash import FlashTarget, planned_commands
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice

QUIET = Console(quiet=True)
BOARD = "disco_l496ag"


def flash_for_layers(flash_bytes: int) -> CycleTable:
    """Return costs that leave `flash_bytes` of the board's flash for layers, also beside links."""
    table = shipped_table()
    firmware = table.firmware["stm32l4"]
    used_bytes = load_board(BOARD).device.flash.size_bytes - flash_bytes
    small = firmware.model_copy(update={"flash_bytes": used_bytes, "link_flash_bytes": 0})
    return table.model_copy(update={"firmware": {**table.firmware, "stm32l4": small}})


def found(flash_bytes: int, *boards: str) -> tuple[Context, Split]:
    context = Context.load(MODEL, boards, CostSettings(), QUIET)
    context = replace(context, table=flash_for_layers(flash_bytes))
    return context, pipeline.split_network(context, Search())


def generated(out: Path, flash_bytes: int) -> Project:
    """Generate Tiny-CNN for a board whose flash has `flash_bytes` for layers."""
    context, split = found(flash_bytes, BOARD)
    return pipeline.generate_folder(context, pipeline.describe_split(context, split), CALIBRATION, out)


def check_another_flash_is_named(project: Project, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = load_board(BOARD)
    assert board.external
    other = replace(board, external=replace(board.external, jedec_id=0xEF4017))
    monkeypatch.setattr("tinysplit_hil.rig.project_rig.load_board", lambda _name: other)
    with pytest.raises(ToolError, match="the external memory answers with JEDEC id 0xef4017"):
        measure_folder(project, out, SAMPLES, MeasureSettings(sample_count=1), QUIET)


@pytest.mark.slow
def test_weights_in_external_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    project = generated(out, 24_000)
    report = build_folder(project, out, QUIET)
    report.check()
    (built,) = report.boards
    assert 0 < built.sizes.external_weights_bytes == built.board.external_weights_bytes < built.board.weights_bytes
    assert {layer.memory.constants_in for layer in project.layers} >= {ConstantsIn.RAM, ConstantsIn.FLASH}
    measured = measure_folder(project, out, SAMPLES, MeasureSettings(sample_count=2), QUIET)
    assert measured.outputs.bit_exact
    (estimated,), (activity,) = project.estimated_alone, measured.measurement.activities
    assert activity.external_s == pytest.approx(estimated.external_s, rel=0.02)
    layers_s = sum(layer.estimated_s for layer in project.layers)
    assert measured.measurement.l_s.median == pytest.approx(layers_s, rel=0.02)
    check_another_flash_is_named(project, out, monkeypatch)
    target = FlashTarget(project.boards[0], built.elf, ProbeChoice("066A"), load_debug_port(BOARD))
    with pytest.raises(ToolError, match=r"bytes of weights are for its external memory, .* -el LOADER -d "):
        planned_commands([target], PROGRAMMERS[ProgrammerName.OPENOCD])


def test_nothing_goes_out_where_flash_holds_the_network(tmp_path: Path) -> None:
    project = generated(tmp_path / "out", 1_000_000)
    assert not project.boards[0].external_weights_bytes
    assert "external_memory.c" not in {path.name for path in (tmp_path / "out").rglob("*.c")}


def test_boards_may_hold_the_network_together() -> None:
    """The search also counts all weights in flash, where layers are faster."""
    graph, board = import_model(MODEL), load_board(BOARD)
    outside, inside = make_problems(flash_for_layers(24_000), graph, [board, board], CostSettings())
    assert (
        sum(layer.flash_bytes[0] for layer in outside.layers)
        < 24_000
        < sum(layer.flash_bytes[0] for layer in inside.layers)
    )
    assert sum(layer.seconds[0] for layer in outside.layers) > sum(layer.seconds[0] for layer in inside.layers)
    assert outside.devices[0].run_w > inside.devices[0].run_w
    assert len(make_problems(shipped_table(), graph, [board], CostSettings())) == 1
    best = best_of([outside, inside], solve)
    assert best.objective == min(solve(each).objective for each in (outside, inside))
