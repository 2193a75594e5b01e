"""The firmware of every family on virtual boards, its PLL fed by HSE: the clock is right, or the board falls back."""

from dataclasses import replace
from pathlib import Path

import pytest

from programs.firmware_build import SubModel, build, firmware_of, link_project, network_source, write_project
from programs.virtual_firmware import address_of
from rigs.hse_boards import HSE_HZ, with_osc_in
from tinysplit.boards.board import Board, ClockSource
from tinysplit.boards.catalog import load_board
from tinysplit.codegen.board_files import render_board_files
from tinysplit.codegen.platformio_ini import render_platformio_ini
from virtual_stm32 import VirtualBoard, VirtualRig
from virtual_stm32.clock import PS_PER_S

NETWORK = network_source((SubModel(1, 2),), 64)
RESET_HZ = {
    "stm32g0": 16_000_000,
    "stm32c0": 12_000_000,
    "stm32l0": 2_097_152,
    "stm32f0": 8_000_000,
    "stm32f1": 8_000_000,
    "stm32f3": 8_000_000,
    "stm32f4": 16_000_000,
    "stm32l4": 4_000_000,
    "stm32wb": 4_000_000,
    "stm32wl": 4_000_000,
    "stm32u5": 4_000_000,
    "stm32h5": 32_000_000,
    "stm32l5": 4_000_000,
    "stm32g4": 16_000_000,
    "stm32f7": 16_000_000,
    "stm32h7": 64_000_000,
}
CRYSTALS = ("bluepill_f103c8", "nucleo_g474re", "nucleo_wb55rg")
BOARDS = (
    *(
        "nucleo_g071rb",
        "nucleo_c031c6",
        "nucleo_f746zg",
        "nucleo_l053r8",
        "nucleo_f072rb",
        "nucleo_f103rb",
        "nucleo_f303re",
        "nucleo_f401re",
        "nucleo_l452re",
        "nucleo_g431rb",
        "nucleo_h743zi",
        "nucleo_u575zi_q",
        "nucleo_h563zi",
        "nucleo_l552ze_q",
        "nucleo_wl55jc",
    ),
    *CRYSTALS,
    *(
        pytest.param(name, marks=pytest.mark.nightly)
        for name in ("nucleo_f091rc", "nucleo_f302r8", "nucleo_f446re", "nucleo_l4r5zi", "nucleo_h723zg")
    ),
)
OWN_HSE = (*CRYSTALS, "nucleo_f103rb", "nucleo_f302r8", "nucleo_wl55jc")  # of F103 and F302, it gives a higher clock
OTHER_HZ = {"nucleo_c031c6": 48_000_000}  # without a PLL
MS_PS = PS_PER_S // 1000
WINDOW_MS = 20  # a sleeping board is ahead by up to a tick


@pytest.fixture(scope="module", params=BOARDS)
def fed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Board, Path]:
    """Return a board whose PLL is fed by HSE, and its firmware."""
    hz = OTHER_HZ.get(request.param, HSE_HZ)
    shipped = load_board(request.param) if request.param in OWN_HSE else with_osc_in(request.param, hz)
    board = shipped.with_clock(ClockSource.HSE)
    links = board.link_uarts
    network = network_source((SubModel(1, 2),), 64, n_links=len(links))
    return board, build(tmp_path_factory.mktemp(board.name), board, links, network)


def test_the_error_of_the_boards_oscillators_is_not_that_of_hse(fed: tuple[Board, Path], tmp_path: Path) -> None:
    board, elf = fed
    hsi = board.with_clock(ClockSource.HSI)
    hsi_elf = build(tmp_path, hsi, (), NETWORK)
    times = [
        VirtualRig([VirtualBoard(board, each, clock_error_ppm=error)], has_ideal_memory=True)
        for each in (elf, hsi_elf)
        for error in (0, 30_000)
    ]
    hz = [clock_rate(rig) for rig in times]
    assert hz[0] == hz[1] == board.clock.core_hz
    assert hz[3] == pytest.approx(1.03 * hz[2])


def clock_rate(rig: VirtualRig) -> int:
    rig.run_until(5 * MS_PS)
    return rig._machines[0].clock.hz


def clock_after(limit_ms: int, board: Board, elf: Path) -> tuple[bool, int, int]:
    """Return `clock_ok` and `clock_core_hz` of the firmware, and the core cycles per millisecond after it."""
    rig = VirtualRig([VirtualBoard(board, elf)], finds_loops=False, has_ideal_memory=True)
    rig.run_until(limit_ms * MS_PS)
    before = rig.cycles(0)
    rig.run_until((limit_ms + WINDOW_MS) * MS_PS)
    ok_at, hz_at = address_of("clock_ok", elf), address_of("clock_core_hz", elf)
    is_ok = rig.read_word(0, ok_at & ~3) >> 8 * (ok_at & 3) & 1
    return bool(is_ok), rig.read_word(0, hz_at), (rig.cycles(0) - before) // WINDOW_MS


def test_hse_feeds_the_pll(fed: tuple[Board, Path]) -> None:
    board, elf = fed
    is_ok, core_hz, cycles = clock_after(5, board, elf)
    assert (is_ok, core_hz) == (True, board.clock.core_hz)
    assert cycles == pytest.approx(core_hz / 1000, rel=0.15)  # a board may be ahead of the host by a byte


def test_without_a_clock_at_osc_in_the_board_stays_at_its_reset_frequency(fed: tuple[Board, Path]) -> None:
    board, elf = fed
    limit_ms = 300 if RESET_HZ[board.device.family] >= 4_000_000 else 1000  # its polls take longer
    is_ok, core_hz, cycles = clock_after(limit_ms, replace(board, hse_clock=None, clock_source=ClockSource.HSI), elf)
    assert (is_ok, core_hz) == (False, RESET_HZ[board.device.family])
    assert cycles == pytest.approx(core_hz / 1000, rel=0.15)


def texts(board: Board) -> tuple[str, str]:
    return render_board_files(firmware_of(board))["src/board.c"], render_platformio_ini(board)


def test_only_projects_of_hse_know_of_it(tmp_path: Path) -> None:
    board = load_board("nucleo_f446re")
    assert all("HSE" not in text for text in texts(board))
    source, settings = texts(board.with_clock(ClockSource.HSE))
    assert "_Static_assert(CLOCK_HSE_HZ == 8000000u," in source
    assert ".pll_n = 180," in source
    assert "    -D STM32F446xx\n    -D CLOCK_HSE_HZ=8000000u\n" in settings
    write_project(tmp_path, board.with_clock(ClockSource.HSE), (), NETWORK)
    assert "the PLL values are for HSE" in link_project(tmp_path, board).stderr, "without its macro"
