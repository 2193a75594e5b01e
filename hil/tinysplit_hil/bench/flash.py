"""Flashes the boards of a project: those that do not run its image yet, and only if all of them can be flashed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from tinysplit.boards.board import board_title
from tinysplit.boards.debug_port import DebugPort, load_debug_port
from tinysplit.build.elf import check_memory
from tinysplit.build.folder import build_folder
from tinysplit.build.report import BuildReport
from tinysplit.build.weights import checked_weights_file
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import InputError, ToolError, UsageError
from tinysplit.common.folder_lock import locked_folder
from tinysplit.common.output_folder import source_files
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.settings.measurement import PROGRAMMER
from tinysplit.settings.programs import WEIGHTS, WEIGHTS_ONLY
from tinysplit_hil.bench.empty_check import starts_program
from tinysplit_hil.bench.flash_report import BoardResult, FlashReport
from tinysplit_hil.bench.images import BOOT_S, RunningImage, running_images
from tinysplit_hil.bench.parts import ProbedPart, check_parts
from tinysplit_hil.bench.probe_images import check_compares, images_by_probe
from tinysplit_hil.rig.commands import Command, run_command
from tinysplit_hil.rig.labgrid_targets import programmer_of
from tinysplit_hil.rig.programmers import (
    PROGRAMMERS,
    ProbeChoice,
    Programmer,
    failure,
    loader_command,
)
from tinysplit_hil.rig.rig import check_ports_open, check_rig, open_rig
from tinysplit_hil.rig.rig_file import DISCOVER, RigFile, check_ports, read_rig_file, read_rig_of
from tinysplit_hil.rig.rig_links import read_rig_of_project

_Ask = Callable[[Iterable[int], float], dict[int, RunningImage]]  # of boards by number, and seconds to wait

NOTHING_TO_FLASH = "virtual boards run their images without flashing"
FLASH_LIMIT_S = 300.0  # of one command; 2 MB take about a minute


@dataclass(frozen=True)
class FlashTarget:
    """A board that is flashed: its image, its probe and its debug port; `weights`: only these, none of its program."""

    board: ProjectBoard
    elf: Path
    probe: ProbeChoice
    port: DebugPort
    weights: Path | None = None

    @property
    def title(self) -> str:
        """Board and probe, as in messages."""
        return self.part.title

    def commands(self, programmer: Programmer) -> tuple[Command, ...]:
        """Return the commands that flash the board, in their order."""
        if self.weights and self.board.weights_file and programmer.write:
            return (programmer.write(self.port, self.weights, self.board.weights_file.address, self.probe),)
        return programmer.flash(self.port, self.elf, self.probe)

    @property
    def part(self) -> ProbedPart:
        """The part that it should have."""
        return ProbedPart(self.board.number, self.probe, self.port)


@dataclass(frozen=True)
class Programmed:
    """What the programmer did to a board: its time in seconds, and why it failed, if it did."""

    seconds: float
    failure: str | None
    starts: bool = True  # False: its part may start its boot loader in place of the program


def targets_of(
    project: Project, folder: Path, rig_file: Path, *, weights_only: bool = False
) -> tuple[FlashTarget, ...]:
    """Return the boards of a project with their probes. Raises InputError for a rig file without probes.

    With `weights_only`, they get nothing but their configuration files: InputError where there are none.
    """
    if weights_only and project.weights_counter is None:
        raise InputError(f"{folder} has its weights in C arrays: generate it with {WEIGHTS('binary')}")
    for board in project.boards if weights_only else ():
        checked_weights_file(project, board, folder)
    rig = read_rig_of_project(rig_file, project)
    if rig.runs_without_flashing:
        raise InputError(f"{rig_file}: {NOTHING_TO_FLASH}: give a rig file of real boards")
    probes = _probes(rig_file, rig, project.numbered_names)
    return tuple(
        FlashTarget(
            board,
            board.elf(folder),
            probes[board.number],
            load_debug_port(board.name),
            board.weights_path(folder) if weights_only else None,
        )
        for board in project.boards
    )


def check_flashable(rig: str, names: Sequence[str], programmer: ProgrammerName) -> None:
    """Raise the errors of a rig and a programmer for boards with these names that need no image to be found."""
    check_rig(rig)
    if rig == VIRTUAL:
        return
    file = read_rig_of(Path(rig), dict(enumerate(names, 1)))
    check_ports(Path(rig), file)
    if not file.runs_without_flashing:
        parts, chosen = _parts(Path(rig), file, names), programmer_of(Path(rig), file, PROGRAMMERS[programmer])
        chosen.require([part.port for part in parts], [part.probe for part in parts])


def check_reachable(
    rig: str, names: Sequence[str], host_baud: int, programmer: ProgrammerName, messages: Console
) -> None:
    """Raise what `check_flashable` does, and the errors of ports that cannot be opened, and of parts by their probes.

    Of a rig where each board has a port.
    """
    check_flashable(rig, names, programmer)
    if rig == VIRTUAL:
        return
    path, file = Path(rig), read_rig_file(Path(rig))
    check_ports_open(path, dict(enumerate(names, 1)), host_baud)
    if not file.runs_without_flashing:
        check_parts(_parts(path, file, names), programmer_of(path, file, PROGRAMMERS[programmer]), messages)


def _parts(rig_file: Path, rig: RigFile, names: Sequence[str]) -> list[ProbedPart]:
    """Return the parts of boards with these names. Raises InputError where a board has no probe."""
    probes = _probes(rig_file, rig, dict(enumerate(names, 1)))
    return [ProbedPart(number, probe, load_debug_port(names[number - 1])) for number, probe in probes.items()]


def flash_rig(
    project: Project, folder: Path, rig: str, programmer: ProgrammerName, messages: Console
) -> FlashReport | None:
    """Flash the boards of a rig that do not run the image of `folder`, just built, yet; None where boards are virtual.

    Raises ToolError unless all boards run it then; the other errors are those of `flash_project`.
    """
    if rig == VIRTUAL:
        return None
    if read_rig_file(Path(rig)).runs_without_flashing:
        messages.print(f"{rig}: {NOTHING_TO_FLASH}", highlight=False, markup=False, soft_wrap=True)
        return None
    report = flash_project(project, folder, Path(rig), PROGRAMMERS[programmer], messages, is_built=True)
    report.check()
    return report


def _probes(rig_file: Path, rig: RigFile, names: Mapping[int, str]) -> dict[int, ProbeChoice]:
    """Return each board's probe, by number. Raises InputError where one is missing."""
    probes = {}
    for number, entry in rig.by_number(names).items():
        if not entry.probe:
            title = board_title(number, names[number])
            raise InputError(f"{rig_file} has no serial_number for {title}, by which it is flashed; {DISCOVER}")
        probes[number] = entry.probe
    return probes


