"""`tinysplit bench` and `flash`: real boards on a desk."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tinysplit.boards.board import ClockSource
from tinysplit.boards.catalog import load_all
from tinysplit.cli import completion
from tinysplit.cli.basic_options import Folder, Force, Json, emit, messages
from tinysplit.cli.bench.report import report
from tinysplit.cli.config.command import CheckedCommand, ConfiguredCommand, PlainGroup
from tinysplit.cli.option import option
from tinysplit.cli.options import WIRING_TEST, BoardsOfRig, Clock, HostBaud, ProgrammerOption
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import UsageError
from tinysplit.common.folder_lock import locked_folder
from tinysplit.common.output_file import check_output_file
from tinysplit.common.tables import counted
from tinysplit.common.texts.quoting import shell_line
from tinysplit.project.manifest import Project
from tinysplit.settings.boards_and_links import BOARD
from tinysplit.settings.measurement import BY, RIG
from tinysplit.settings.programs import ALLOW_OLDER, WEIGHTS_ONLY
from tinysplit.settings.result_files import FORCE, OUT
from tinysplit_hil.bench.check import check_bench
from tinysplit_hil.bench.check_report import check_to_json, print_check
from tinysplit_hil.bench.discover import discover as discover_boards
from tinysplit_hil.bench.discover import print_bench, write_rig
from tinysplit_hil.bench.flash import (
    NOTHING_TO_FLASH,
    FlashTarget,
    check_writes,
    flash_project,
    planned_commands,
    targets_of,
)
from tinysplit_hil.bench.flash_report import print_flash
from tinysplit_hil.bench.production import flash_unit
from tinysplit_hil.bench.reset import ResetBy, Resetter, reset_by_host, reset_by_power, reset_by_probes
from tinysplit_hil.bench.update import print_update, update_folder, update_to_json
from tinysplit_hil.rig.commands import Command
from tinysplit_hil.rig.labgrid_targets import programmer_of
from tinysplit_hil.rig.programmers import PROGRAMMERS
from tinysplit_hil.rig.rig_file import names_in, read_rig_file
from tinysplit_hil.rig.rig_links import write_links
from tinysplit_hil.rig.stlink import UDEV_RULES

bench = typer.Typer(
    cls=PlainGroup,
    add_completion=False,
    rich_markup_mode=None,
    help="Real boards on a desk: find them, test their wires, and let users open their ports.",
)

RigPath = Annotated[
    Path,
    typer.Option(
        "--rig",
        help="TOML file with the serial number of every board's probe (`bench discover`).",
        autocompletion=completion.rig_files,
    ),
]


@bench.command(cls=CheckedCommand)
def discover(
    out: Annotated[Path | None, option(OUT, "Rig file to write.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """List the ST-LINKs that are plugged in, their serial ports and, through them, the parts of the boards."""
    check_output_file(out, force=force)
    discovered = discover_boards(messages)
    if out:
        write_rig(out, discovered)
        messages.print(f"wrote {out}: put its [[board]]s in the order of the project", soft_wrap=True)
    emit(as_json, discovered.to_json(), lambda console: print_bench(discovered, console))


@bench.command(cls=ConfiguredCommand)
def check(
    rig: Annotated[
        str,
        typer.Option(
            "--rig",
            help="TOML file with the boards (`bench discover`), or `virtual` with --board.",
            autocompletion=completion.rigs,
        ),
    ],
    board: BoardsOfRig = None,
    programmer: ProgrammerOption = ProgrammerName.OPENOCD,
    clock: Clock = ClockSource.HSI,
    out: Annotated[
        Path | None,
        option(OUT, f"Rig file to write: {RIG} with the links that were found, or {RIG} itself."),
    ] = None,
    folder: Annotated[Path, typer.Option(help="Folder for the programs of the test.")] = WIRING_TEST,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Test the wires between boards, the baud rates of all links, and the boards' clocks. Flashes a test program."""
    if rig == VIRTUAL and out:
        raise UsageError(f"{RIG} {rig}: there is no rig file whose links {OUT} could complete: leave {OUT} out")
    if out and out.resolve() != Path(rig).resolve():
        check_output_file(out, force=force)
    text = "" if rig == VIRTUAL else _text(Path(rig))
    boards = tuple(each.with_clock(clock) for each in load_all(_names(rig, board)))
    with locked_folder(folder):
        checked = check_bench(boards, rig, folder, programmer, messages, force=force)
    emit(as_json, check_to_json(checked), lambda console: print_check(checked, console))
    if out:
        write_links(out, text, checked.rig_links)
        messages.print(f"wrote {out} with {counted(len(checked.rig_links), 'link')}", highlight=False, soft_wrap=True)
    checked.check()


def _text(rig: Path) -> str:
    """Return the text of a rig file. Raises InputError where it is missing or not valid."""
    read_rig_file(rig)
    return rig.read_text(encoding="utf-8")


