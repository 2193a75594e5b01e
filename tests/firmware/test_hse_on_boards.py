"""The firmware of every family on virtual boards, its PLL fed by HSE: the clock is right, or the board falls back."""

from dataclasses import replace
from pathlib import Path

import pytest

from firmware_build import SubModel, build, network_source
from hse_boards import with_osc_in
from tinysplit.boards.board import Board, ClockSource
from tinysplit_hil.virtual import VirtualBoard, VirtualRig
from tinysplit_hil.virtual.clock import PS_PER_S
from virtual_firmware import address_of

NETWORK = network_source((SubModel(1, 2),), 64)
RESET_HZ = {"stm32g0": 16_000_000, "stm32f4": 16_000_000, "stm32l4": 4_000_000, "stm32h7": 64_000_000}
BOARDS = (
    *("nucleo_g071rb", "nucleo_f401re", "nucleo_f446re", "nucleo_l452re"),
    *("nucleo_l4r5zi", "nucleo_h743zi", "nucleo_h723zg"),
)
MS_PS = PS_PER_S // 1000


@pytest.fixture(params=BOARDS)
def board(request: pytest.FixtureRequest) -> Board:
    return with_osc_in(request.param).with_clock(ClockSource.HSE)


def clock_after(limit_ms: int, board: Board, elf: Path) -> tuple[bool, int, int]:
    """Return `clock_ok` and `clock_core_hz` of the firmware, and the core cycles of the next millisecond."""
    rig = VirtualRig([VirtualBoard(board, elf)], finds_loops=False)
    rig.run_until(limit_ms * MS_PS)
    before = rig.cycles(0)
    rig.run_until((limit_ms + 1) * MS_PS)
    ok_at, hz_at = address_of("clock_ok", elf), address_of("clock_core_hz", elf)
    is_ok = rig.read_word(0, ok_at & ~3) >> 8 * (ok_at & 3) & 1
    return bool(is_ok), rig.read_word(0, hz_at), rig.cycles(0) - before


def test_hse_feeds_the_pll(board: Board, tmp_path: Path) -> None:
    elf = build(tmp_path, board, board.link_uarts, NETWORK)
    is_ok, core_hz, cycles = clock_after(5, board, elf)
    assert (is_ok, core_hz) == (True, board.clock.core_hz)
    assert cycles == pytest.approx(core_hz / 1000, rel=0.15)  # a board may be ahead of the host by a byte


def test_without_a_clock_at_osc_in_the_board_stays_at_its_reset_frequency(board: Board, tmp_path: Path) -> None:
    elf = build(tmp_path, board, board.link_uarts, NETWORK)
    is_ok, core_hz, cycles = clock_after(600, replace(board, hse_clock=None, clock_source=ClockSource.HSI), elf)
    assert (is_ok, core_hz) == (False, RESET_HZ[board.device.family])
    assert cycles == pytest.approx(core_hz / 1000, rel=0.15)


def test_a_project_of_hsi_knows_nothing_of_hse(board: Board, tmp_path: Path) -> None:
    hsi = board.with_clock(ClockSource.HSI)
    files = [build(tmp_path / name, each, (), NETWORK) for name, each in (("hsi", hsi), ("hse", board))]
    sources = [(file.parent / "src" / "board.c").read_text() for file in files]
    assert ["CLOCK_HSE_HZ" in source for source in sources] == [False, True]
    assert clock_after(5, replace(hsi, hse_clock=None), files[0])[:2] == (True, hsi.clock.core_hz)
