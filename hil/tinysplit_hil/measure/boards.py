"""The boards of a project on a rig: checked, started together in a run, and watched while it lasts."""

import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import reduce

from tinysplit.common.errors import ToolError
from tinysplit.common.protocol_limits import BITS_PER_BYTE, LINK_HELLO_BYTES, LINK_REPLY_BYTES
from tinysplit.common.secret_key import weights_key
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.settings.programs import WEIGHTS_ONLY
from tinysplit_hil.rig.account import Accounts
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.wire.client import BoardClient
from tinysplit_hil.wire.diagnosis import Evidence, diagnose
from tinysplit_hil.wire.protocol import PROTOCOL_VERSION, BoardError, BoardState, Identity, StackUse
from tinysplit_hil.wire.request_port import REPLY_TIMEOUT_S, ClientError, ReportedError
from tinysplit_hil.wire.tasks import T, Task, pause, run_task, run_tasks
from tinysplit_hil.wire.weights_protocol import WEIGHTS_MISSING, WeightsIdentity, weights_reason

FLASH_CHECK_S = 2.0  # part of RESET
TIMEOUT_FACTOR = 5.0  # time-out as a multiple of the estimated time
LINK_TIMEOUT_S = 2.0  # a board reports a dead link within this time
SETTLE_S = 0.1  # until the other boards have reported, too
WATCH_S = 1.0  # between two looks at all boards
BOOT_S = 3.0  # until a board that was reset replies
HELLO_S = 0.02  # until a board repeats a HELLO that was lost, as its neighbour had not joined the run
RUNS = 1 << 32


class NoRunError(ToolError):
    """A board joins no run, even after a reset: nothing more can be measured."""


class Boards:
    """Clients of all boards of a project, by number."""

    def __init__(self, project: Project, rig: Rig) -> None:
        self.project = project
        self.clock = rig.clock
        self._rig = rig
        self._first_run = secrets.randbelow(RUNS) if rig.kind == "real" else 0
        self.clients = rig.clients(project)
        self.identities: dict[int, Identity] = {}
        self.current_run = 0

    @property
    def timeout_s(self) -> float:
        """Longest time of an inference, from the first byte of its input to its output."""
        input_bytes = max(identity.input_bytes for identity in self.identities.values())
        input_s = input_bytes * BITS_PER_BYTE / self.project.host_baud
        return TIMEOUT_FACTOR * (self.project.estimated_l_s + self.project.estimated_t_s + input_s) + LINK_TIMEOUT_S

    def accounts(self) -> Accounts:
        """Return the cycles of virtual boards until now; none of real boards, which keep no account."""
        return self._rig.accounts() if self._rig.accounts else {}

    @property
    def core_hz(self) -> Mapping[int, int]:
        """Core clocks by board number."""
        return {number: identity.core_hz for number, identity in self.identities.items()}

    def check(self) -> None:
        """Identify all boards. Raises ToolError unless each has the firmware and weights that were generated for it."""
        self._identify()
        for board in self.project.boards:
            check_version(self.identities[board.number], self.clients[board.number].name)
        for board in self.project.boards:
            check_identity(self.project, board, self.identities[board.number], self.clients[board.number].name)
            if board.weights_file:
                client = self.clients[board.number]
                check_weights(board, self._run_one(client.weights()), client.name)
                self._decrypt(board)

    def _decrypt(self, board: ProjectBoard) -> None:
        """Give a board the key of its weights, if they are encrypted: it stops its run."""
        if board.weights_file and board.weights_file.is_encrypted:
            client, key = self.clients[board.number], weights_key()
            self._run_one(client.stop(self.timeout_s))
            self._run_one(client.give_key(key.data))

    def start_run(self) -> None:
        """Start a new run on all boards, from any state, and wait until their links are set up.

        A board that does not follow is reset first. Raises NoRunError when that does not help.
        """
        try:
            self._reset()
        except ToolError:
            self._reset_again()
        self._run_one(pause(self.clock, self._link_setup_s))
        self._identify()

    @property
    def _link_setup_s(self) -> float:
        """Seconds until all links have exchanged HELLO, HELLO_REPLY and the first grants, no part of an inference."""
        if not self.project.links:
            return 0.0
        line_bytes = 2 * LINK_HELLO_BYTES + LINK_REPLY_BYTES * len(self.project.cuts)
        return 2 * line_bytes * BITS_PER_BYTE / min(link.baud for link in self.project.links) + HELLO_S

    def _reset_again(self) -> None:
        try:
            self._reboot()
            for board in self.project.boards:
                self._decrypt(board)
            self._reset()
        except ToolError as error:
            raise NoRunError(error.message) from None

    def run(self, tasks: Iterable[Task[None]]) -> None:
        """Run tasks of a run until all have ended; an error that any board reports ends them."""
        run_tasks(self.clock, self._poll_and_check, tasks, [self._watch()])

    def stacks(self) -> dict[int, StackUse]:
        """Return how much of its stack each board has used since its reset, by number, without those that fail."""
        stacks = {}
        for number, client in self.clients.items():
            with suppress(ToolError):
                stacks[number] = self._run_one(client.stack())
        return stacks

    def check_flash(self) -> None:
        """Raise ReportedError when code or weights of a board have changed: outputs since its RESET may be wrong.

        A board that does not reply is left out.
        """
        run_tasks(self.clock, self._poll, [_check_flash(client) for client in self.clients.values()])

    def explain(self, error: ToolError) -> ToolError:
        """Return an error with the cause of a failed run, as far as the boards know it, else `error` itself."""
        if not isinstance(error, ClientError):
            return error
        before = self.identities
        self.identities = self._identities_of_replying()
        errors = {number: board_error for number in self.clients if (board_error := self._error_of(number))}
        evidence = Evidence(self.current_run, before, self.identities, errors)
        self.identities = {**before, **self.identities}
        return ClientError(error.board, diagnose(self.project, evidence, error.message))

    def _identify(self) -> None:
        for number, client in self.clients.items():
            self.identities[number] = self._run_one(client.identify())

    def _identities_of_replying(self) -> dict[int, Identity]:
        identities = {}
        self._run_one(pause(self.clock, SETTLE_S))
        for number, client in self.clients.items():
            try:
                identities[number] = self._run_one(client.identify())
            except ToolError:
                continue
        return identities

    def _error_of(self, number: int) -> BoardError | None:
        """Return the error that ended the run on a board; its event may have been lost."""
        identity = self.identities.get(number)
        if identity and identity.run == self.current_run and identity.error:
            return BoardError(identity.error, identity.error_detail)
        return self.clients[number].failure

    def _reset(self) -> None:
        self.current_run = self._next_run()
        longest_layer_s = max((layer.estimated_s for layer in self.project.layers), default=0.0)
        timeout_s = REPLY_TIMEOUT_S + FLASH_CHECK_S + TIMEOUT_FACTOR * longest_layer_s
        run_tasks(self.clock, self._poll, [c.reset(self.current_run, timeout_s) for c in self.clients.values()])

    def _next_run(self) -> int:
        """Return a number above those of all boards.

        After power-up: one that no earlier run is likely to have; of virtual boards the first, so that runs repeat.
        """
        known = [run for run in (self.current_run, *(i.run for i in self.identities.values())) if run]
        newest = reduce(_later, known) if known else self._first_run
        return (newest + 1) % RUNS or 1

    def _reboot(self) -> None:
        """Reset the boards that reply to nothing else than IDENTIFY and REBOOT, and wait until all reply again."""
        for client in self.clients.values():
            try:
                self._run_one(client.reboot())
            except ToolError:
                continue
        end_s = self.clock.now_s() + BOOT_S
        while True:
            self._run_one(pause(self.clock, SETTLE_S))
            try:
                self._identify()
            except ToolError:
                if self.clock.now_s() >= end_s:
                    raise
            else:
                return

    def _run_one(self, task: Task[T]) -> T:
        return run_task(self.clock, self._poll, task)

    def _poll(self) -> None:
        for client in self.clients.values():
            client.poll()

    def _poll_and_check(self) -> None:
        self._poll()
        for client in self.clients.values():
            client.raise_failure()

    def _watch(self) -> Task[None]:
        """Look at all boards from time to time: a board that restarted reports nothing by itself."""
        while True:
            yield from pause(self.clock, WATCH_S)
            for number, client in self.clients.items():
                identity = yield from client.identify()
                client.note_progress(identity)
                if identity.run != self.current_run or identity.state == BoardState.STOPPED:
                    raise ClientError(number, f"{client.name} left the run: check its supply")


