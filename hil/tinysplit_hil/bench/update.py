"""Replaces the configuration files of boards over their host ports, while the boards keep their programs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tinysplit.build.weights import checked_weights_file
from tinysplit.common.choices import VIRTUAL
from tinysplit.common.errors import InputError, ToolError, UsageError
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted, plain_table
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.settings.measurement import RIG
from tinysplit.settings.programs import ALLOW_OLDER, WEIGHTS, WEIGHTS_ONLY
from tinysplit.weights_file.file import HEADER_BYTES
from tinysplit_hil.measure.boards import check_identity, check_version
from tinysplit_hil.rig.rig import Rig, open_rig
from tinysplit_hil.wire.client import BoardClient
from tinysplit_hil.wire.protocol import ErrorCode
from tinysplit_hil.wire.request_port import ClientError, ReportedError
from tinysplit_hil.wire.tasks import Task, pause, run_tasks
from tinysplit_hil.wire.weights_protocol import LARGEST_PART_BYTES, WEIGHTS_OLDER, Staging, WeightsIdentity

STOP_TIMEOUT_S = 5.0  # beyond the longest layer
RESTART_S = 60.0  # until a board has copied the file: 2 MB are erased and programmed in half a minute
ASK_AGAIN_S = 0.2
UNIT_BYTES = 32  # that boards program at a time: parts are multiples of it
ERASED = b"\xff"
USE_PROBES = f"use `tinysplit flash {WEIGHTS_ONLY.option}`"


@dataclass(frozen=True)
class UpdatedBoard:
    """A board, its file before and after, and the bytes of the slot where the new one waited, 0 without one."""

    board: ProjectBoard
    before: WeightsIdentity
    after: WeightsIdentity
    staging_bytes: int

    @property
    def is_skipped(self) -> bool:
        """Whether it had the file already."""
        return self.before == self.after


def update_folder(folder: Path, rig: str, messages: Console, *, may_be_older: bool) -> list[UpdatedBoard]:
    """Replace the configuration files of the boards of a rig file by those of a generated folder.

    Raises UsageError for virtual boards of this process, InputError for a folder or a rig file that cannot be used,
    ToolError where a port cannot be opened, and the errors of `update_boards`.
    """
    if rig == VIRTUAL:
        raise UsageError(f"{RIG} {rig}: virtual boards take the weights of their folder: give a rig file")
    project = Project.read(folder)
    project.check_protocol(folder)
    with open_rig(rig, project, folder) as opened:
        return update_boards(project, folder, opened, messages, may_be_older=may_be_older)


def update_boards(
    project: Project, folder: Path, rig: Rig, messages: Console, *, may_be_older: bool
) -> list[UpdatedBoard]:
    """Replace the configuration files of all boards that have others than those of `folder`.

    No board is changed unless all can be: raises InputError for a folder without such files, or with a damaged one,
    and ToolError for boards with other programs or newer files, unless these may be replaced; UsageError where these
    are to be replaced and files are signed.
    """
    if may_be_older and project.signing_key:
        raise UsageError(f"{ALLOW_OLDER}: boards take no older signed weights over their host ports: {USE_PROBES}")
    files, clients = _files(project, folder), rig.clients(project)
    updates = [_Update(project, board, files[board.number], clients[board.number]) for board in project.boards]

    def poll() -> None:
        for update in updates:
            update.client.poll()

    def run(tasks: Iterable[Task[None]]) -> None:
        run_tasks(rig.clock, poll, map(_repeatable, tasks))

    with steps(messages, f"asking {counted(len(updates), 'board')} what they run"):
        run(each.ask() for each in updates)
        wanted = [each for each in updates if each.is_wanted]
        run(each.begin(may_be_older=may_be_older) for each in wanted)
    if wanted:
        with steps(messages, f"writing the weights of {counted(len(wanted), 'board')}"):
            run(each.write() for each in wanted)
            run(each.client.commit_weights() for each in wanted)
            run(each.restart() for each in wanted)
    return [each.result for each in updates]


def _files(project: Project, folder: Path) -> Mapping[int, bytes]:
    """Return the configuration files by board. Raises InputError for those that cannot be used."""
    if project.weights_counter is None:
        raise InputError(f"{folder} has its weights in C arrays: generate it with {WEIGHTS('binary')}")
    files = {}
    for board in project.boards:
        if board.weights_file is None or not board.weights_file.is_updatable:
            raise InputError(f"{board.title}: its weights lie in sectors of different sizes: {USE_PROBES}")
        if file := checked_weights_file(project, board, folder):
            files[board.number] = file.contents
    return files


def _repeatable(task: Task[None]) -> Task[None]:
    """Do a part of an update; where it fails, the error says that the whole update may be repeated."""
    try:
        yield from task
    except ReportedError as error:
        if error.error.code != ErrorCode.BAD_RANGE:
            raise
        raise ToolError(
            f"{error.name} has restarted, or began a run, before it had its new weights: check its supply, and repeat"
            " the command"
        ) from None
    except ClientError as error:
        raise ToolError(f"{error.message}; then repeat the command") from None


class _Update:
    """One board while it gets its file."""

    def __init__(self, project: Project, board: ProjectBoard, file: bytes, client: BoardClient) -> None:
        self.client = client
        self._project = project
        self._board = board
        self._file = file
        self._before = self._after = WeightsIdentity(0, 0)
        self._staging = Staging(0, UNIT_BYTES)
        self._is_damaged = False

    @property
    def is_wanted(self) -> bool:
        """Whether the board has another file, or a damaged one."""
        file = self._board.weights_file
        return self._is_damaged or file is None or self._before.crc != file.crc

    @property
    def result(self) -> UpdatedBoard:
        return UpdatedBoard(self._board, self._before, self._after, self._staging.slot_bytes)

    def ask(self) -> Task[None]:
        identity = yield from self.client.identify()
        check_version(identity, self.client.name)
        check_identity(self._project, self._board, identity, self.client.name)
        self._before = self._after = yield from self.client.weights()
        self._staging = yield from self.client.staging()
        if not UNIT_BYTES <= self._staging.part_bytes <= LARGEST_PART_BYTES:
            raise ToolError(
                f"{self.client.name} wants its weights in parts of {self._staging.part_bytes} bytes, not "
                f"{UNIT_BYTES} to {LARGEST_PART_BYTES}: build and flash it again"
            )
        self._is_damaged = yield from self._check()

    def _check(self) -> Task[bool]:
        try:
            yield from self.client.check_flash()
        except ReportedError as error:
            if error.error.code != ErrorCode.WEIGHTS:
                raise
            return True
        return False

    def begin(self, *, may_be_older: bool) -> Task[None]:
        longest_s = max((layer.estimated_s for layer in self._project.layers), default=0.0)
        yield from self.client.stop(STOP_TIMEOUT_S + longest_s)
        try:
            yield from self.client.begin_weights(self._file[:HEADER_BYTES], may_be_older=may_be_older)
        except ReportedError as error:
            if (error.error.code, error.error.detail) != (ErrorCode.WEIGHTS, WEIGHTS_OLDER):
                raise
            remedy = USE_PROBES if self._project.signing_key else f"{ALLOW_OLDER} takes them all the same"
            raise ToolError(
                f"{self.client.name} has weights with counter {self._before.counter}, newer than those of the folder "
                f"({self._project.weights_counter}): no board was changed; {remedy}"
            ) from None

    def write(self) -> Task[None]:
        padded = self._file + ERASED * (-len(self._file) % UNIT_BYTES)
        part_bytes = self._staging.part_bytes // UNIT_BYTES * UNIT_BYTES
        for offset in range(0, len(padded), part_bytes):
            yield from self.client.write_weights(offset, padded[offset : offset + part_bytes])

    def restart(self) -> Task[None]:
        """Let the board start again, which copies the file, until it has it."""
        clock, file = self.client.clock, self._board.weights_file
        yield from self.client.reboot()
        self._after = WeightsIdentity(0, 0)  # a board with one slot has the new file already, and is to start again
        end_s = clock.now_s() + RESTART_S
        while file is None or self._after.crc != file.crc:
            yield from pause(clock, ASK_AGAIN_S)
            try:
                self._after = yield from self.client.weights()
            except ToolError:
                if clock.now_s() >= end_s:
                    raise
            if clock.now_s() >= end_s:
                raise ToolError(f"{self.client.name} still has its old weights: check its supply and write protection")
        yield from self.client.check_flash()


def print_update(boards: Iterable[UpdatedBoard], console: Console) -> None:
    """Print a row for each board: the counters and CRC-32 of its files, and the slots of its flash."""
    table = plain_table("board", "weights before", "weights now", "slots")
    for updated in boards:
        now = "unchanged" if updated.is_skipped else _name(updated.after)
        table.add_row(updated.board.title, _name(updated.before), now, "2" if updated.staging_bytes else "1")
    console.print(table)


def _name(file: WeightsIdentity) -> str:
    return f"{file.counter} ({file.crc:08x})"


def update_to_json(boards: Iterable[UpdatedBoard]) -> dict[str, Any]:
    """Return JSON values: counters and CRC-32 of the files of each board, before and after."""
    return {
        "boards": [
            {
                "number": each.board.number,
                "name": each.board.name,
                "counter_before": each.before.counter,
                "crc_before": f"{each.before.crc:08x}",
                "counter": each.after.counter,
                "crc": f"{each.after.crc:08x}",
                "skipped": each.is_skipped,
                "slots": 2 if each.staging_bytes else 1,
            }
            for each in boards
        ]
    }
