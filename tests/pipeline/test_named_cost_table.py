"""The cost table of a file: all stages of a command or a function count by it, and no other."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from commands.command_line import BAD_INPUT, run
from example_folders.example import CALIBRATION, MODEL, SAMPLES
from tinysplit import api, pipeline
from tinysplit.boards.board import Power
from tinysplit.boards.catalog import load_board
from tinysplit.calibration.conditions import target_of, write_calibration
from tinysplit.common.errors import InputError
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import ONCE, CycleTable, KernelCosts, MeasuredCurrents, shipped_table
from tinysplit.plan.predicted_split import predict_programs
from tinysplit.slices.settings import Search

G0 = "nucleo_g071rb"
CORE, FAMILY = "cortex-m0plus", "stm32g0"
POOL_CYCLES, MORE_FLASH_BYTES, MORE_PROGRAM_BYTES = 54_321.0, 1000, 234


def own_table() -> CycleTable:
    """Return a table in which all max pools take as long, the firmware more flash, and a board other currents."""
    table = shipped_table()
    cores = {
        bits: {kind: _own(kind, each) for kind, each in kinds.items()} for bits, kinds in table.cores[CORE].items()
    }
    old = table.firmware[FAMILY]
    parts = {**old.flash_parts, ONCE: old.flash_parts[ONCE] + MORE_PROGRAM_BYTES}
    firmware = old.model_copy(update={"flash_bytes": old.flash_bytes + MORE_FLASH_BYTES, "flash_parts": parts})
    update = {
        "compiler": "a compiler",
        "cores": {CORE: cores},
        "firmware": {FAMILY: firmware},
        "code_waits": {},
        "currents": {G0: MeasuredCurrents(run_ma=9.0, sleep_ma=2.0, samples=3, source="trace.csv")},
    }
    return table.model_copy(update=update)


def _own(kind: str, costs: KernelCosts) -> KernelCosts:
    return costs.model_copy(update={"cycles": {ONCE: POOL_CYCLES}}) if kind.startswith("max_pool") else costs


def test_split_and_programs_are_those_of_the_table(tmp_path: Path) -> None:
    context = Context.load(MODEL, (G0, G0), CostSettings(use_all=True), Console(quiet=True))
    other = replace(context, table=own_table())
    shipped, own = (pipeline.split_network(each, Search(assignment="1-3:1,4-7:2")) for each in (context, other))
    power = Power.of(9.0, 2.0)
    for before, after in zip(shipped.problem.devices, own.problem.devices, strict=True):
        assert after.flash_bytes == before.flash_bytes - MORE_FLASH_BYTES
        assert (after.run_w, after.idle_w) == (power.run_w, power.idle_w)
    predicted, expected = (
        predict_programs(each.table, each.graph, each.boards, split, each.settings)
        for each, split in ((other, own), (context, shipped))
    )
    for number in (1, 2):
        assert predicted[number].flash_bytes == expected[number].flash_bytes + MORE_PROGRAM_BYTES
    project = pipeline.generate_folder(other, pipeline.describe_split(other, own), CALIBRATION, tmp_path / "out")
    assert project.predicted_compiler == "a compiler"
    assert [board.run_w for board in project.boards] == [power.run_w] * 2
    pools = [layer for layer in project.layers if not layer.weights_bytes]
    assert {layer.kind for layer in pools} == {"max_pool"}
    assert {layer.estimated_cycles for layer in pools} == {POOL_CYCLES}


@pytest.fixture
def of_another_core(tmp_path: Path) -> Path:
    """A file that holds for no board of the calls below."""
    path, target = tmp_path / "own.json", target_of(load_board("nucleo_f401re"), has_ideal_memory=True)
    write_calibration(path, shipped_table().model_copy(update={"targets": {"cortex-m4": target}}))
    return path


REFUSAL = "own.json is a calibration for core cortex-m4, board 1 (nucleo_g071rb) has cortex-m0plus"


@pytest.mark.parametrize("command", ["split", "pareto", "explore", "run", "generate", "arrivals"])
def test_every_command_reads_the_file_that_is_named(command: str, of_another_core: Path, tmp_path: Path) -> None:
    split, out = tmp_path / "split.json", str(tmp_path / "out")
    run("split", str(MODEL), "-b", G0, "-o", str(split))
    options = {
        "split": ("-b", G0, "-o", out),
        "pareto": ("-b", G0, "--second-objective", "energy"),
        "explore": ("-b", G0, "-j", out),
        "run": ("-b", G0, "--samples", str(SAMPLES), "-o", out),
        "generate": ("--split", str(split), "--samples", str(CALIBRATION), "-o", out),
        "arrivals": ("--split", str(split), "--frame-rate", "1"),
    }[command]
    assert REFUSAL in run(command, str(MODEL), *options, "--cost-table", str(of_another_core), expect=BAD_INPUT)


@pytest.mark.parametrize(
    "call",
    [
        lambda _split, table: api.split(MODEL, G0, cost_table=table),
        lambda _split, table: api.pareto(MODEL, G0, api.SecondObjective.ENERGY, cost_table=table),
        lambda _split, table: api.explore(MODEL, G0, cost_table=table),
        lambda split, table: api.generate(MODEL, split, CALIBRATION, table.parent / "out", cost_table=str(table)),
        lambda split, table: api.arrivals(MODEL, split, 1.0, cost_table=table),
    ],
    ids=["split", "pareto", "explore", "generate", "arrivals"],
)
def test_every_function_reads_the_file_that_is_named(
    call: Callable[[Any, Path], object], of_another_core: Path
) -> None:
    with pytest.raises(InputError) as caught:
        call(api.split(MODEL, G0), of_another_core)
    assert REFUSAL in str(caught.value)
