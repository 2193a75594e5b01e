"""`tinysplit calibrate`: measures kernels on boards, and writes a cost table for them."""

from pathlib import Path
from typing import Annotated

import typer

from tinysplit.boards.board import ClockSource
from tinysplit.boards.catalog import load_all
from tinysplit.calibration.conditions import read_calibration, with_currents, write_calibration
from tinysplit.calibration.fitted_kernels import calibration_to_json, print_calibration, print_currents
from tinysplit.calibration.power_trace import fit_currents
from tinysplit.cli import completion
from tinysplit.cli.basic_options import Force, Json, emit, messages, wrote
from tinysplit.cli.measure_options import Timing
from tinysplit.cli.option import option
from tinysplit.cli.options import Clock, CostTableFile, ProgrammerOption, Rig, check_bits
from tinysplit.common.choices import BIT_WIDTHS, VIRTUAL, ProgrammerName
from tinysplit.common.errors import UsageError
from tinysplit.common.output_file import check_output_file
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.settings.boards_and_links import BOARD
from tinysplit.settings.measurement import ONLY, RIG
from tinysplit.settings.result_files import OUT
from tinysplit_hil.calibration.calibrate import CORE_BOARDS, CalibrationRequest, OtherCosts, all_networks
from tinysplit_hil.calibration.calibrate import calibrate as calibrate_boards
from tinysplit_hil.calibration.layers import CalibrationBench
from tinysplit_hil.rig.rig import VirtualSettings

BoardNames = Annotated[
    list[str] | None,
    typer.Option(
        "--board",
        "-b",
        help="Board whose kernels are measured; repeat it for several virtual ones. By default one of each core, and "
        "everything else that the cost table has.",
        autocompletion=completion.boards,
    ),
]
Only = Annotated[
    list[str] | None,
    option(ONLY),
]
PowerTrace = Annotated[
    Path | None,
    typer.Option(
        help="Measure nothing, and fit the currents of --board to this trace: CSV with columns time (s), "
        "current (mA) and marker (run, sleep).",
    ),
]
Parts = Annotated[
    bool, typer.Option("--parts", help="Also print the cycles of each part of a kernel, with their interval.")
]


def calibrate(
    rig: Rig = VIRTUAL,
    board: BoardNames = None,
    only: Only = None,
    bits: Annotated[list[int] | None, typer.Option(help="Measure only this bit width: 8 or 16.")] = None,
    out: Annotated[Path, option(OUT, "Calibration file to write.")] = Path("calibration.json"),
    cost_table: CostTableFile = None,
    power: PowerTrace = None,
    clock: Clock = ClockSource.HSI,
    timing: Timing = None,
    programmer: ProgrammerOption = ProgrammerName.OPENOCD,
    parts: Parts = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure the kernels of boards, fit their costs, and write a calibration file.

    With --cost-table, costs that are not measured are those of that file.
    """
    if rig != VIRTUAL and not board:
        raise UsageError(f"{RIG} {rig} needs the name of its board: {BOARD}")
    VirtualSettings(timing=timing).check(rig)
    VirtualSettings(timing=timing).check_boards(board or CORE_BOARDS)
    check_output_file(out, force=force)
    base = read_calibration(cost_table, ()) if cost_table else None
    if power is not None:
        if only or rig != VIRTUAL:
            raise UsageError(f"--power measures nothing: leave {ONLY} and {RIG} out")
        _calibrate_power(power, board or [], base, out, as_json=as_json)
        return
    others = frozenset(map(OtherCosts, set(only or ()) & set(OtherCosts)))
    request = CalibrationRequest(
        bench=CalibrationBench(rig, has_ideal_memory=rig == VIRTUAL, timing=timing, programmer=programmer),
        boards=[each.with_clock(clock) for each in load_all(board or CORE_BOARDS)],
        networks=all_networks(),
        bits=tuple(map(check_bits, bits or BIT_WIDTHS)),
        kinds=frozenset(only) - others if only else None,
        others=others if board or only else frozenset(OtherCosts),
    )
    table = calibrate_boards(request, base, messages)
    write_calibration(out, table)
    wrote(out)
    emit(as_json, calibration_to_json(table), lambda console: print_calibration(table, console, has_parts=parts))


def _calibrate_power(trace: Path, names: list[str], base: CycleTable | None, out: Path, *, as_json: bool) -> None:
    """Write a calibration file with the currents of one board, and all costs of `base` or of this installation."""
    if len(names) != 1:
        raise UsageError(f"--power needs the name of the board that was measured: {BOARD}")
    (board,) = load_all(names)
    currents = fit_currents(trace)
    write_calibration(out, with_currents(base, board, currents))
    wrote(out)
    emit(
        as_json,
        {"board": board.name, **currents.model_dump()},
        lambda console: print_currents(board, currents, console),
    )
