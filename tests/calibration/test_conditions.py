"""Calibration files: what they hold for, and what is refused."""

import json
import shutil
from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders import example
from tinysplit.boards.catalog import load_board, load_boards
from tinysplit.build.compiler import compiler_version
from tinysplit.calibration import conditions
from tinysplit.calibration.code_bytes import library_bytes
from tinysplit.calibration.conditions import (
    firmware_sha256,
    read_calibration,
    table_for,
    target_of,
    with_currents,
    write_calibration,
)
from tinysplit.codegen.platformio_ini import Flags
from tinysplit.common import package_files
from tinysplit.common.errors import InputError
from tinysplit.kernels.cost_table import (
    CycleTable,
    FitErrors,
    FitQuality,
    KernelCosts,
    MeasuredCurrents,
    shipped_path,
    shipped_table,
)

G0, F4 = load_board("nucleo_g071rb"), load_board("nucleo_f401re")
CORE = G0.device.core


def table(**changes: object) -> CycleTable:
    """Return a calibration for G0 with its memory, on which everything costs twice as much."""
    shipped = shipped_table()
    doubled = {
        bits: {
            kind: KernelCosts(cycles={part: 2 * cost for part, cost in costs.cycles.items()}, code_bytes=1000)
            for kind, costs in kinds.items()
        }
        for bits, kinds in shipped.cores[CORE].items()
    }
    conditions = {"compiler": compiler_version(), "firmware_sha256": firmware_sha256()}
    targets = {CORE: target_of(G0, has_ideal_memory=False)}
    return shipped.model_copy(update={**conditions, "targets": targets, "cores": {CORE: doubled}, **changes})


def written(folder: Path, **changes: object) -> Path:
    path = folder / "own.json"
    write_calibration(path, table(**changes))
    return path


def refusal(path: Path, *boards: str) -> str:
    with pytest.raises(InputError) as caught:
        read_calibration(path, [load_board(name) for name in boards])
    return str(caught.value).removeprefix(f"{path} is a calibration for ")


def changed(**values: object) -> dict[str, object]:
    return {"targets": {CORE: target_of(G0, has_ideal_memory=False).model_copy(update=values)}}


def test_costs_are_those_of_the_file_that_is_named(tmp_path: Path) -> None:
    for path in (written(tmp_path), str(written(tmp_path))):
        assert table_for([G0], path).model_copy(update={"tinysplit_version": None}) == table()
    assert table_for([G0], None) is shipped_table()
    assert set(shipped_table().cores) == {
        "cortex-m0",
        "cortex-m0plus",
        "cortex-m3",
        "cortex-m4",
        "cortex-m7",
        "cortex-m33",
    }


def test_a_kernel_without_held_out_shapes_is_read_as_written(tmp_path: Path) -> None:
    quality = FitQuality(fitted=FitErrors(layers=1, mean=0.0, worst=0.0), intervals={"macc": (1.0, 2.0)})
    costs = KernelCosts(cycles={"macc": 1.5}, code_bytes=100, quality=quality)
    path = written(tmp_path, cores={CORE: {"8": {"conv": costs}}})
    assert read_calibration(path, [G0]).cores[CORE]["8"]["conv"] == costs


def test_another_core_is_refused(tmp_path: Path) -> None:
    expected = "core cortex-m0plus, board 2 (nucleo_f401re) has cortex-m4: make one with `tinysplit calibrate --board "
    assert refusal(written(tmp_path), "nucleo_g071rb", "nucleo_f401re") == f"{expected}nucleo_f401re`"


def test_another_clock_is_refused(tmp_path: Path) -> None:
    text = refusal(written(tmp_path, **changed(core_hz=16_000_000)), "nucleo_g071rb")
    assert text.startswith("a core clock of 16 MHz, board 1 (nucleo_g071rb) has 64 MHz: make one with")


def test_another_memory_is_refused(tmp_path: Path) -> None:
    memory = "waits of sram 0, flash 1 cycles, caches of 16 + 0 bytes"
    text = refusal(written(tmp_path, **changed(memory=memory)), "nucleo_g071rb")
    assert text.startswith(f"memory with {memory}, board 1 (nucleo_g071rb) has waits of sram 0, flash 2 cycles")


def test_ideal_memory_holds_at_every_clock(tmp_path: Path) -> None:
    path = written(tmp_path, **changed(core_hz=16_000_000, memory="ideal"))
    assert read_calibration(path, [G0, G0]).targets[CORE].core_hz == 16_000_000


def test_another_compiler_is_refused(tmp_path: Path) -> None:
    text = refusal(written(tmp_path, compiler="arm-none-eabi-gcc 4.9"), "nucleo_g071rb")
    assert text.startswith(f"compiler arm-none-eabi-gcc 4.9, this machine has {compiler_version()}: make a calibration")


def test_another_firmware_is_refused(tmp_path: Path) -> None:
    text = refusal(written(tmp_path, firmware_sha256="ab" * 32), "nucleo_g071rb")
    assert text.startswith(f"firmware abababababab, this installation has {firmware_sha256()[:12]}: make a calibration")


