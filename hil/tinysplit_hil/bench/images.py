"""Which image each board of a rig runs, as the boards themselves say."""

from collections.abc import Iterable
from dataclasses import dataclass

from tinysplit.common.errors import ToolError
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit_hil.boards import check_identity, check_version
from tinysplit_hil.client import BoardClient
from tinysplit_hil.protocol import Identity
from tinysplit_hil.rig import Rig
from tinysplit_hil.tasks import Clock, Task, pause, run_tasks

BOOT_S = 5.0  # until a board that was flashed runs its image
RETRY_S = 0.1


@dataclass(frozen=True)
class RunningImage:
    """What a board runs: the image of its project or not, and what is wrong with it, "" for nothing."""

    is_new: bool
    project_hash: int | None  # None where the board does not answer
    problem: str

    @property
    def is_good(self) -> bool:
        """Whether the board runs the image of its project, intact and at its clock."""
        return self.is_new and not self.problem


def running_images(project: Project, rig: Rig, numbers: Iterable[int], wait_s: float = 0.0) -> dict[int, RunningImage]:
    """Ask boards what they run, all at once, until each runs the image of `project` or `wait_s` have passed."""
    clients = {number: client for number, client in rig.clients(project).items() if number in set(numbers)}
    states = {number: _Asked(project, project.board(number), client, rig.clock) for number, client in clients.items()}

    def poll() -> None:
        for state in states.values():
            state.poll()

    run_tasks(rig.clock, poll, [state.ask(wait_s) for state in states.values()])
    return {number: state.image for number, state in states.items()}


class _Asked:
    """One board while it is asked. A port that fails ends only the asking of its own board."""

    def __init__(self, project: Project, board: ProjectBoard, client: BoardClient, clock: Clock) -> None:
        self.image = RunningImage(is_new=False, project_hash=None, problem="")
        self._project, self._board, self._client, self._clock = project, board, client, clock
        self._port_failure: ToolError | None = None

    def poll(self) -> None:
        if self._port_failure is None:
            try:
                self._client.poll()
            except ToolError as error:
                self._port_failure = error

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
        problem = ""
        try:
            identity = yield from self._client.identify()
            check_version(identity, self._client.name)
            check_identity(self._project, self._board, identity, self._client.name)
            yield from self._client.check_flash()
        except ToolError as error:
            problem = str(self._port_failure or error)
        is_new = identity is not None and self._is_new(identity)
        self.image = RunningImage(is_new, identity.project_hash if identity else None, problem)

    def _is_new(self, identity: Identity) -> bool:
        own = (self._project.project_hash, self._board.number - 1)
        return (identity.project_hash, identity.board_index) == own
