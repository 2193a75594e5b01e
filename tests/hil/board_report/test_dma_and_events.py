"""What reports measure beside DMA, and count by the DWT, for which virtual boards have counters here."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from typing_extensions import override

from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import VIRTUAL
from tinysplit_hil.board_report.client import ReportClient
from tinysplit_hil.board_report.events import count_events, has_counters
from tinysplit_hil.board_report.measuring import Run, measure_pieces, read_registers
from tinysplit_hil.board_report.report import Bench, bodies_of_runs, virtual_cycles
from tinysplit_hil.rig.rig import VirtualSettings, open_rig
from virtual_stm32 import machine
from virtual_stm32.core.system_control import Dwt, SystemControl

G0, F4 = 1, 2
DWT_CTRL, NOPRFCNT, EVENTS = 0, 1 << 24, 0x320000
WRAPS, LEAST_COUNTED = 256, 100
MOST_AROUND_LOOPS = 60  # cycles of a piece that are not those of its loops
COUNTERS = (0x08, 0x14, 0x18)  # CPI, LSU, FOLD


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    boards = [load_board(name) for name in ("nucleo_g071rb", "nucleo_f401re")]
    return Bench.built(boards, tmp_path_factory.mktemp("report") / "out", Console(quiet=True))


def only(bench: Bench, is_wanted: Callable[[Run], bool]) -> Bench:
    """Return a bench that measures less: code in flash at 0 modulo 4, with the first setting."""
    runs = {
        number: tuple(
            replace(run, settings=run.settings[:1])
            for run in own
            if is_wanted(run) and (run.place, run.offset) == ("flash", 0)
        )
        for number, own in bench.runs.items()
    }
    return replace(bench, runs=runs)


def test_a_byte_of_dma_costs_what_the_rule_says(bench: Bench, tmp_path: Path) -> None:
    timing = tmp_path / "timing.toml"
    timing.write_text('version = 1\npart = "stm32g071rbt6"\n[cortex-m0plus]\ndma_wait = 3\n')
    beside = only(bench, lambda run: run.piece.name == "loop" or run.piece.dma_bytes is not None)
    cycles = virtual_cycles(beside, VirtualSettings(timing=timing))
    for number, wait in ((G0, 3), (F4, 0)):
        found = bodies_of_runs(beside.runs[number], cycles[number])
        for kind in ("loads", "stores", "fetches"):
            assert found[f"{kind} beside DMA", "flash", 0] == pytest.approx(wait), kind


class RestlessDwt(Dwt):
    """Its counters go on in every cycle, as fast as those of a core can at most."""

    def __init__(self, control: SystemControl, slept: Callable[[], int]) -> None:
        super().__init__(control, slept)
        self.words |= dict.fromkeys(COUNTERS, 0)
        self._enabled = 0

    @override
    def is_steady(self, offset: int) -> bool:
        return offset not in COUNTERS and super().is_steady(offset)

    @override
    def read(self, offset: int, now: int) -> int:
        if offset in COUNTERS:
            return now - self._enabled & 0xFF
        return super().read(offset, now) & ~(NOPRFCNT if offset == DWT_CTRL else 0)

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset == DWT_CTRL and value & ~self.words[DWT_CTRL] & EVENTS == EVENTS:
            self._enabled = now
        super().store(offset, value, now)


def test_events_are_right_whatever_wraps(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "Dwt", RestlessDwt)
    short = only(bench, lambda run: run.piece.name in ("loop", "loads in a row", "division, long", "2 x word of flash"))
    with open_rig(VIRTUAL, short.project, short.folder) as opened:
        client = ReportClient(short.project, opened)
        client.begin()
        registers = read_registers(client, short.boards)
        assert [has_counters(registers[number]) for number in (G0, F4)] == [False, True]
        cycles = measure_pieces(client, short.runs, short.boards)[F4]
        events = count_events(client, short.boards[F4], F4, short.runs[F4], cycles)
    for run, own, counted in zip(short.runs[F4], cycles, events, strict=True):
        assert counted is not None
        assert counted.cpi == counted.lsu == counted.fold
        around_loops = own[0] - counted.cpi / counted.loops * run.piece.loops
        assert 0 < around_loops < MOST_AROUND_LOOPS, run.piece.name
        assert LEAST_COUNTED < counted.cpi < WRAPS - MOST_AROUND_LOOPS