def _names(rig: str, names: Sequence[str] | None) -> Sequence[str]:
    """Return the names of the boards. Raises UsageError or InputError where they are not known, or too few."""
    if rig == VIRTUAL and not names:
        raise UsageError(f"{RIG} {rig}: repeat {BOARD} for each board of the test")
    names = names or names_in(Path(rig))
    if len(names) < 2:  # noqa: PLR2004 (a link has two ends)
        raise UsageError("a test of wires needs at least two boards")
    return names


bench.command(cls=ConfiguredCommand)(report)


@bench.command(cls=ConfiguredCommand)
def reset(
    rig: RigPath,
    board: Annotated[
        list[int] | None, typer.Option("--board", help="Number of a board; by default all. Repeat for several.", min=1)
    ] = None,
    by: Annotated[
        ResetBy,
        option(BY),
    ] = ResetBy.PROBE,
    programmer: Annotated[
        Resetter, typer.Option(help="Program that resets boards by their probes.")
    ] = Resetter.OPENOCD,
    host_baud: HostBaud = None,
    as_json: Json = False,
) -> None:
    """Reset the boards of a rig: by their probes, by the host or by their power."""
    if str(rig) == VIRTUAL:
        raise UsageError(f"{RIG} {rig}: virtual boards start with each measurement: give a rig file")
    numbers = board or ()
    boards = {
        ResetBy.PROBE: lambda: reset_by_probes(rig, numbers, ProgrammerName(programmer)),
        ResetBy.HOST: lambda: reset_by_host(rig, numbers, host_baud),
        ResetBy.POWER: lambda: reset_by_power(rig, numbers),
    }[by]()

    def show(console: Console) -> None:
        for each in boards:
            console.print(f"{each.title}: reset by {each.by}", highlight=False, markup=False, soft_wrap=True)

    emit(as_json, {"boards": [asdict(each) for each in boards]}, show)


@bench.command(cls=CheckedCommand)
def udev() -> None:
    """Print the udev rules that let users open the probes and their ports without being root."""
    typer.echo(UDEV_RULES)


def flash(
    folder: Folder,
    rig: RigPath,
    programmer: ProgrammerOption = ProgrammerName.OPENOCD,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands and run none: no probe or programmer is needed.")
    ] = False,
    weights_only: Annotated[
        bool,
        option(WEIGHTS_ONLY),
    ] = False,
    production: Annotated[
        Path | None,
        typer.Option(
            "--production",
            help="Log of units that are flashed one after the other: a JSON line for each board, with the unique ID of "
            "its MCU. Boards of a unit that has passed are refused without --force.",
        ),
    ] = None,
    force: Annotated[bool, option(FORCE, "Flash also the boards that run the image of the folder already.")] = False,
    as_json: Json = False,
) -> None:
    """Flash every board of a project by its probe, and check that it runs its image then. Builds if needed."""
    if str(rig) == VIRTUAL:
        raise UsageError(f"{RIG} {rig}: {NOTHING_TO_FLASH}: give a rig file")
    if production and (dry_run or weights_only):
        other = "--dry-run" if dry_run else WEIGHTS_ONLY(True)
        raise UsageError(f"--production {production} logs whole images that are flashed: leave {other} out")
    project = Project.read(folder)
    chosen = PROGRAMMERS[programmer]
    if dry_run:
        chosen = programmer_of(rig, read_rig_file(rig), chosen)
        targets = targets_of(project, folder, rig, weights_only=weights_only)
        if weights_only:
            check_writes(chosen)
        planned = planned_commands(targets, chosen)
        emit(as_json, _commands_to_json(planned), lambda console: _print_commands(planned, console))
        return
    if production:
        report = flash_unit(project, folder, rig, chosen, messages, production, force=force)
    else:
        report = flash_project(project, folder, rig, chosen, messages, force=force, weights_only=weights_only)
    emit(as_json, report.to_json(), lambda console: print_flash(report, console))
    report.check()


def update(
    folder: Folder,
    rig: RigPath,
    allow_older: Annotated[bool, option(ALLOW_OLDER)] = False,
    as_json: Json = False,
) -> None:
    """Replace the weights of boards over their host ports, after `generate --structure-of`. The programs stay."""
    updated = update_folder(folder, str(rig), messages, may_be_older=allow_older)
    emit(as_json, update_to_json(updated), lambda console: print_update(updated, console))


_Planned = list[tuple[FlashTarget, tuple[Command, ...]]]


def _commands_to_json(planned: _Planned) -> dict[str, Any]:
    return {
        "boards": [
            {
                "number": target.board.number,
                "serial_number": target.probe.serial_number,
                "commands": [*map(list, commands)],
            }
            for target, commands in planned
        ]
    }


def _print_commands(planned: _Planned, console: Console) -> None:
    """Print the lines as a shell takes them, each board's below a comment."""
    for target, commands in planned:
        for line in (f"# {target.title}", *map(shell_line, commands)):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