def _check_external(targets: Iterable[FlashTarget]) -> None:
    """Raise ToolError for an image with weights in an external memory, which no programmer writes by itself."""
    for target in targets:
        if n_bytes := target.board.external_weights_bytes:
            raise ToolError(
                f"{target.title}: {n_bytes} bytes of weights are for its external memory, which needs a loader:"
                f" flash it with `{loader_command(target.elf, target.probe)}`, LOADER being that of the board in"
                " STM32CubeProgrammer, and go on"
            )


def planned_commands(
    targets: Iterable[FlashTarget], programmer: Programmer
) -> list[tuple[FlashTarget, tuple[Command, ...]]]:
    """Return all commands that flashing these boards takes; the one that reads the part, if any, comes first.

    Raises ToolError for weights in an external memory.
    """
    targets = list(targets)
    _check_external(targets)
    return [
        (
            target,
            (
                *((programmer.read(target.probe, target.part.registers),) if programmer.read else ()),
                *target.commands(programmer),
            ),
        )
        for target in targets
    ]


def flash_project(
    project: Project,
    folder: Path,
    rig_file: Path,
    programmer: Programmer,
    messages: Console,
    *,
    force: bool = False,
    weights_only: bool = False,
    is_built: bool = False,
) -> FlashReport:
    """Flash the boards that do not run the image of `folder` yet, or all with `force`, and look what they run then.

    With `weights_only`, the boards get their configuration files, and keep their programs, which have to be
    those of `folder`: nothing is built.

    Builds the folder where an image is missing or older than its sources; with `is_built` not, as its caller, who may
    hold the folder's lock, has built it. Nothing is flashed unless all boards can be: raises InputError for a rig file
    that cannot be used, CheckFailedError for an image that does not fit, ToolError for a programmer, probe or port that
    is missing, another part, or one with read-out protection.
    """
    targets = targets_of(project, folder, rig_file, weights_only=weights_only)
    programmer = programmer_of(rig_file, read_rig_file(rig_file), programmer)
    programmer.require([target.port for target in targets], [target.probe for target in targets])
    if not (weights_only or is_built or all(_is_fresh(board, folder) for board in project.boards)):
        with locked_folder(folder):
            build_folder(project, folder, messages)
    sizes = _weights_bytes(targets, programmer) if weights_only else _image_bytes(project, folder)
    with _asker(project, folder, rig_file, targets, programmer) as ask:
        with steps(messages, f"asking {counted(len(targets), 'board')} what they run"):
            images = ask([target.board.number for target in targets], 0.0)
        _check_programs([target for target in targets if target.weights], images)
        wanted = [target for target in targets if force or _is_wanted(target, images[target.board.number])]
        _check_external(wanted)
        check_parts([target.part for target in wanted], programmer, messages)
        programmed = _program(wanted, programmer, messages)
        images |= _images_after(ask, programmed, messages)
    results = (
        _result(target, sizes, images, programmed.get(target.board.number), compares=programmer.verifies)
        for target in targets
    )
    return FlashReport(programmer.name, tuple(results))


