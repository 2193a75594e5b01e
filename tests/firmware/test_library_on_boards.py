"""Libraries of a split network in a program of CubeMX's shape, on virtual boards, beside the generated project."""

import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from libraries.boards import Programs
from rigs.faulty_boards import MS_PS
from rigs.standalone_boards import DIVISIONS, SAMPLES, Division, StandaloneBoards, standalone_boards, standalone_project
from session.shared_folder import made_once
from tinysplit.project.manifest import Project
from virtual_stm32 import ResetCause

G071, F401 = "nucleo_g071rb", "nucleo_f401re"
PAIR, CHAIN = Division("whole layers", (G071, F401)), Division("whole layers", (F401, G071, G071))
SLOW = replace(PAIR, title="slow line", settings=replace(PAIR.settings, baud=57600))
BLOCKING = ("BLOCKS",)
RECOVERY_MS = 400 + 200  # and for SAMPLES inferences

pytestmark = pytest.mark.slow


@cache
def programs(division: Division, *defines: str) -> tuple[Project, Path]:
    """Return the project of `standalone_project` and a copy of its folder with libraries in the programs."""
    project, folder = standalone_project(division)

    def make(out: Path) -> None:
        out.mkdir()
        Programs(project, folder, out).hal(*defines)

    return project, made_once(
        "-".join(("hal", division.title, *division.boards, *defines)).replace(" ", "-"), make
    ) / "project"


def period_ms(boards: StandaloneBoards) -> float:
    """Return the mean time between results, without the first ones."""
    assert boards.run_to(2 * SAMPLES + 3, 800)
    times = boards.result_ms[3:]
    return (times[-1] - times[0]) / (len(times) - 1)


@pytest.mark.parametrize("defines", [(), BLOCKING], ids=["poll", "infer"])
def test_the_port_to_the_hal_is_as_fast_as_the_generated_program(defines: tuple[str, ...]) -> None:
    with standalone_boards(*standalone_project(PAIR)) as generated:
        expected = period_ms(generated)
    with standalone_boards(*programs(PAIR, *defines)) as boards:
        assert period_ms(boards) == pytest.approx(expected, rel=0.05)
        assert boards.read(boards.first, "failures") == 0


@pytest.mark.parametrize(
    "defines",
    [(), pytest.param(BLOCKING, marks=pytest.mark.nightly)],  # calls that block compute on two boards, above
    ids=["poll", "infer"],
)
def test_three_boards_compute_and_go_on_after_resets(defines: tuple[str, ...]) -> None:
    with standalone_boards(*programs(CHAIN, *defines)) as boards:
        assert boards.run_to(2 * SAMPLES, 300)
        for index in range(len(CHAIN.boards)):
            failures = boards.read((index + 1) % len(CHAIN.boards), "failures")
            boards.virtual.reset_board(index, ResetCause.PIN)
            assert boards.run_to(SAMPLES, RECOVERY_MS)
            assert boards.read((index + 1) % len(CHAIN.boards), "failures") > failures
        boards.virtual.reset_board(1, ResetCause.POWER_UP, held_ps=500 * MS_PS)
        boards.run(500)
        assert boards.run_to(SAMPLES, RECOVERY_MS + 200)


@pytest.mark.parametrize("number", [1, 2])
def test_a_library_and_a_generated_program_work_together(number: int, tmp_path: Path) -> None:
    project, folder = standalone_project(PAIR)
    mixed = Programs(project, folder, tmp_path)
    mixed.hal(numbers=[number])
    other = project.board(3 - number)
    other.elf(mixed.out).parent.mkdir(parents=True)
    shutil.copyfile(other.elf(folder), other.elf(mixed.out))
    with standalone_boards(project, mixed.out) as boards:
        assert boards.run_to(SAMPLES, 300)
        boards.virtual.reset_board(number - 1, ResetCause.PIN)
        assert boards.run_to(SAMPLES, RECOVERY_MS)


@pytest.mark.parametrize(
    "division",
    [
        pytest.param(each, marks=pytest.mark.nightly if len(each.boards) == 2 else ())  # three have more links
        for each in DIVISIONS
        if each.title in {"rows", "channels"}
    ],
    ids=lambda each: f"{each.title} {len(each.boards)}",
)
def test_divided_layers_compute_over_the_port_to_the_hal(division: Division) -> None:
    with standalone_boards(*programs(division)) as boards:
        assert boards.run_to(SAMPLES, 400)


def sizes(elf: Path) -> tuple[int, int]:
    """Return the bytes of flash, and those of RAM with the stack."""
    printed = subprocess.run(["arm-none-eabi-size", str(elf)], capture_output=True, text=True, check=True).stdout
    text, data, bss, *_ = map(int, printed.splitlines()[1].split()[:3])
    return text + data, data + bss


def test_a_library_takes_no_more_memory_than_the_generated_program() -> None:
    (project, folder), (_, own) = standalone_project(PAIR), programs(PAIR)
    for board in project.boards:
        (flash, ram), (own_flash, own_ram) = sizes(board.elf(folder)), sizes(board.elf(own))
        assert own_flash < flash
        assert own_ram < 1.05 * ram


def test_a_bare_program_that_is_not_ours(tmp_path: Path) -> None:
    """At the clock of the reset and 57 600 baud, by an interrupt for each byte."""
    project, folder = standalone_project(SLOW)
    Programs(project, folder, tmp_path).bare()
    with standalone_boards(project, tmp_path / "project") as boards:
        assert boards.run_to(SAMPLES, 3000)
        boards.virtual.reset_board(boards.last, ResetCause.PIN)
        assert boards.run_to(1, 2000)
