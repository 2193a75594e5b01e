"""Code of layers in RAM: at its addresses in the program, bit-exact on virtual boards, and faster than in flash."""

import json
from pathlib import Path

import pytest
from rich.console import Console

from commands.command_line import run
from example_folders.example import CALIBRATION, MODEL, SAMPLES
from tinysplit import pipeline
from tinysplit.boards.board import CodeMemory
from tinysplit.boards.catalog import load_board
from tinysplit.build.elf import read_elf
from tinysplit.build.folder import build_folder
from tinysplit.common.choices import Optimize, Slices
from tinysplit.common.errors import CheckFailedError
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.project.manifest import Project
from tinysplit.slices.settings import Search
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from virtual_stm32.symbols import load_program

QUIET = Console(quiet=True)
L4PLUS, L4, F4 = "nucleo_l4r5zi", "nucleo_l433rc_p", "nucleo_f401re"


def generated(
    out: Path, *boards: str, code_memory: CodeMemory | None = None, optimize: Optimize = Optimize.CYCLES
) -> Project:
    settings = CostSettings(use_all=True, code_memory=code_memory, optimize=optimize)
    context = Context.load(MODEL, boards, settings, QUIET)
    split = pipeline.describe_split(context, pipeline.split_network(context, Search(slices=Slices.NONE)))
    return pipeline.generate_folder(context, split, CALIBRATION, out)


def layer_addresses(elf: Path) -> list[int]:
    return [address for address, name in load_program(elf).functions if name.startswith(("layer_", "dsp_"))]


@pytest.mark.slow
def test_each_board_decides_for_itself(tmp_path: Path) -> None:
    """The second board has no RAM on the code buses, and little code for the third is left."""
    out = tmp_path / "out"
    project = generated(out, L4PLUS, F4, "nucleo_l452re")
    assert [board.code_memory for board in project.boards] == [CodeMemory.RAM, CodeMemory.FLASH, CodeMemory.FLASH]
    assert "fits into the instruction cache" in project.boards[2].code_memory_reason
    assert Project.read(out) == project
    report = build_folder(project, out, QUIET)
    report.check()
    for built, is_in_ram in zip(report.boards, (True, False, False), strict=True):
        addresses = layer_addresses(built.elf)
        assert addresses
        assert {address >> 16 == 0x1000 for address in addresses} == {is_in_ram}
        assert (0 < built.sizes.ram_code_bytes <= built.board.ram_code_bytes) is is_in_ram
    measured = measure_folder(project, out, SAMPLES, MeasureSettings(sample_count=3), QUIET)
    assert measured.outputs.bit_exact


@pytest.mark.slow
def test_code_in_ram_counts_in_flash_and_in_ram(tmp_path: Path) -> None:
    sizes = {}
    for memory in CodeMemory:
        out = tmp_path / memory
        project = generated(out, L4, code_memory=memory, optimize=Optimize.RAM)  # no constants in RAM from the start
        assert project.boards[0].code_memory is memory
        assert project.boards[0].code_memory_reason == "requested"
        (built,) = build_folder(project, out, QUIET).boards
        sizes[memory] = built.sizes
        board = load_board(L4)
        assert read_elf(built.elf, board.device, board.code_ram) == built.sizes
    flash, ram = sizes[CodeMemory.FLASH], sizes[CodeMemory.RAM]
    assert flash.ram_code_bytes == 0
    assert ram.ram[0].used_bytes == flash.ram[0].used_bytes + ram.ram_code_bytes
    assert ram.flash.used_bytes == pytest.approx(flash.flash.used_bytes, abs=256)  # veneers
    assert (ram.weights_bytes, ram.arena_bytes) == (flash.weights_bytes, flash.arena_bytes)


@pytest.mark.slow
def test_ram_for_code_alone_takes_nothing_of_the_data(tmp_path: Path) -> None:
    project = generated(tmp_path, "nucleo_f303re", code_memory=CodeMemory.RAM)
    report = build_folder(project, tmp_path, QUIET)
    report.check()
    (built,) = report.boards
    assert {address >> 16 for address in layer_addresses(built.elf)} == {0x1000}
    _, ccm = built.sizes.ram
    assert (ccm.memory.name, ccm.used_bytes) == ("ccm", built.sizes.ram_code_bytes)
    measured = measure_folder(project, tmp_path, SAMPLES, MeasureSettings(sample_count=3), QUIET)
    assert measured.outputs.bit_exact


def with_arena(out: Path, arena_bytes: int) -> Project:
    """Generate for a board with 64 KB of RAM, of which SRAM2 is the last 16, and enlarge the arena."""
    project = generated(out, "nucleo_l433rc_p", code_memory=CodeMemory.RAM)
    (board,) = project.boards
    network = out / board.directory / "src" / "network.c"
    text = network.read_text()
    declared = f"network_arena[{board.arena_bytes}]"
    assert text.count(declared) == 1
    network.write_text(text.replace(declared, f"network_arena[{arena_bytes}]"))
    return project


@pytest.mark.slow
def test_code_lies_behind_data_that_reach_into_sram2(tmp_path: Path) -> None:
    project = with_arena(tmp_path / "out", 50_000)
    (built,) = build_folder(project, tmp_path / "out", QUIET).boards
    data_bytes = built.sizes.ram[0].used_bytes - built.sizes.ram_code_bytes
    first = 0x10000000 + data_bytes - 48 * 1024
    in_ram = [address for address, _ in load_program(built.elf).functions if address >> 16 == 0x1000]
    code_ram = load_board(project.boards[0].name).code_ram
    assert code_ram
    assert min(in_ram) % code_ram.alignment == 0
    assert first <= min(in_ram) < first + code_ram.alignment
    measuring = MeasureSettings(sample_count=3)
    assert measure_folder(project, tmp_path / "out", SAMPLES, measuring, QUIET).outputs.bit_exact


@pytest.mark.slow
@pytest.mark.usefixtures("by_platformio")
def test_code_that_does_not_fit_behind_the_data_is_refused_by_the_linker(tmp_path: Path) -> None:
    project = with_arena(tmp_path / "out", 62_000)
    with pytest.raises(
        CheckFailedError, match=r"^.ram_code of the program of board1_nucleo_l433rc_p does not fit into code_ram"
    ):
        build_folder(project, tmp_path / "out", QUIET)


def test_the_arena_does_not_depend_on_where_the_code_is(tmp_path: Path) -> None:
    arenas = {generated(tmp_path / memory, L4PLUS, code_memory=memory).boards[0].arena_bytes for memory in CodeMemory}
    assert len(arenas) == 1


def test_the_option_and_the_report(tmp_path: Path) -> None:
    split, out = str(tmp_path / "split.json"), str(tmp_path / "out")
    run("split", str(MODEL), "--board", L4PLUS, "--out", split)
    generate = ("generate", str(MODEL), "--split", split, "--samples", str(CALIBRATION), "--out", out)
    text = run(*generate, "--explain")
    assert f"board 1 ({L4PLUS}): code of its layers in ram, at most " in text
    assert "in flash they would wait about " in text
    assert f"board 1 ({L4PLUS}): code of its layers in flash: requested" in run(
        *generate, "--explain", "--code-memory", "flash"
    )
    (board,) = json.loads(run(*generate, "--code-memory", "ram", "--json"))["boards"]
    assert (board["code_memory"], board["code_memory_reason"]) == ("ram", "requested")
    assert board["ram_code_bytes"] > 0
    run("split", str(MODEL), "--board", F4, "--out", split)
    assert "code of its layers" not in run(*generate)
    run(*generate, "--code-memory", "ram", expect=2)
