"""Flashing real boards, as `tinysplit flash` does, and replacing their weights, as `tinysplit update` does."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from typing_extensions import override

from tinysplit.api.arguments import for_scripts
from tinysplit.api.given import GivenPath
from tinysplit.api.result import Result
from tinysplit.common.choices import VIRTUAL, ProgrammerName
from tinysplit.common.errors import UsageError
from tinysplit.common.progress import Listener, console_of
from tinysplit.project.manifest import Project
from tinysplit_hil.bench.flash import NOTHING_TO_FLASH, flash_project
from tinysplit_hil.bench.flash_report import FlashReport
from tinysplit_hil.bench.update import UpdatedBoard, update_folder, update_to_json
from tinysplit_hil.rig.programmers import PROGRAMMERS


@dataclass(frozen=True)
class FlashedBoard:
    """A board after flashing: `is_good` if it runs the image of the folder, else `problem` says why not."""

    number: int
    name: str
    serial_number: str | None  # of its probe
    image_bytes: int
    is_skipped: bool  # as it ran this image before
    is_good: bool
    seconds: float  # of the programmer
    problem: str


@dataclass(frozen=True)
class FlashResult(Result):
    """All boards of a project after flashing."""

    boards: tuple[FlashedBoard, ...]
    report: FlashReport = field(repr=False)

    @classmethod
    def of(cls, report: FlashReport) -> Self:
        """Return flashed boards as scripts get them."""
        boards = (
            FlashedBoard(
                number=each.board.number,
                name=each.board.name,
                serial_number=each.probe.serial_number,
                image_bytes=each.image_bytes,
                is_skipped=each.is_skipped,
                is_good=each.is_good,
                seconds=each.seconds,
                problem=each.problem,
            )
            for each in report.boards
        )
        return cls(tuple(boards), report)

    @for_scripts
    def check(self) -> None:
        """Raise ToolError unless all boards run the image of the folder."""
        self.report.check()

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit flash --json` prints."""
        return self.report.to_json()

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each board."""
        return [asdict(board) for board in self.boards]


@dataclass(frozen=True)
class BoardUpdate:
    """The weights file of a board, by counter and CRC-32, before and after an update."""

    number: int
    name: str
    counter_before: int
    crc_before: int
    counter: int
    crc: int
    is_skipped: bool  # as it had this file before


@dataclass(frozen=True)
class UpdateResult(Result):
    """All boards of a project after an update."""

    boards: tuple[BoardUpdate, ...]
    updated: tuple[UpdatedBoard, ...] = field(repr=False)

    @classmethod
    def of(cls, updated: tuple[UpdatedBoard, ...]) -> Self:
        """Return updated boards as scripts get them."""
        boards = (
            BoardUpdate(
                number=each.board.number,
                name=each.board.name,
                counter_before=each.before.counter,
                crc_before=each.before.crc,
                counter=each.after.counter,
                crc=each.after.crc,
                is_skipped=each.is_skipped,
            )
            for each in updated
        )
        return cls(tuple(boards), updated)

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit update --json` prints."""
        return update_to_json(self.updated)

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each board, with CRC-32 in hexadecimal digits."""
        return [
            {**asdict(board), "crc_before": f"{board.crc_before:08x}", "crc": f"{board.crc:08x}"}
            for board in self.boards
        ]


@for_scripts
def update(
    folder: GivenPath, rig: GivenPath, *, allow_older: bool = False, progress: Listener | None = None
) -> UpdateResult:
    """Replace the weights of all boards of a rig file over their host ports, as `tinysplit update` does.

    Boards that have the files of the folder already are left out. Raises InputError for a folder without weights files,
    or with damaged ones; UsageError for virtual boards, and for signed files with `allow_older`; ToolError for boards
    that do not reply, have other programs, or newer weights without `allow_older`: no board is changed then.
    """
    return UpdateResult.of(tuple(update_folder(Path(folder), str(rig), console_of(progress), may_be_older=allow_older)))


@for_scripts
def flash(
    folder: GivenPath,
    rig: GivenPath,
    programmer: ProgrammerName = ProgrammerName.OPENOCD,
    *,
    weights_only: bool = False,
    force: bool = False,
    progress: Listener | None = None,
) -> FlashResult:
    """Flash every board of a folder by its probe in a rig file, as `tinysplit flash` does; builds if needed.

    Boards that run their image already are left out, unless `force` is set. With `weights_only` they get their
    weights files, and keep their programs. `FlashResult.check` says whether all run their image then.

    Raises InputError for a folder or a rig file that cannot be used, CheckFailedError for an image that does not fit,
    ToolError where a programmer, a probe or a port is missing, or a board is another part or protected: nothing is
    flashed then.
    """
    if str(rig) == VIRTUAL:
        raise UsageError(f"rig {rig}: {NOTHING_TO_FLASH}: give a rig file")
    project = Project.read(Path(folder))
    chosen = PROGRAMMERS[programmer]
    console = console_of(progress)
    report = flash_project(project, Path(folder), Path(rig), chosen, console, force=force, weights_only=weights_only)
    return FlashResult.of(report)