@pytest.mark.parametrize(("text", "reason"), [("{", "is not JSON"), ("{}", "schema_version is missing")])
def test_a_damaged_file_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "own.json"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        read_calibration(path, [])


def test_a_file_without_bytes_of_code_is_refused(tmp_path: Path) -> None:
    data = shipped_table().model_dump(mode="json")
    del data["code"]
    path = tmp_path / "own.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"code is missing.*make a calibration"):
        read_calibration(path, [])


def test_the_shipped_table_is_a_calibration_of_every_board(tmp_path: Path) -> None:
    path = Path(shutil.copy(shipped_path(), tmp_path / "copy.json"))
    assert read_calibration(path, load_boards()) == shipped_table()


def test_the_shipped_table_claims_neither_version_nor_firmware() -> None:
    """They would be those of some day: it belongs to the installation that it is a part of."""
    shipped = shipped_table()
    assert (shipped.tinysplit_version, shipped.firmware_sha256) == (None, None)


def test_the_table_of_another_installation_is_refused(tmp_path: Path) -> None:
    data = json.loads(shipped_path().read_text())
    data["link"]["stm32g0"]["dma"]["sending"] += 1
    path = tmp_path / "own.json"
    path.write_text(json.dumps(data))
    assert refusal(path, "nucleo_g071rb").startswith("firmware of another installation, this installation has")


def test_a_new_table_of_the_installation_claims_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cycles.json"
    monkeypatch.setattr(conditions, "shipped_path", lambda: path)
    write_calibration(path, table())
    assert not {"tinysplit_version", "firmware_sha256"} & set(json.loads(path.read_text()))


def test_the_currents_of_a_board_may_join_the_shipped_table(tmp_path: Path) -> None:
    currents = MeasuredCurrents(run_ma=5.0, sleep_ma=1.0, samples=100, source="trace.csv")
    path = tmp_path / "own.json"
    for base in (None, read_calibration(shipped_path(), [G0])):
        write_calibration(path, with_currents(base, G0, currents))
        assert read_calibration(path, [G0]).currents == {"nucleo_g071rb": currents}


@pytest.mark.slow
def test_the_shipped_bytes_of_shared_functions_are_those_of_the_shipped_sources() -> None:
    shipped = shipped_table()
    if shipped.compiler != compiler_version():
        pytest.skip(f"the table is of {shipped.compiler}, this machine has {compiler_version()}")
    for core, target in shipped.targets.items():
        compiled = library_bytes(load_board(target.board))
        assert {name: shipped.code.functions[core][name] for name in compiled} == compiled


def test_the_shipped_table_is_of_the_flags_of_the_build() -> None:
    assert shipped_table().flags in Flags().compiler


def test_the_shipped_table_knows_its_targets() -> None:
    shipped = shipped_table()
    assert {target.memory for target in shipped.targets.values()} == {"ideal"}
    assert shipped.targets == {
        core: target_of(load_board(target.board), has_ideal_memory=True) for core, target in shipped.targets.items()
    }


def split_seconds(*options: str, folder: Path) -> float:
    path = folder / "split.json"
    command = ("split", str(example.MODEL), "-b", "nucleo_g071rb", "-o", str(path), "--json", *options)
    return float(json.loads(run(*command))["figures"]["I"])


def test_split_takes_a_calibration(tmp_path: Path) -> None:
    own = ("--cost-table", str(written(tmp_path)))
    assert 1.8 < split_seconds(*own, folder=tmp_path) / split_seconds(folder=tmp_path) < 2.1


@pytest.mark.parametrize("command", ["split", "run", "explore", "pareto"])
def test_commands_refuse_a_calibration_for_another_core(tmp_path: Path, command: str) -> None:
    options = {
        "split": (),
        "run": ("-s", str(example.SAMPLES), "-o", str(tmp_path / "out")),
        "explore": ("-j", str(tmp_path / "explore.jsonl")),
        "pareto": ("--second-objective", "energy"),
    }[command]
    own = ("-b", "nucleo_f401re", "--cost-table", str(written(tmp_path)))
    line = run(command, str(example.MODEL), *own, *options, expect=BAD_INPUT)
    assert "own.json is a calibration for core cortex-m0plus, board 1 (nucleo_f401re) has cortex-m4" in line


def test_published_costs_take_no_calibration(tmp_path: Path) -> None:
    own = ("-b", "nucleo_g071rb", "--paper", "--cost-table", str(written(tmp_path)))
    assert "leave --cost-table out" in run("split", str(example.MODEL), *own, expect=USAGE)


def test_pages_are_no_part_of_the_firmware(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    templates = tmp_path / "templates"
    shutil.copytree(package_files.templates(), templates)
    monkeypatch.setattr(package_files, "templates", lambda: templates)
    before = firmware_sha256()
    (templates / "report" / "report.css.j2").write_text("")
    assert firmware_sha256() == before
    (templates / "layer.c.j2").write_text("")
    assert firmware_sha256() != before
