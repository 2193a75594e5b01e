"""`tinysplit calibrate`: layers measured on boards, and the file that it writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders.example import SAMPLES, shared_example
from tinysplit.boards.catalog import load_board
from tinysplit.build.compiler import compiler_version
from tinysplit.build.report import BuildReport
from tinysplit.calibration.conditions import (
    firmware_sha256,
    read_calibration,
    target_of,
    write_calibration,
)
from tinysplit.calibration.fit import CostSample
from tinysplit.calibration.project import plan_network
from tinysplit.cli import calibrate as command
from tinysplit.common.choices import VIRTUAL
from tinysplit.common.errors import ToolError
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import PartCycles, shipped_table
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import quantize_input
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.samples import load_samples
from tinysplit.project.load import read_quantized
from tinysplit_hil.calibration import calibrate as calibration
from tinysplit_hil.calibration.code_waits import WaitingLayer, fit_waits
from tinysplit_hil.calibration.layers import CalibrationBench, check_plausible, measured_layer, run_layers
from tinysplit_hil.rig.devices import read_devices

BOARD = "nucleo_g071rb"
CORE = "cortex-m0plus"
OTHER, OTHER_CORE = "nucleo_f401re", "cortex-m4"
OUTPUTS = (16, 60, 20, 33, 17, 24, 48, 18, 64, 30)
LAYERS = len(OUTPUTS) - 1  # the first one is too short


def dense_network() -> Graph:
    """Return layers of ten shapes."""
    net = NetworkBuilder("dense", Shape(1, 1, 24))
    for outputs in OUTPUTS:
        net.dense(outputs)
    return net.graph()


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """Return what the command prints for one kernel, and its file, which begins as a calibration of another board."""
    path = tmp_path_factory.mktemp("calibration") / "own.json"
    shipped, target = shipped_table(), target_of(load_board(OTHER), has_ideal_memory=False)
    conditions = {"compiler": compiler_version(), "firmware_sha256": firmware_sha256()}
    cores = {OTHER_CORE: shipped.cores[OTHER_CORE]}
    own = {**conditions, "targets": {OTHER_CORE: target}, "cores": cores}
    write_calibration(path, shipped.model_copy(update=own))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "all_networks", lambda: (dense_network(),))
        options = ("--only", "dense", "--bits", "8", "--cost-table", str(path), "-o", str(path))
        printed = run("calibrate", "-b", BOARD, *options, "--json")
    return json.loads(printed), path


def test_one_kernel_on_one_board(calibrated: tuple[dict[str, Any], Path]) -> None:
    printed, path = calibrated
    (fitted,) = printed["kernels"]
    assert (fitted["core"], fitted["bits"], fitted["kind"]) == (CORE, 8, "dense")
    assert (fitted["quality"]["fitted"]["layers"], fitted["quality"]["held_out"]["layers"]) == (LAYERS, 1)
    assert fitted["quality"]["fitted"]["worst"] < 0.05
    assert fitted["quality"]["held_out"]["worst"] < 0.05
    low, high = fitted["quality"]["intervals"]["macc"]
    assert low <= fitted["costs"]["macc"] <= high
    target = printed["targets"][CORE]
    device = target.pop("device")
    assert target == {"board": BOARD, "core_hz": 64_000_000, "memory": "ideal"}
    assert device == read_devices(VIRTUAL, {1: BOARD})[1].model_dump()
    own, shipped = read_calibration(path, [load_board(BOARD), load_board(OTHER)]), shipped_table()
    assert own.cores[CORE]["8"]["dense"].cycles["macc"] == fitted["costs"]["macc"]
    macc = shipped.cores[CORE]["8"]["dense"].cycles["macc"]
    assert fitted["costs"]["macc"] == pytest.approx(macc, rel=0.1)
    assert own.cores[CORE]["16"] == shipped.cores[CORE]["16"]
    assert own.cores[OTHER_CORE] == shipped.cores[OTHER_CORE]
    assert own.firmware == shipped.firmware


def test_kernel_cycles_leave_waits_of_memory_out() -> None:
    project, folder = shared_example(BOARD)
    quantized = read_quantized(folder, project)
    x = quantize_input(quantized, load_samples(SAMPLES, quantized.graph).x[:1])
    planned = plan_network(
        shipped_table(), quantized, (load_board(BOARD),), (0,) * len(quantized.layers), CostSettings()
    )
    memory, sizes = planned.plan.boards[0].memory, BuildReport.read(project, folder)
    benches = [CalibrationBench(has_ideal_memory=is_ideal) for is_ideal in (True, False)]
    ideal, real = (
        [
            measured_layer(planned, project.layers[number - 1], cycles, sizes.boards[0].sizes, bench)
            for number, cycles in run_layers(project, folder, x, bench).items()
            if memory.calls(quantized.graph, number - 1) == 1
        ]
        for bench in benches
    )
    assert len(ideal) == len(real) == 3
    assert sum(layer.cycles for layer in real) > 1.2 * sum(layer.cycles for layer in ideal)
    kernel_cycles = sum(layer.kernel_cycles for layer in ideal)
    assert sum(layer.kernel_cycles for layer in real) == pytest.approx(kernel_cycles, rel=0.1)


def test_other_costs_are_replaced_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits = {"stm32g0": {"8": {"dense": PartCycles(cycles={"macc": 1.25})}}}
    monkeypatch.setattr(calibration, "code_wait_table", lambda _table: waits)
    path, shipped = tmp_path / "own.json", shipped_table()
    assert json.loads(run("calibrate", "--only", "code-waits", "-o", str(path), "--json"))["kernels"] == []
    own = read_calibration(path, [load_board(BOARD), load_board(OTHER)])
    assert own.code_waits == {**shipped.code_waits, **waits}
    assert (own.cores, own.targets, own.link) == (shipped.cores, shipped.targets, shipped.link)


def test_waits_for_code_are_fitted_by_kind() -> None:
    def layer(kind: str, macc: float, waits: float) -> WaitingLayer:
        return WaitingLayer("stm32g0", 8, kind, CostSample({"macc": macc}, waits, 10 * macc))

    layers = [*(layer("conv", macc, 0.5 * macc) for macc in (100.0, 200.0)), layer("dense", 100.0, 300.0)]
    found = fit_waits(layers)["stm32g0"]["8"]
    assert found["conv"].of({"macc": 1000.0}) == pytest.approx(500)
    assert found["dense"].of({"macc": 100.0}) == pytest.approx(300)


@pytest.mark.parametrize(
    ("cycles", "reason"),
    [
        ((100.0, 0.0, 100.0), "layer 1 took 100, 0, 100 cycles: times have to be positive"),
        ((100.0, -3.0), "layer 1 took 100, -3 cycles: times have to be positive"),
        ((1e5, 1.061e5, 1.01e5), "layer 1 took 100000, 106100, 101000 cycles with the same input: they differ by more"),
    ],
)
def test_times_that_are_not_plausible(cycles: tuple[float, ...], reason: str) -> None:
    with pytest.raises(ToolError) as caught:
        check_plausible("layer 1", cycles)
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize("cycles", [(1e5, 1.05e5, 1.01e5), (3766.0, 3470.0, 3470.0)])
def test_nearly_equal_times_are_plausible(cycles: tuple[float, ...]) -> None:
    check_plausible("layer 1", cycles)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--only", "dens"), "--only dens: expected one of add, "),
        (("--rig", "rig.toml"), "--rig rig.toml needs the name of its board: --board"),
        (
            ("--rig", "rig.toml", "-b", BOARD, "--only", "links"),
            "the kernels of one board at a time, not links",
        ),
        (("--rig", "rig.toml", "-b", BOARD, "-b", BOARD), "one board at a time, not 2 boards: name its board with one"),
        (("--bits", "4"), "--bits 4: weights and activations have 8 or 16 bits"),
    ],
)
def test_what_cannot_be_calibrated(options: tuple[str, ...], reason: str) -> None:
    assert reason in run("calibrate", *options, expect=USAGE)


def test_a_file_without_a_folder_is_named_before_anything_is_measured() -> None:
    reason = "nowhere/own.json cannot be written: there is no folder nowhere"
    assert reason in run("calibrate", "-o", "nowhere/own.json", expect=BAD_INPUT)
