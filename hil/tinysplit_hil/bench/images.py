"""Which image each board of a rig runs, as the boards themselves say."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from serial import SerialException
from typing_extensions import override

from tinysplit.common.errors import ToolError
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit_hil.measure.boards import check_identity, check_version, check_weights
from tinysplit_hil.rig.note import NOTE_COMMAND, note_in, parse_note
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.wire.client import BoardClient
from tinysplit_hil.wire.protocol import Identity
from tinysplit_hil.wire.request_port import BYTES_AT_ONCE, Port
from tinysplit_hil.wire.tasks import Clock, Task, pause, run_tasks

BOOT_S = 5.0  # until a board that was flashed runs its image
RETRY_S = 0.1
LINE_S = 1.0  # for a line of MLPerf's protocol
_HASH = re.compile(r"[0-9a-f]{8}")  # of a project, in a note


@dataclass(frozen=True)
class RunningImage:
    """What a board runs: the image of its project or not, and what is wrong with it, "" for nothing.

    `has_program`: the program is that of the project, whatever weights it has.
    """

    is_new: bool
    project_hash: int | None  # None where the board does not answer
    problem: str
    has_program: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the board runs the image of its project, intact and at its clock."""
        return self.is_new and not self.problem


def running_images(project: Project, rig: Rig, numbers: Iterable[int], wait_s: float = 0.0) -> dict[int, RunningImage]:
    """Ask boards what they run, all at once, until each runs the image of `project` or `wait_s` have passed."""
    clients = {number: client for number, client in rig.clients(project).items() if number in set(numbers)}
    states: dict[int, _Asked] = {}
    for number, client in clients.items():
        whom = (project, project.board(number), client, rig.clock)
        states[number] = _AskedInLines(rig.ports[number], *whom) if project.speaks_mlperf(number) else _Asked(*whom)

    def poll() -> None:
        for state in states.values():
            state.poll()

    run_tasks(rig.clock, poll, [state.ask(wait_s) for state in states.values()])
    return {number: state.image for number, state in states.items()}


class _Asked:
    """One board while it is asked. A port that fails, or sends what cannot be, ends only the asking of its board."""

    def __init__(self, project: Project, board: ProjectBoard, client: BoardClient, clock: Clock) -> None:
        self.image = RunningImage(is_new=False, project_hash=None, problem="")
        self._project = project
        self._board = board
        self._client = client
        self._clock = clock
        self._port_failure: ToolError | None = None

    def poll(self) -> None:
        try:
            self._client.poll()
        except ToolError as error:
            self._port_failure = self._port_failure or error

    def ask(self, wait_s: float) -> Task[None]:
        """Ask until the image is good, or `wait_s` have passed."""
        end_s = self._clock.now_s() + wait_s
        while True:
            yield from self._ask_once()
            if self.image.is_good or self._port_failure or self._clock.now_s() >= end_s:
                return
            yield from pause(self._clock, RETRY_S)

    def _ask_once(self) -> Task[None]:
        identity: Identity | None = None
        has_weights = self._board.weights_file is None
        problem = ""
        try:
            identity = yield from self._client.identify()
            check_version(identity, self._client.name)
            check_identity(self._project, self._board, identity, self._client.name)
            if self._board.weights_file:
                check_weights(self._board, (yield from self._client.weights()), self._client.name)
                has_weights = True
            yield from self._client.check_flash()
        except ToolError as error:
            problem = str(self._port_failure or error)
        has_program = identity is not None and self._is_own(identity)
        project_hash = identity.project_hash if identity else None
        self.image = RunningImage(has_program and has_weights, project_hash, problem, has_program)

    def _is_own(self, identity: Identity) -> bool:
        expected = (self._project.project_hash, self._board.number - 1)
        return (identity.project_hash, identity.board_index) == expected


class _AskedInLines(_Asked):
    """A board that speaks MLPerf Tiny's protocol: its note has the hash; nothing checks its flash but each new run."""

    def __init__(self, port: Port, project: Project, board: ProjectBoard, client: BoardClient, clock: Clock) -> None:
        super().__init__(project, board, client, clock)
        self._lines = port
        self._received = b""

    @override
    def poll(self) -> None:
        try:
            self._received += self._lines.read(BYTES_AT_ONCE)
        except SerialException as error:
            self._port_failure = ToolError(f"{self._client.name}: the port failed ({error})")

    @override
    def _ask_once(self) -> Task[None]:
        self._received = b""
        self._lines.write(NOTE_COMMAND)
        end_s = self._clock.now_s() + LINE_S
        text: bytes | None = None
        while text is None and self._port_failure is None and self._clock.now_s() < end_s:
            yield
            text = note_in(self._received)
        problem = "" if text else str(self._port_failure or f"{self._client.name} does not answer `note%`")
        note = parse_note(text, self._client.name) if text else {}
        hash_text = str(note.get("project_hash", ""))
        expected = (f"{self._project.project_hash:08x}", self._board.number)
        is_new = (hash_text, note.get("board")) == expected
        project_hash = int(hash_text, 16) if _HASH.fullmatch(hash_text) else None
        self.image = RunningImage(is_new, project_hash, problem, is_new)
