"""Flashes the boards of products, one unit after the other, with a line in a log for each board.

A unit has all boards of the project. The log has JSON lines, in the order in which boards were flashed; a board is
known by the unique ID of its MCU, as fixtures keep their probes.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError
from rich.console import Console

from tinysplit.common.errors import CheckFailedError, InputError, TinysplitError, ToolError
from tinysplit.common.file_schema import FileModel, first_mistake
from tinysplit.common.folder_lock import locked_file
from tinysplit.common.project_files import LIST_NAME
from tinysplit.project.manifest import Project
from tinysplit.settings.measurement import PROGRAMMER
from tinysplit.settings.result_files import FORCE
from tinysplit_hil.bench.flash import FlashTarget, flash_project, targets_of
from tinysplit_hil.bench.flash_report import FlashReport
from tinysplit_hil.rig.labgrid_targets import programmer_of
from tinysplit_hil.rig.programmers import Programmer
from tinysplit_hil.rig.rig_file import read_rig_file


class LogLine(FileModel):
    """A board of a unit: what it has got, and whether it runs it."""

    time: str  # UTC, ISO 8601
    unit: int  # from 1
    project_hash: str
    image_sha256: str | None  # of the ELF file; None: it was not built
    board: int
    name: str
    probe: str
    unique_id: str | None  # 24 hexadecimal digits; None: it could not be read
    result: Literal["pass", "fail"]
    problem: str | None
    seconds: float  # of the programmer


@dataclass(frozen=True)
class ProductionLog:
    """A log and its lines."""

    path: Path
    lines: tuple[LogLine, ...]

    @classmethod
    def read(cls, path: Path, project: Project) -> Self:
        """Read a log, which need not be there yet. Raises InputError for other files, and logs of other projects."""
        if folder := next((each for each in path.resolve().parents if (each / LIST_NAME).is_file()), None):
            raise InputError(
                f"{path} is inside the generated folder {folder}, which is replaced as a whole: name a file outside"
            )
        try:
            with path.open("a+", encoding="utf-8") as file:  # it has to be writable before anything is flashed
                file.seek(0)
                texts = file.read().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise InputError(f"{path} cannot be used as a log ({reason}): name another file") from None
        lines = tuple(_parsed(path, number, text) for number, text in enumerate(texts, 1) if text.strip())
        own = f"{project.project_hash:08x}"
        if other := next((line.project_hash for line in lines if line.project_hash != own), None):
            raise InputError(f"{path} is the log of project {other}, this one is {own}: name another file")
        return cls(path, lines)

    @property
    def next_unit(self) -> int:
        """Number of the unit that is flashed next."""
        return max((line.unit for line in self.lines), default=0) + 1

    def passed(self, unique_id: str) -> LogLine | None:
        """Return the last line of a board in a unit all of whose boards have passed, None if there is none."""
        failed = {line.unit for line in self.lines if line.result == "fail"}
        own = [line for line in self.lines if line.unique_id == unique_id and line.unit not in failed]
        return own[-1] if own else None

    def append(self, lines: list[LogLine]) -> None:
        """Add lines to the file."""
        with self.path.open("a", encoding="utf-8") as file:
            before = "" if self._is_whole() else "\n"
            file.write(before + "".join(f"{json.dumps(line.model_dump())}\n" for line in lines))

    def _is_whole(self) -> bool:
        """Whether the last line has an end, which an editor may have taken away."""
        return self.path.read_bytes()[-1:] in {b"", b"\n"}


def _parsed(path: Path, number: int, text: str) -> LogLine:
    try:
        return LogLine.model_validate_json(text)
    except ValidationError as error:
        mistake = first_mistake(error)
        raise InputError(
            f"{path} is no log of flashing: line {number}: {mistake}: mend the line, or name another file"
        ) from None


def flash_unit(
    project: Project,
    folder: Path,
    rig_file: Path,
    programmer: Programmer,
    messages: Console,
    log: Path,
    *,
    force: bool = False,
) -> FlashReport:
    """Flash the boards of a unit, as `flash_project` does, and log a line for each, whether it passes or not.

    Raises CheckFailedError for a board of a unit that has passed already, unless `force`, InputError for a log that
    cannot be used, ToolError while another command uses it, and the errors of `flash_project`, which are logged.
    """
    with locked_file(log):
        return _flash_unit(project, folder, rig_file, programmer, messages, log, force=force)


def _flash_unit(
    project: Project,
    folder: Path,
    rig_file: Path,
    programmer: Programmer,
    messages: Console,
    log: Path,
    *,
    force: bool,
) -> FlashReport:
    targets = targets_of(project, folder, rig_file)
    programmer = programmer_of(rig_file, read_rig_file(rig_file), programmer)
    programmer.require([target.port for target in targets], [target.probe for target in targets])
    known = ProductionLog.read(log, project)
    unit = _Unit(project, known.next_unit, targets)
    try:
        unique_ids = {target.board.number: unique_id_of(target, programmer) for target in targets}
    except TinysplitError as error:
        known.append(unit.failed(error.message, {}))
        raise
    for target in () if force else targets:
        if line := known.passed(unique_ids[target.board.number]):
            raise CheckFailedError(
                f"no board was flashed: {target.title}, unique ID {line.unique_id}, is board {line.board} of unit "
                f"{line.unit}, which passed at {line.time}: plug in the next unit, or add {FORCE(True)}"
            )
    try:
        report = flash_project(project, folder, rig_file, programmer, messages, force=force)
    except TinysplitError as error:
        known.append(unit.failed(error.message, unique_ids))
        raise
    except (KeyboardInterrupt, SystemExit):  # a signal
        known.append(unit.failed("interrupted", unique_ids))
        raise
    known.append(unit.flashed(report, unique_ids))
    return report


def unique_id_of(target: FlashTarget, programmer: Programmer) -> str:
    """Return the unique ID of a board's MCU. Raises ToolError where it cannot be read."""
    addresses = target.port.unique_id
    words = programmer.read_words(target.probe, addresses)
    if not all(address in words for address in addresses):
        raise ToolError(
            f"no board was flashed: {target.title} does not tell the unique ID of its MCU: is it a "
            f"{target.port.board}, and can {PROGRAMMER} {programmer.name} read words?"
        )
    return "".join(f"{words[address]:08x}" for address in reversed(addresses))


@dataclass(frozen=True)
class _Unit:
    """The unit that is flashed now."""

    project: Project
    number: int
    targets: tuple[FlashTarget, ...]

    def failed(self, problem: str, unique_ids: Mapping[int, str]) -> list[LogLine]:
        return [
            self._line(target, unique_ids.get(target.board.number), problem, seconds=0.0) for target in self.targets
        ]

    def flashed(self, report: FlashReport, unique_ids: Mapping[int, str]) -> list[LogLine]:
        return [
            self._line(
                target,
                unique_ids[target.board.number],
                None if result.is_good else result.problem,
                seconds=round(result.seconds, 3),
            )
            for target, result in zip(self.targets, report.boards, strict=True)
        ]

    def _line(self, target: FlashTarget, unique_id: str | None, problem: str | None, *, seconds: float) -> LogLine:
        return LogLine(
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            unit=self.number,
            project_hash=f"{self.project.project_hash:08x}",
            image_sha256=sha256(target.elf.read_bytes()).hexdigest() if target.elf.is_file() else None,
            board=target.board.number,
            name=target.board.name,
            probe=target.probe.title,
            unique_id=unique_id,
            result="pass" if problem is None else "fail",
            problem=problem,
            seconds=seconds,
        )
