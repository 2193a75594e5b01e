"""Makes the report of the boards of a rig: measured, compared with virtual boards of the same program, and judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from rich.console import Console

from tinysplit.boards.board import Board
from tinysplit.boards.link_rates import host_baud_of
from tinysplit.build.folder import build_folder
from tinysplit.codegen.board_report.piece import BASE, Piece
from tinysplit.codegen.board_report.pieces import left_out, pieces_of
from tinysplit.codegen.board_report.projects import generate_report
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import ToolError
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted
from tinysplit.project.manifest import Project
from tinysplit_hil.bench.clocks import ClockError
from tinysplit_hil.bench.flash import check_reachable, flash_rig
from tinysplit_hil.bench.images import running_images
from tinysplit_hil.board_report.client import ReportClient
from tinysplit_hil.board_report.events import count_events, events_left_out, has_counters
from tinysplit_hil.board_report.file import BoardResult, Events, PieceCycles, ReportFile
from tinysplit_hil.board_report.measuring import (
    Cycles,
    Run,
    identity_of,
    measure_pieces,
    read_registers,
    runs_of,
)
from tinysplit_hil.board_report.rules import Bodies, Judge, Tables, TryOut, bodies_of
from tinysplit_hil.board_report.timing_file import timing_text
from tinysplit_hil.rig.rig import VirtualSettings, open_rig
from tinysplit_hil.rig.rig_file import read_rig_file


@dataclass(frozen=True)
class ReportSettings:
    """Where boards are measured, and the rules of the virtual boards that they are compared with."""

    rig: str = VIRTUAL
    programmer: ProgrammerName = ProgrammerName.OPENOCD
    timing: Path | None = None  # None: the shipped rules


@dataclass(frozen=True)
class Bench:
    """The program of a report, and what is measured on each board, by number."""

    project: Project
    folder: Path
    boards: Mapping[int, Board]
    runs: Mapping[int, Sequence[Run]]

    @classmethod
    def built(cls, boards: Sequence[Board], folder: Path, messages: Console, *, force: bool = False) -> Self:
        """Generate and build the program in `folder`. Raises the errors of both."""
        bench = cls.generated(boards, folder, force=force)
        build_folder(bench.project, folder, messages)
        return bench

    @classmethod
    def generated(cls, boards: Sequence[Board], folder: Path, *, force: bool) -> Self:
        """Generate the program in `folder`. Raises the errors of `generate_report`."""
        numbered = dict(enumerate(boards, 1))
        runs = {number: runs_of(board) for number, board in numbered.items()}
        return cls(generate_report(boards, folder, force=force), folder, numbered, runs)


@dataclass(frozen=True)
class _Measured:
    """What boards have measured, by number: registers by name, clock errors, cycles and events of all runs."""

    kind: str
    note: str
    registers: Mapping[int, Mapping[str, int]]
    clocks: Mapping[int, ClockError]
    cycles: Mapping[int, Sequence[Cycles]]
    events: Mapping[int, Sequence[Events | None]]


def make_report(
    boards: Sequence[Board], folder: Path, settings: ReportSettings, messages: Console, *, force: bool = False
) -> ReportFile:
    """Generate and build the program of a report in `folder`, flash it where boards do not run it, and measure.

    Raises InputError for a rig file, folder or timing file that cannot be used, ToolError where flashing or a board
    fails; before anything is built where a board cannot be reached, or is another part.
    """
    from tinysplit_hil.board_report.virtual_values import rules_of  # noqa: PLC0415 (requires Unicorn)

    tables = dict(enumerate(rules_of(boards, settings.timing), 1))
    names = [board.name for board in boards]
    check_reachable(settings.rig, names, host_baud_of(boards), settings.programmer, messages)
    bench = Bench.generated(boards, folder, force=force)
    if settings.rig != VIRTUAL and read_rig_file(Path(settings.rig)).runs_without_flashing:
        _check_images(bench, settings.rig)
    build_folder(bench.project, folder, messages)
    flash_rig(bench.project, folder, settings.rig, settings.programmer, messages)
    measured = _measure(bench, settings.rig, messages)
    virtual = measured.cycles
    if settings.rig != VIRTUAL or settings.timing:
        with steps(messages, "running the same program on virtual boards"):
            virtual = virtual_cycles(bench, VirtualSettings(timing=settings.timing))
    with steps(messages, "comparing rules"):
        results = tuple(_result(bench, number, measured, virtual[number], tables[number]) for number in bench.boards)
    return ReportFile(rig="virtual" if measured.kind == "virtual" else "real", note=measured.note, boards=results)


def _check_images(bench: Bench, rig: str) -> None:
    """Raise ToolError for boards that run another image, and cannot be flashed."""
    with open_rig(rig, bench.project, bench.folder) as opened:
        images = running_images(bench.project, opened, bench.boards)
    others = [bench.project.board(number).title for number, image in images.items() if not image.is_new]
    if others:
        raise ToolError(
            f"{', '.join(others)} of {rig} {'runs' if len(others) == 1 else 'run'} another image, and cannot be "
            f"flashed: `tinysplit build {bench.folder}`, then serve `tinysplit virtual {bench.folder} -o {rig}`, or "
            "give its boards debug ports"
        )


def _measure(bench: Bench, rig: str, messages: Console) -> _Measured:
    with open_rig(rig, bench.project, bench.folder) as opened:
        client = ReportClient(bench.project, opened)
        client.begin()
        registers = read_registers(client, bench.boards)
        with steps(messages, f"measuring pieces of code on {counted(len(bench.boards), f'{opened.kind} board')}"):
            cycles = measure_pieces(client, bench.runs, bench.boards)
            events = {
                number: count_events(client, board, number, bench.runs[number], cycles[number])
                for number, board in bench.boards.items()
                if has_counters(registers[number])
            }
        with steps(messages, "measuring clocks"):
            clocks = client.clock_errors()
        return _Measured(opened.kind, opened.note, registers, clocks, cycles, events)


def virtual_cycles(bench: Bench, virtual: VirtualSettings) -> Mapping[int, Sequence[Cycles]]:
    """Return the cycles of all runs on virtual boards."""
    with open_rig(VIRTUAL, bench.project, bench.folder, virtual) as opened:
        client = ReportClient(bench.project, opened)
        client.begin()
        return measure_pieces(client, bench.runs, bench.boards)


def _result(bench: Bench, number: int, measured: _Measured, virtual: Sequence[Cycles], tables: Tables) -> BoardResult:
    board, runs = bench.boards[number], bench.runs[number]
    events = measured.events.get(number, [None] * len(runs))
    pieces = tuple(
        _piece_cycles(run, own, there).model_copy(update={"events": counted})
        for run, own, there, counted in zip(runs, measured.cycles[number], virtual, events, strict=True)
    )
    return BoardResult(
        name=board.name,
        part=board.device.name,
        core=board.device.core,
        family=board.device.family,
        identity=identity_of(
            bench.project, bench.folder, number, measured.registers[number], measured.clocks.get(number)
        ),
        pieces=pieces,
        left_out={**left_out(board), **events_left_out(board, measured.registers[number])},
        rules=Judge(board, pieces_of(board), tables, pieces, _trier(bench, number)).verdicts(),
    )


def _piece_cycles(run: Run, measured: Cycles, virtual: Cycles) -> PieceCycles:
    return PieceCycles(
        piece=run.piece.name,
        place=run.place,
        offset=run.offset,
        loops=run.piece.loops,
        repeats=run.piece.repeats,
        base=run.piece.base_name,
        dma_bytes=run.piece.dma_bytes or 0,
        settings=run.settings,
        measured=measured,
        virtual=virtual,
    )


def bodies_of_runs(runs: Sequence[Run], cycles: Sequence[Cycles]) -> Bodies:
    """Return the cycles that runs take beside their loops, see `bodies_of`."""
    return bodies_of([_piece_cycles(run, own, own) for run, own in zip(runs, cycles, strict=True)])


def _trier(bench: Bench, number: int) -> TryOut:
    """Return what runs a piece on the virtual board with other values of its rules."""

    def try_out(tables: Tables, piece: Piece) -> Bodies:
        runs = tuple(
            replace(run, settings=run.settings[:1])
            for run in bench.runs[number]
            if run.piece.name in (BASE, piece.base_name, piece.name)
        )
        with TemporaryDirectory() as folder:
            path = Path(folder) / "timing.toml"
            path.write_text(timing_text(bench.boards[number].device.name, tables), encoding="utf-8")
            cycles = virtual_cycles(replace(bench, runs={number: runs}), VirtualSettings(timing=path))[number]
        return bodies_of_runs(runs, cycles)

    return try_out
