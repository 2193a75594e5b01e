"""Watches boards that run without a host, without disturbing them: what they have done, and how long steps take."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from tinysplit.common.errors import InputError, ToolError
from tinysplit.common.tables import plain_table
from tinysplit.common.units import MS
from tinysplit.project.manifest import Project, ProjectBoard
from tinysplit.settings.programs import STANDALONE
from tinysplit_hil.measure.boards import check_identity, check_version
from tinysplit_hil.rig.rig import check_rig, open_rig
from tinysplit_hil.wire.client import BoardClient
from tinysplit_hil.wire.protocol import BoardError, Identity, RecordKind, StandaloneCounters, TimeRecord
from tinysplit_hil.wire.tasks import Clock, pause, run_task

_NAMES = {RecordKind.LAYER: "layer", RecordKind.TRANSFER: "sending cut", RecordKind.COPY: "copy of cut"}


@dataclass(frozen=True)
class WatchedBoard:
    """What a board has said; `results_per_s` are outputs a second since the look before, `seconds_of_steps` of now.

    `error` has why it has said nothing.
    """

    board: ProjectBoard
    error: str = ""
    identity: Identity | None = None
    counters: StandaloneCounters | None = None
    results_per_s: float | None = None
    seconds_of_steps: tuple[tuple[str, float], ...] = ()

    @property
    def failure(self) -> str:
        """Why the last run that failed has ended, "" if none has."""
        counters = self.counters
        return str(BoardError(counters.failure, counters.failure_detail)) if counters and counters.failure else ""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        identity, counters = self.identity, self.counters
        return {
            "number": self.board.number,
            "name": self.board.name,
            "error": self.error or None,
            "run": identity.run if identity else None,
            "reset_cause": identity.cause if identity else None,
            "boot_count": identity.boot_count if identity else None,
            "line_errors": identity.line_errors if identity else None,
            "retransmissions": identity.retransmissions if identity else None,
            "counters": asdict(counters) if counters else None,
            "last_failure": self.failure or None,
            "results_per_s": self.results_per_s,
            "seconds_of_steps": dict(self.seconds_of_steps),
        }


def watch_folder(project: Project, folder: Path, rig_spec: str, seconds: float) -> list[WatchedBoard]:
    """Look at all boards twice, `seconds` apart, and return what they say then.

    Raises InputError for programs that need a host, and the errors of `open_rig`.
    """
    if project.standalone is None:
        raise InputError(f"{folder} was generated without {STANDALONE(True)}: measure it")
    check_rig(rig_spec)
    with open_rig(rig_spec, project, folder) as rig:
        clients = rig.clients(project)
        before = {board.number: _looked_at(project, board, clients, rig.clock) for board in project.boards}
        began_s = rig.clock.now_s()
        run_task(rig.clock, partial(_poll, clients), pause(rig.clock, seconds))
        passed_s = rig.clock.now_s() - began_s
        return [
            _with_rate(_looked_at(project, board, clients, rig.clock), before[board.number], passed_s)
            for board in project.boards
        ]


def _poll(clients: Mapping[int, BoardClient]) -> None:
    for client in clients.values():
        client.poll()


def _looked_at(project: Project, board: ProjectBoard, clients: Mapping[int, BoardClient], clock: Clock) -> WatchedBoard:
    client = clients[board.number]
    poll = partial(_poll, clients)
    try:
        identity = run_task(clock, poll, client.identify())
        check_version(identity, client.name)
        check_identity(project, board, identity, client.name)
        counters = run_task(clock, poll, client.standalone())
        records = run_task(clock, poll, client.read_times()) if project.has_diagnostics else ()
    except ToolError as error:
        return WatchedBoard(board, error=error.message)
    return WatchedBoard(board, "", identity, counters, None, tuple(_steps(records, identity.timer_hz)))


def _steps(records: tuple[TimeRecord, ...], hz: int) -> Iterator[tuple[str, float]]:
    """Yield the name and the seconds of each step that has been measured in the present or the last inference."""
    for record in records:
        if record.kind in _NAMES and record.ticks:
            number = record.index if record.kind is RecordKind.LAYER else record.index + 1
            yield f"{_NAMES[record.kind]} {number}", record.ticks / hz


def _with_rate(now: WatchedBoard, before: WatchedBoard, passed_s: float) -> WatchedBoard:
    if not (now.counters and before.counters and now.board.gives_output and passed_s > 0):
        return now
    results = (now.counters.outputs - before.counters.outputs) % (1 << 32)
    return WatchedBoard(now.board, "", now.identity, now.counters, results / passed_s, now.seconds_of_steps)


def watched_to_json(boards: list[WatchedBoard]) -> dict[str, Any]:
    """Return all boards as JSON values."""
    return {"boards": [board.to_json() for board in boards]}


def print_watched(boards: list[WatchedBoard], console: Console) -> None:
    """Print a row for each board, then failures and times of steps."""
    numbers = ("runs", "failures", "inputs", "dropped", "outputs", "a second")
    table = plain_table("board", "last reset", numbers=numbers)
    for each in boards:
        if each.identity and each.counters:
            own, rate = each.counters, each.results_per_s
            counts = (own.runs, own.failures, own.inputs, own.dropped, own.outputs)
            cells = (*map(str, counts), "" if rate is None else f"{rate:.2f}")
            table.add_row(str(each.board.number), each.identity.cause, *cells)
    console.print(table)
    for each in boards:
        lines = [f"no answer: {each.error}"] if each.error else []
        lines += [f"last failure: {each.failure}"] if each.failure else []
        lines += [f"{name} {MS * seconds:.3f} ms" for name, seconds in each.seconds_of_steps]
        for line in lines:
            console.print(f"{each.board.title}: {line}", highlight=False, markup=False, soft_wrap=True)