def _check_flash(client: BoardClient) -> Task[None]:
    try:
        yield from client.identify()  # which a dead board does not answer for a shorter time
        yield from client.check_flash()
    except ReportedError:
        raise
    except ClientError:
        return


def _later(first: int, second: int) -> int:
    """Return the later of two runs, whose numbers wrap around."""
    return second if (second - first) % RUNS < RUNS // 2 else first


def check_version(identity: Identity, name: str) -> None:
    """Raise ToolError unless the board speaks this program's version of the protocol."""
    if identity.protocol != PROTOCOL_VERSION:
        raise ToolError(
            f"{name} speaks version {identity.protocol} of the protocol, this program version {PROTOCOL_VERSION}: "
            "build and flash it again"
        )


def check_identity(project: Project, board: ProjectBoard, identity: Identity, name: str) -> None:
    """Raise ToolError unless the board runs the firmware that was generated for `board`, at its clock."""
    if identity.project_hash != project.project_hash:
        raise ToolError(
            f"{name} runs firmware of project {identity.project_hash:08x} instead of {project.project_hash:08x}: "
            "build and flash it again"
        )
    if identity.board_index != board.number - 1:
        raise ToolError(
            f"{name} runs the firmware of board {identity.board_index + 1}: check that the ports are in board order"
        )
    if not identity.clock_ok:
        raise ToolError(f"{name} could not set its clock to {board.core_hz / 1e6:g} MHz: check supply and oscillator")
    if identity.core_hz != board.core_hz:
        raise ToolError(
            f"{name} runs at {identity.core_hz / 1e6:g} MHz instead of {board.core_hz / 1e6:g} MHz: "
            "build and flash it again"
        )


def check_weights(board: ProjectBoard, identity: WeightsIdentity, name: str) -> None:
    """Raise ToolError unless the configuration file in the flash of `board` is that of the project."""
    if board.weights_file and identity == WeightsIdentity(0, 0):
        raise ToolError(f"{name}: {weights_reason(WEIGHTS_MISSING)}")
    if board.weights_file and identity.crc != board.weights_file.crc:
        raise ToolError(
            f"{name} has another weights file (counter {identity.counter}, CRC-32 {identity.crc:08x}) than the folder "
            f"({board.weights_file.crc:08x}): replace it (`tinysplit update`, or "
            f"`tinysplit flash {WEIGHTS_ONLY.option}`)"
        )
