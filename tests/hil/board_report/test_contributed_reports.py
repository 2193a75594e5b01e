"""Contributed reports: virtual boards do not get further away from what was measured than they were at that time."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tinysplit.boards.catalog import load_board
from tinysplit_hil.board_report.file import BoardResult, PieceCycles, read_report
from tinysplit_hil.board_report.report import Bench, virtual_cycles
from tinysplit_hil.board_report.tables import DEFAULT_THRESHOLD_PERCENT
from tinysplit_hil.rig.rig import VirtualSettings

REPORTS = sorted((Path(__file__).parents[3] / "benchmarks" / "board_reports").glob("*.json"))
NIGHTLY = ("nucleo_f401re_virtual",)  # the L452 has the same core
LEAST_CYCLES = 2.0  # of a loop, below which a difference does not matter


def test_reports_are_marked_by_their_kind() -> None:
    assert REPORTS
    for path in REPORTS:
        assert path.stem.endswith("_virtual") == (read_report(path).rig == "virtual"), path


def away(board: BoardResult, folder: Path) -> Iterator[str]:
    """Yield the pieces that virtual boards, with the usual setting, take cycles for which are further away now."""
    bench = Bench.built([load_board(board.name)], folder, Console(quiet=True))
    measured: dict[tuple[str, str, int], PieceCycles] = {
        (each.piece, each.place, each.offset): each for each in board.pieces
    }
    runs = [replace(run, settings=run.settings[:1]) for run in bench.runs[1]]
    now = virtual_cycles(replace(bench, runs={1: runs}), VirtualSettings())[1]
    for run, cycles in zip(runs, now, strict=True):
        there = measured.get((run.piece.name, run.place, run.offset))
        if there is None or (there.loops, there.repeats) != (run.piece.loops, run.piece.repeats):
            continue
        wanted = there.measured[0]
        allowed = max(
            wanted * DEFAULT_THRESHOLD_PERCENT / 100, LEAST_CYCLES * there.loops, abs(there.virtual[0] - wanted)
        )
        if abs(cycles[0] - wanted) > allowed:
            yield f"{run.piece.name}, {run.place} +{run.offset}: {cycles[0]} cycles, measured were {wanted}"


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.nightly if path.stem in NIGHTLY else (), id=path.stem) for path in REPORTS],
)
def test_virtual_boards_stay_as_close_as_they_were(path: Path, tmp_path: Path) -> None:
    for number, board in enumerate(read_report(path).boards):
        assert not list(away(board, tmp_path / str(number)))
