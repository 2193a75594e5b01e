"""Programs of others, run with a time-out."""

import logging
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import TypeVar

from tinysplit.common.errors import ToolError
from tinysplit.common.interrupts.children import child, kill_children
from tinysplit.common.log import log_program

_log = logging.getLogger(__name__)
T = TypeVar("T")
Command = tuple[str, ...]


@dataclass(frozen=True)
class FinishedProgram:
    """A program that has ended: its exit code, all that it printed, and its time in seconds."""

    exit_code: int
    output: str
    seconds: float


def run_command(command: Command, limit_s: float) -> FinishedProgram:
    """Run a program to its end. Raises ToolError where it cannot be started, or takes more than `limit_s`."""
    log_program(_log, command)
    begin_s = time.monotonic()
    with TemporaryFile() as output:  # not a pipe, which children of a program that was killed would keep open
        try:
            with child(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process:
                exit_code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise ToolError(f"{command[0]} took more than {limit_s:g} s and was stopped") from None
        except OSError as error:
            raise ToolError(f"{command[0]} cannot be started ({error.strerror})") from None
        output.seek(0)
        text = output.read().decode(errors="replace")
    _log.debug("exit code %d:\n%s", exit_code, text)
    return FinishedProgram(exit_code, text, time.monotonic() - begin_s)


def side_by_side(calls: Mapping[int, Callable[[], T]], n_threads: int) -> dict[int, T]:
    """Return what the calls for boards, by number, return.

    They run programs in so many threads; an interrupt ends all of them.
    """
    with ThreadPoolExecutor(n_threads) as threads:
        running = {number: threads.submit(call) for number, call in calls.items()}
        try:
            return {number: each.result() for number, each in running.items()}
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            kill_children()
            raise
