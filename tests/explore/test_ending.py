"""How explorations end early: signals, lost schedulers, and journals that another process uses."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from multiprocessing import active_children
from pathlib import Path

import cloudpickle
import pytest
from distributed import LocalCluster
from typer.testing import CliRunner

from commands.command_line import TOOL, USAGE, run
from example_folders.example import MODEL
from session.profiles import cases
from tinysplit.cli.app import app
from tinysplit.common.errors import INTERRUPTED, ToolError
from tinysplit.common.folder_lock import locked_file
from tinysplit.common.interrupts.signals import uninterrupted
from tinysplit.explore import workers
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import Outcome, Solving, Tables, evaluate_candidates
from tinysplit.explore.stopping import TimeIsUpError, total_time
from tinysplit.explore.workers import Batch, DaskCluster, LocalProcesses

BOARDS = ("-b", "nucleo_g071rb", "-b", "nucleo_f401re")
EXPLORE = ("explore", str(MODEL), *BOARDS)
PATIENCE_S = 300


def wait_until(is_true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def processes_of(session: int) -> Iterator[int]:
    """Yield the processes of a session that still run (proc(5): state and session are fields 3 and 6 of stat)."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            yield int(stat.parent.name)


@pytest.mark.slow
@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGKILL)[: cases(quick=1, full=1, nightly=2)])
def test_no_process_stays(number: signal.Signals, tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    arguments = [sys.executable, "-m", "tinysplit", *EXPLORE, "--max-boards", "9", "-j", str(journal), "--workers", "1"]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        try:
            wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 1)
            assert len(list(processes_of(process.pid))) > 1
            process.send_signal(number)
            process.communicate(timeout=PATIENCE_S)
            wait_until(lambda: not list(processes_of(process.pid)))
        finally:
            for left in processes_of(process.pid):
                os.kill(left, signal.SIGKILL)
    assert process.returncode == (128 + signal.SIGTERM if number is signal.SIGTERM else -signal.SIGKILL)


TERMINATED_AT_A_START = """
import os, signal, sys
from multiprocessing import forkserver
from tinysplit.common.interrupts.signals import run_command
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import Solving
from tinysplit.explore.workers import LocalProcesses

read_pid = forkserver.read_signed

def terminated_before_the_process_is_known(stream):
    forkserver.read_signed = read_pid
    signal.raise_signal(signal.SIGTERM)
    pid = read_pid(stream)
    print(pid, flush=True)
    return pid

def command():
    processes = LocalProcesses(1)
    try:
        list(processes.run({("m", 8, 0): None}, [(SetCandidate("m", 8, 0, ("b",)),)], Solving(1.0)))
    finally:
        processes.close()

forkserver.read_signed = terminated_before_the_process_is_known
run_command(command, {signal.SIGTERM})
"""


def test_a_worker_that_is_just_starting_ends_without_a_word(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    arguments = [sys.executable, "-c", TERMINATED_AT_A_START]
    with subprocess.Popen(arguments, stdout=pipe, stderr=pipe, text=True, start_new_session=True, cwd=tmp_path) as run:
        stdout, stderr = run.communicate(timeout=PATIENCE_S)
        wait_until(lambda: not list(processes_of(run.pid)))
    assert (run.returncode, stderr) == (128 + signal.SIGTERM, "")
    assert stdout.strip().isdigit()  # the start was not left half-way


def test_nothing_of_a_closed_pool_is_left() -> None:
    before = set(threading.enumerate())
    processes = LocalProcesses(2, slowly)
    batches = [(SetCandidate("m", 8, 0, (f"b{number}",)),) for number in range(9)]
    next(processes.run({("m", 8, 0): None}, batches, Solving(1.0)))  # type: ignore[dict-item]
    processes.close()
    assert set(threading.enumerate()) <= before
    assert not active_children()


def test_the_time_limit_waits_for_the_end_of_what_is_not_interrupted() -> None:
    came: list[str] = []

    def block() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGALRM)
            came.append("done")
        came.append("behind")

    with pytest.raises(TimeIsUpError), total_time(PATIENCE_S):
        block()
    assert came == ["done"]


class InterruptedProcesses:
    """Evaluates some batches in this process; then Ctrl-C is pressed."""

    def __init__(self, _count: int | None) -> None:
        pass

    def run(self, tables: Tables, batches: Sequence[Batch], solving: Solving) -> Iterator[list[Outcome]]:
        for number, batch in zip(count(), batches, strict=False):
            if number == 2:
                raise KeyboardInterrupt
            yield evaluate_candidates(tables, batch, solving)

    def close(self) -> None:
        pass


@pytest.mark.parametrize("more", [(), ("--objective", "latency")])
def test_ctrl_c_prints_what_was_found(more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LocalProcesses", InterruptedProcesses)
    result = CliRunner().invoke(app, [*EXPLORE, *more, "-j", str(tmp_path / "journal.jsonl")])
    assert result.exit_code == INTERRUPTED
    assert result.stdout.startswith("interrupted: 2 of 5 candidates solved; the same command continues")
    assert "nucleo_f401re" in result.stdout


def test_the_time_limit_is_raised_in_the_block() -> None:
    with pytest.raises(TimeIsUpError), total_time(0.001):
        signal.pause()
    with total_time(float("inf")):
        pass


def slowly(_tables: Tables, _batch: Sequence[SetCandidate], _solving: Solving) -> list[Outcome]:
    time.sleep(0.2)
    return []


@pytest.mark.slow
def test_a_lost_scheduler_is_one_line() -> None:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as cluster:
        workers = DaskCluster(cluster.scheduler_address, slowly)
        found = workers.run({}, [(SetCandidate("m", 8, 0, (f"b{number}",)),) for number in range(9)], Solving(1.0))
        next(found)
        cluster.close()
        with pytest.raises(ToolError, match=r"the Dask scheduler at inproc://.* is lost: start it again"):
            list(found)
    workers.close()


def test_a_journal_is_used_by_one_exploration_at_a_time(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    with locked_file(journal):
        error = run(*EXPLORE, "-j", str(journal), expect=TOOL)
    assert f"{journal} is in use by another tinysplit command (process {os.getpid()})" in error.replace("\n", "")
    assert "name another file" in error
    assert not journal.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--best", "3"), "--best is the length of a ranking: it needs --objective"),
        (("--objective", "energy", "--axis", "power"), "use one of them"),
        (("--objective", "energy", "--period", "load"), "--objective simulates the firmware"),
        (("--total-time", "0"), "--total-time 0"),
    ],
)
def test_options_that_contradict_each_other(arguments: tuple[str, ...], message: str) -> None:
    assert message in run(*EXPLORE, *arguments, expect=USAGE)
