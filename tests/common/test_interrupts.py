"""What ends a command early: signals, and what waits for other threads, programs and processes meanwhile."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tinysplit.common.interrupts.aside import run_aside
from tinysplit.common.interrupts.children import child, kill_children
from tinysplit.common.interrupts.pool import process_pool
from tinysplit.common.interrupts.signals import interrupt, uninterrupted

PATIENCE_S = 60.0
# A command that prints what it does; `signal` and `main` are there already.
COMMAND = """
import signal, sys
from tinysplit.common.interrupts import signals
ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)

def command():
    BODY

signals.run_command(command, ENDING)
"""


class LaterError(Exception):
    """What a handler raises."""


@contextmanager
def alarm(handler: Callable[[], None], seconds: float = 0.05) -> Iterator[None]:
    """Let a handler of a script's own run after a moment."""
    before = signal.signal(signal.SIGALRM, lambda *_: handler())
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fail() -> None:
    raise LaterError


def ended(body: str, command: str = COMMAND) -> tuple[int, str, str]:
    """Run a command; return its exit code, and what it has printed on stdout and stderr."""
    program = command.replace("BODY", body.strip().replace("\n", "\n    "))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


RAISE = "signal.raise_signal(signal.{})\n"
TWICE = """
try:
    signal.raise_signal(signal.SIGINT)
finally:
    signal.raise_signal(signal.SIGTERM)
    print("clean")
"""
SWALLOWED = """
try:
    signal.raise_signal(signal.SIGINT)
except BaseException:
    OTHERWISE
"""
# Python ignores exceptions there; SIGALRM ends a command that goes on
IN_A_CALLBACK_OF_C = """
import ctypes, time
signal.alarm(60)
ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()
time.sleep(600)
"""
IN_A_FINALIZER = """
import time
class Final:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
signal.alarm(60)
Final()
time.sleep(600)
"""
EXPECTED = """
with signals.expected_signals() as has_come:
    print(has_come())
    signal.raise_signal(signal.SIGTERM)
    print(has_come())
print("stopped")
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("print('done')", (0, "done\n", "")),
        ("sys.exit(3)", (3, "", "")),
        (RAISE.format("SIGINT") + "print('goes on')", (130, "", "interrupted\n")),
        (RAISE.format("SIGTERM") + "print('goes on')", (143, "", "")),
        (RAISE.format("SIGHUP") + "print('goes on')", (129, "", "")),
        (TWICE, (130, "clean\n", "interrupted\n")),
        (SWALLOWED.replace("OTHERWISE", "print('lost')"), (130, "lost\n", "")),
        (SWALLOWED.replace("OTHERWISE", "raise ValueError"), (130, "", "")),
        (IN_A_CALLBACK_OF_C, (130, "", "interrupted\n")),
        (IN_A_FINALIZER, (143, "", "")),
        (EXPECTED, (0, "False\nTrue\nstopped\n", "")),
    ],
)
def test_a_command_ends_as_its_signal_says(body: str, expected: tuple[int, str, str]) -> None:
    assert ended(body) == expected


def test_other_exceptions_that_python_ignores_are_still_shown() -> None:
    code, _, errors = ended("class Final:\n    def __del__(self): raise ValueError\nFinal()")
    assert code == 0
    assert "Exception ignored in: <function" in errors


def test_an_error_of_ours_keeps_its_traceback() -> None:
    code, _, errors = ended("raise ValueError('ours')")
    assert code == 1
    assert errors.endswith("ValueError: ours\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_was_ignored_at_the_start_stays_ignored(number: signal.Signals) -> None:
    ignored = COMMAND.replace("signal.SIGINT, signal.default_int_handler", f"{number:d}, signal.SIG_IGN")
    assert ended(f"signal.raise_signal({number:d})\nprint('goes on')", ignored) == (0, "goes on\n", "")


def test_a_signal_before_the_command_waits_for_it() -> None:
    early = COMMAND.replace("def command", "signal.raise_signal(2)\ndef command")
    assert ended("print('begins')", early) == (130, "", "interrupted\n")


def test_a_signal_after_the_command_still_counts() -> None:
    body = "import atexit\natexit.register(lambda: signal.raise_signal(2))\nprint('done', end='')"
    assert ended(body)[0] == 130


def test_a_library_keeps_the_handlers_of_a_script() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
    before, hook = [signal.getsignal(number) for number in numbers], sys.unraisablehook

    def look() -> bool:
        return [signal.getsignal(number) for number in numbers] == before and sys.unraisablehook is hook

    with uninterrupted():
        assert look()
    assert run_aside(look)


# Blocks that are not interrupted


def test_an_interrupt_waits_for_the_end_of_the_outermost_block() -> None:
    came: list[str] = []

    def block() -> None:
        with uninterrupted():
            with uninterrupted():
                interrupt(LaterError())
                came.append("inner")
            came.append("outer")
        came.append("behind")

    with pytest.raises(LaterError):
        block()
    assert came == ["inner", "outer"]
    with pytest.raises(LaterError):
        interrupt(LaterError())


def test_blocks_of_other_threads_hold_nothing_up() -> None:
    begun, end = threading.Event(), threading.Event()

    def block() -> None:
        with uninterrupted():
            begun.set()
            end.wait(PATIENCE_S)

    thread = threading.Thread(target=block)
    thread.start()
    begun.wait(PATIENCE_S)
    with pytest.raises(LaterError):
        interrupt(LaterError())
    end.set()
    thread.join()


# Calls in another thread


def test_a_call_aside_returns_and_raises() -> None:
    main = threading.current_thread()
    assert run_aside(threading.current_thread) is not main
    assert run_aside(threading.current_thread) is run_aside(threading.current_thread)  # which is started once
    with pytest.raises(LaterError):
        run_aside(fail)
    others: list[threading.Thread] = []
    thread = threading.Thread(target=lambda: others.append(run_aside(threading.current_thread)))
    thread.start()
    thread.join()
    assert others == [thread]


def test_a_handlers_exception_is_raised_when_the_call_has_stopped() -> None:
    stop, has_ended = threading.Event(), threading.Event()

    def wait_in_a_callback_of_c() -> None:
        ctypes.CFUNCTYPE(None)(lambda: stop.wait(PATIENCE_S) and None)()
        has_ended.set()

    with alarm(fail), pytest.raises(LaterError):
        run_aside(wait_in_a_callback_of_c, stop.set)
    assert has_ended.is_set()
    assert run_aside(lambda: "again") == "again"


def test_a_call_that_cannot_stop_holds_nothing_up() -> None:
    stop = threading.Event()
    with alarm(fail), pytest.raises(LaterError):
        run_aside(lambda: stop.wait(PATIENCE_S))
    assert run_aside(lambda: "again") == "again"
    stop.set()


def test_a_fork_has_a_thread_of_its_own() -> None:
    assert run_aside(os.getpid) == os.getpid()
    with process_pool(1) as pool:
        assert pool.submit(run_aside, os.getpid).result(PATIENCE_S) != os.getpid()


# Programs and processes


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while is_running(pid):
        assert time.monotonic() < end_s
        time.sleep(0.01)


SHELL = ("sh", "-c", "sleep 60 & echo $!; wait")


def test_a_program_ends_with_what_it_has_started() -> None:
    def start_and_fail() -> None:
        with child(SHELL, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            pids.extend((process.pid, int(process.stdout.readline())))
            process.stdout.close()
            raise LaterError

    pids: list[int] = []
    with pytest.raises(LaterError):
        start_and_fail()
    assert not is_running(pids[0])
    wait_until_gone(pids[1])


@pytest.mark.parametrize(
    ("command", "number"),
    [("echo; sleep 60", signal.SIGTERM), ("trap '' TERM; echo; sleep 60", signal.SIGKILL)],
)
def test_programs_of_other_threads_can_be_ended(command: str, number: int) -> None:
    codes: list[int] = []
    begun = threading.Event()

    def wait() -> None:
        with child(("sh", "-c", command), stdout=subprocess.PIPE) as process:
            assert process.stdout
            with process.stdout as output:
                output.readline()
            begun.set()
            codes.append(process.wait())

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait(PATIENCE_S)
    kill_children()
    thread.join(PATIENCE_S)
    assert codes == [-number]


def test_processes_of_a_pool_end_with_a_block_that_fails() -> None:
    pids: list[int] = []

    def work_and_fail() -> None:
        with process_pool(1) as pool:
            pids.append(pool.submit(os.getpid).result(PATIENCE_S))
            pool.submit(time.sleep, PATIENCE_S)
            raise LaterError

    with pytest.raises(LaterError):
        work_and_fail()
    wait_until_gone(pids[0])


def fail_first(number: int) -> None:
    if number == 0:
        raise LaterError
    time.sleep(0.01)


def test_tasks_behind_one_that_failed_are_given_up_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    noise: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", noise.append)
    with pytest.raises(LaterError), process_pool(2) as pool:
        list(pool.results(fail_first, range(100)))
    assert not noise


def ctrl_c() -> str:
    os.kill(os.getpid(), signal.SIGINT)
    return "not interrupted"


def test_processes_of_a_pool_do_not_see_ctrl_c() -> None:
    with process_pool(1) as pool:
        assert pool.submit(ctrl_c).result(PATIENCE_S) == "not interrupted"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
