"""The pieces that decide rules of Cortex-M33 take what these rules say."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tinysplit.boards.catalog import load_board
from tinysplit.codegen.board_report.pieces import left_out, pieces_of
from tinysplit_hil.board_report.report import Bench, bodies_of_runs, virtual_cycles
from tinysplit_hil.board_report.rules import TOLERANCE_CYCLES
from tinysplit_hil.board_report.timing_file import timing_text
from tinysplit_hil.rig.rig import VirtualSettings
from virtual_stm32.timing_rules import shipped_rules

BOARD, CORE = "nucleo_u575zi_q", "cortex-m33"
UNDECIDED = {"exception_exit", "tail_chain", "cache_ways"}
MORE = {  # cycles of a body where all rules take one more: a branch that is taken is in some
    "taken_branch": 1,
    "taken_branch_in_pair": 1,
    "loaded_branch": 2,
    "refetch": 2,
    "table_branch": 2,
    "late_result": 1,
    "flags_of_late_result": 1,
    "double": 1,
    "shortest_division": 1,
    "special": 1,
    "fpu_fused": 0.75,  # nothing waits for the last of four
    "fpu_result": 0.75,
    "fpu_division": 1,
}


def deciding() -> dict[str, tuple[str, int]]:
    """Return the piece and the offset that decide each rule of the core."""
    return {
        rule.removeprefix(f"{CORE}."): (piece.name, offset)
        for piece in pieces_of(load_board(BOARD))
        for rule, offset in piece.decides.items()
        if rule.startswith(f"{CORE}.")
    }


def test_a_piece_decides_each_rule() -> None:
    numbers = {name for name, rule in shipped_rules(CORE).items() if isinstance(rule.value, int)}
    assert set(deciding()) == numbers - UNDECIDED


def test_the_largest_loop_is_twice_the_cache() -> None:
    board = load_board(BOARD)
    sizes = {piece.name: 2 * piece.repeats for piece in pieces_of(board) if piece.name.endswith("% of cache")}
    whole = board.caches.code_bytes + board.caches.data_bytes
    assert sizes["loop, 200 % of cache"] == 2 * whole - 6  # beside its other instructions
    assert sizes["loop, 50 % of cache"] == whole // 2 - 6


def test_nothing_is_left_out_that_the_core_has() -> None:
    reasons = left_out(load_board(BOARD))
    assert "UMULL chain" not in reasons
    assert reasons["SRAM banks in turn"] == "stm32u575zit6q has no RAM on the code buses beside another"


@pytest.mark.slow
def test_each_rule_is_seen_by_its_piece(tmp_path: Path) -> None:
    bench = Bench.built([load_board(BOARD)], tmp_path / "out", Console(quiet=True))
    wanted = {deciding()[rule] for rule in MORE}
    runs = tuple(
        replace(run, settings=run.settings[:1])
        for run in bench.runs[1]
        if run.place == "flash" and (run.piece.name == "loop" or (run.piece.name, run.offset) in wanted)
    )
    timing = tmp_path / "timing.toml"
    values = {rule: shipped_rules(CORE)[rule].value for rule in MORE}
    more = {rule: value + 1 for rule, value in values.items() if isinstance(value, int)}
    timing.write_text(timing_text(bench.boards[1].device.name, {CORE: more}))
    usual, slow = (
        bodies_of_runs(runs, virtual_cycles(replace(bench, runs={1: runs}), VirtualSettings(timing=each))[1])
        for each in (None, timing)
    )
    keys = {rule: (name, "flash", offset) for rule, (name, offset) in deciding().items() if rule in MORE}
    found = {rule: slow[key] - usual[key] for rule, key in keys.items()}
    assert found == pytest.approx(MORE, abs=TOLERANCE_CYCLES)
