"""Resets the boards of a rig: by their probes, or by themselves when the host asks for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from tinysplit.boards.board import board_title
from tinysplit.boards.catalog import load_all
from tinysplit.boards.debug_port import DebugPort, load_debug_port
from tinysplit.boards.link_rates import host_baud_of
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import InputError, ToolError, UsageError
from tinysplit.settings.boards_and_links import BOARD
from tinysplit.settings.measurement import BY
from tinysplit_hil.rig.commands import Command, run_command, side_by_side
from tinysplit_hil.rig.labgrid_targets import board_ports, cycle_power, on_targets
from tinysplit_hil.rig.ports import open_port
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice, failure, openocd_command, pyocd_target
from tinysplit_hil.rig.rig_file import DISCOVER, RigFile, read_rig_file
from tinysplit_hil.wire.client import BoardClient

RESET_LIMIT_S = 60.0


class ResetBy(StrEnum):
    """What resets the boards."""

    PROBE = "probe"
    HOST = "host"  # REBOOT of docs/understand/protocol.md
    POWER = "power"  # of a target of labgrid


class Resetter(StrEnum):
    """The programmers that reset boards."""

    OPENOCD = ProgrammerName.OPENOCD.value
    PYOCD = ProgrammerName.PYOCD.value
    ST_FLASH = ProgrammerName.ST_FLASH.value
    CUBEPROGRAMMER = ProgrammerName.CUBEPROGRAMMER.value


@dataclass(frozen=True)
class ResetBoard:
    """A board that was reset: its title, and what has done it."""

    number: int
    title: str
    by: str


def _openocd(port: DebugPort, probe: ProbeChoice) -> Command:
    return openocd_command(probe, f"{port.openocd_target}.cfg", "init; reset run; shutdown")


def _pyocd(port: DebugPort, probe: ProbeChoice) -> Command:
    return ("pyocd", "reset", "-W", "-u", str(probe.serial_number), "-t", pyocd_target(port.part))


def _st_flash(_port: DebugPort, probe: ProbeChoice) -> Command:
    return ("st-flash", "--serial", str(probe.serial_number), "reset")


def _cube(_port: DebugPort, probe: ProbeChoice) -> Command:
    return ("STM32_Programmer_CLI", "-c", "port=SWD", f"sn={probe.serial_number}", "-rst")


_COMMANDS: Mapping[ProgrammerName, Callable[[DebugPort, ProbeChoice], Command]] = {
    ProgrammerName.OPENOCD: _openocd,
    ProgrammerName.PYOCD: _pyocd,
    ProgrammerName.ST_FLASH: _st_flash,
    ProgrammerName.CUBEPROGRAMMER: _cube,
}


def reset_commands(path: Path, numbers: Sequence[int], programmer: ProgrammerName) -> dict[int, Command]:
    """Return the command that resets each board by its probe, by number; no `numbers` are all boards.

    Raises InputError where the rig file lacks a name or a probe, UsageError for a board that it lacks.
    """
    rig = read_rig_file(path)
    commands = {}
    for number in _wanted(path, rig, numbers):
        board = rig.board[number - 1]
        probe = _probe(path, rig, number)
        if not board.name:
            raise InputError(
                f"{path} has no name for board {number}, which tells the part: add it, or use {BY('host')}"
            )
        commands[number] = _COMMANDS[programmer](load_debug_port(board.name), probe)
    return on_targets(path, rig, PROGRAMMERS[programmer], commands)


def _probe(path: Path, rig: RigFile, number: int) -> ProbeChoice:
    """Return a board's probe. Raises InputError where it is missing."""
    probe = rig.board[number - 1].probe
    if not probe:
        raise InputError(f"{path} has no serial_number for board {number}, by which it is reset; {DISCOVER}")
    return probe


def _wanted(path: Path, rig: RigFile, numbers: Sequence[int]) -> list[int]:
    every = list(range(1, len(rig.board) + 1))
    for number in numbers:
        if number not in every:
            raise UsageError(f"{BOARD} {number}: {path} has the boards 1 to {len(every)}")
    return sorted(set(numbers)) or every


def reset_by_probes(path: Path, numbers: Sequence[int], programmer: ProgrammerName) -> list[ResetBoard]:
    """Reset boards by their probes. Raises ToolError, which names all boards that were not, besides those above."""
    commands = reset_commands(path, numbers, programmer)
    rig = read_rig_file(path)
    if rig.virtual:
        rig.virtual.check_runs(path)
    probes = {number: _probe(path, rig, number) for number in commands}
    PROGRAMMERS[programmer].require([], list(probes.values()))
    titles = {number: _title(rig, number) for number in commands}
    calls = {number: partial(run_command, each, RESET_LIMIT_S) for number, each in commands.items()}
    done = side_by_side(calls, len(commands))
    failed = [
        f"{titles[number]} at probe {probes[number].title}: {failure(each.output)}"
        for number, each in done.items()
        if each.exit_code
    ]
    if failed:
        raise ToolError(f"not reset: {'; '.join(failed)}")
    return [ResetBoard(n, titles[n], f"probe {probes[n].title} with {programmer}") for n in commands]


def reset_by_power(path: Path, numbers: Sequence[int]) -> list[ResetBoard]:
    """Switch boards off and on. The errors are those of `cycle_power`, and UsageError for a board that is not there."""
    rig = read_rig_file(path)
    wanted = _wanted(path, rig, numbers)
    cycle_power(path, rig, wanted)
    return [ResetBoard(n, _title(rig, n), f"the power of target {rig.board[n - 1].target}") for n in wanted]


def reset_by_host(path: Path, numbers: Sequence[int], host_baud: int | None) -> list[ResetBoard]:
    """Let boards reset themselves, by default at the rate that `generate` chooses for the boards which the file names.

    Raises ToolError where a board does not reply, or its port cannot be opened.
    """
    rig = read_rig_file(path)
    if rig.virtual:
        raise InputError(
            f"{path} has virtual boards of another process, whose time only a measurement shares: use {BY('probe')}"
        )
    baud = host_baud or host_baud_of(load_all([board.name for board in rig.board if board.name]))
    boards = []
    with board_ports(path, rig) as ports:
        for number in _wanted(path, rig, numbers):
            with open_port(ports[number - 1], baud) as port:
                client = BoardClient(port, _title(rig, number))
                client.run(client.reboot())
            boards.append(ResetBoard(number, _title(rig, number), f"itself, asked on {ports[number - 1]}"))
    return boards


def _title(rig: RigFile, number: int) -> str:
    return board_title(number, rig.board[number - 1].name or "?")
