"""Signals that end a command: Ctrl-C, SIGTERM, and SIGHUP at the end of its terminal.

Only the command line handles them (`run_command`); a script that calls the library keeps its own handlers. That a
handler raises an exception is not enough: Python loses it in callbacks of C code and in finalizers. There it is raised
again.
"""

import atexit
import os
import signal
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from threading import Timer, current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import NoReturn

from tinysplit.common.errors import ToolError

SIGNAL_EXIT = 128  # exit code of a process that a signal has ended, as of a shell, less the number of the signal
PIPE_CLOSED = SIGNAL_EXIT + signal.SIGPIPE  # nobody reads the output any more
_AGAIN_S = 0.01  # after which a lost exception is raised again
_PATIENCE_S = 2.0  # in which more signals change nothing, as cleaning up would be interrupted


class _Ending:
    came: int | None = None  # the first signal
    came_s = 0.0
    is_lost = False  # its exception was raised where Python ignores exceptions
    is_expected = False  # it does not end the command
    is_leaving = False  # the command is done
    exit_code = 1  # of what nobody has caught
    depth = 0  # of `uninterrupted`
    deferred: BaseException | None = None


def run_command(command: Callable[[], object], ending: Collection[signal.Signals]) -> NoReturn:
    """Run a command and end the process with its exit code, or with SIGNAL_EXIT + the number of a signal that came.

    The signals `ending` are blocked before. Those that the process was started to ignore stay ignored. The process ends
    without the interpreter's own tidying up, in which a signal would have another effect.
    """
    for number in ending:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _on_signal)
    sys.unraisablehook = _on_unraisable
    atexit.register(_leave)
    code: object = None
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ending)
        command()
    except SystemExit as end:  # of rich and typer also where nobody reads any more
        code = PIPE_CLOSED if isinstance(end.__context__, BrokenPipeError) else end.code
    except KeyboardInterrupt:
        with suppress(OSError):  # nobody reads
            print("interrupted", file=sys.stderr)  # noqa: T201 (rich may not be imported yet)
    except Exception:
        if not _is_ended():  # else it is left of what a signal has broken off
            raise
    code = _written(code)
    _Ending.is_leaving = True
    if _is_ended():
        code = SIGNAL_EXIT + (_Ending.came or 0)
    _Ending.exit_code = code if isinstance(code, int) else int(code is not None)
    sys.exit(_Ending.exit_code)


def _written(code: object) -> object:
    """Return the exit code after the last output is written, which says so where it cannot be."""
    try:
        if sys.stdout:  # else it was closed at the start
            sys.stdout.flush()
    except BrokenPipeError:
        return PIPE_CLOSED
    except OSError as error:
        with suppress(OSError):
            print(f"error: the output: {error.strerror}", file=sys.stderr)  # noqa: T201
        return ToolError.exit_code
    return code


def _is_ended() -> bool:
    return _Ending.came is not None and not _Ending.is_expected


@contextmanager
def expected_signals() -> Iterator[Callable[[], bool]]:
    """Let a signal be what the block waits for: it goes on, and the function that it gets is true from then on."""
    _Ending.is_expected = True
    try:
        yield lambda: _Ending.came is not None
    finally:
        _Ending.is_expected = _Ending.came is not None


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let `interrupt` wait for the end of the block, so that what it has made is not lost before anybody knows it.

    Exceptions of signals are raised in the main thread only, and nothing is done in others.
    """
    if current_thread() is not main_thread():
        yield
        return
    _Ending.depth += 1
    try:
        yield
    finally:
        _Ending.depth -= 1
        if not _Ending.depth and _Ending.deferred:
            error, _Ending.deferred = _Ending.deferred, None
            raise error


def interrupt(error: BaseException) -> None:
    """Raise `error`, for handlers of signals: now, or at the end of the block that is not to be interrupted."""
    if not _Ending.depth:
        raise error
    _Ending.deferred = _Ending.deferred or error


def _on_signal(number: int, _frame: FrameType | None) -> None:
    if _Ending.is_leaving:
        os._exit(SIGNAL_EXIT + number)
    if _Ending.is_lost:
        _Ending.is_lost = False
    elif _Ending.came is not None:
        if monotonic() - _Ending.came_s > _PATIENCE_S:
            os._exit(SIGNAL_EXIT + _Ending.came)
        return
    else:
        _Ending.came, _Ending.came_s = number, monotonic()
    if not _Ending.is_expected:
        interrupt(KeyboardInterrupt() if number == signal.SIGINT else SystemExit(SIGNAL_EXIT + number))


def _on_unraisable(lost: "sys.UnraisableHookArgs") -> None:
    if _Ending.came is None or not issubclass(lost.exc_type, KeyboardInterrupt | SystemExit):
        sys.__unraisablehook__(lost)
        return
    _Ending.is_lost = True
    again = Timer(_AGAIN_S, signal.pthread_kill, [main_thread().ident, _Ending.came])
    again.daemon = True
    again.start()


def _leave() -> None:
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with suppress(OSError, ValueError):  # it cannot be written, or is closed
            stream.flush()
    os._exit(_Ending.exit_code)