@contextmanager
def _asker(
    project: Project, folder: Path, rig_file: Path, targets: Sequence[FlashTarget], programmer: Programmer
) -> Iterator[_Ask]:
    """Yield what asks boards for their images: over their host ports, or through their probes where none has a port."""
    if read_rig_file(rig_file).has_ports:
        with open_rig(str(rig_file), project, folder, is_in_real_time=True) as rig:
            yield partial(running_images, project, rig)
        return
    check_compares(programmer)
    if any(target.weights for target in targets):
        raise UsageError(f"{WEIGHTS_ONLY(True)} asks boards for their programs: give them ports in {rig_file}")
    boards = {target.board.number: (target.board, target.elf, target.probe) for target in targets}
    yield lambda numbers, _wait_s: images_by_probe([boards[number] for number in numbers], programmer)


def check_writes(programmer: Programmer) -> None:
    """Raise UsageError for a programmer that only writes whole images."""
    if programmer.write is None:
        raise UsageError(
            f"{PROGRAMMER} {programmer.name} writes whole images: leave {WEIGHTS_ONLY(True)} out, or use "
            f"{PROGRAMMER} {ProgrammerName.OPENOCD}"
        )


def _is_wanted(target: FlashTarget, image: RunningImage) -> bool:
    """Whether a board gets what it is to be flashed with: weights also where those that it has are damaged."""
    return not (image.is_good if target.weights else image.is_new)


def _check_programs(targets: Iterable[FlashTarget], images: Mapping[int, RunningImage]) -> None:
    """Raise ToolError, before anything is written, for boards whose programs do not take the weights."""
    for target in targets:
        image = images[target.board.number]
        if not image.has_program:
            raise ToolError(
                f"no board was flashed: {target.title} has no program of this structure ({image.problem}): flash it "
                f"without {WEIGHTS_ONLY(True)}"
            )


def _weights_bytes(targets: Iterable[FlashTarget], programmer: Programmer) -> dict[int, int]:
    """Return the bytes of each configuration file. Raises UsageError for a programmer that cannot write it."""
    check_writes(programmer)
    sizes = {}
    for target in targets:
        if target.weights and target.board.weights_file:
            sizes[target.board.number] = target.board.weights_file.size_bytes
    return sizes


def _result(
    target: FlashTarget,
    sizes: Mapping[int, int],
    images: Mapping[int, RunningImage],
    programmed: Programmed | None,
    *,
    compares: bool,
) -> BoardResult:
    number = target.board.number
    return BoardResult(
        board=target.board,
        probe=target.probe,
        image_bytes=sizes[number],
        is_skipped=programmed is None,
        is_compared=compares and programmed is not None,
        seconds=programmed.seconds if programmed else 0.0,
        image=images[number],
        programmer_failure=programmed.failure if programmed else None,
        starts=programmed.starts if programmed else True,
    )


# Images


def _image_bytes(project: Project, folder: Path) -> dict[int, int]:
    """Return the bytes of each image in flash, by board. Raises CheckFailedError for one that does not fit."""
    built = BuildReport.read(project, folder).boards
    for program in built:
        check_memory(program.board.title, program.sizes)
    return {program.board.number: program.sizes.flash.used_bytes for program in built}


def _is_fresh(board: ProjectBoard, folder: Path) -> bool:
    """Whether the image is there, and newer than all files that it is built from."""
    elf = board.elf(folder)
    if not elf.is_file():
        return False
    return all(path.stat().st_mtime <= elf.stat().st_mtime for path in source_files(folder / board.directory))


# Programming


def _program(targets: Sequence[FlashTarget], programmer: Programmer, messages: Console) -> Mapping[int, Programmed]:
    """Flash the boards, side by side where the programmer allows it; one that fails does not end the others."""
    if not targets:
        return {}
    with steps(messages, f"flashing {counted(len(targets), 'board')} with {programmer.name}"):
        return programmer.each({target.board.number: partial(_program_one, target, programmer) for target in targets})


def _program_one(target: FlashTarget, programmer: Programmer) -> Programmed:
    seconds = 0.0
    try:
        for command in target.commands(programmer):
            done = run_command(command, FLASH_LIMIT_S)
            seconds += done.seconds
            if done.exit_code:
                return Programmed(seconds, f"{command[0]} failed: {failure(done.output)}")
    except ToolError as error:
        return Programmed(seconds, str(error))
    return Programmed(seconds, None, starts_program(programmer, target.port, target.probe))


def _images_after(ask: _Ask, programmed: Mapping[int, Programmed], messages: Console) -> dict[int, RunningImage]:
    """Return what the boards run that were flashed, as soon as they do."""
    if not programmed:
        return {}
    with steps(messages, f"asking {counted(len(programmed), 'board')} what they run"):
        return ask(programmed, BOOT_S)
