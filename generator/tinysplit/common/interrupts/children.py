"""Programs that this process starts, which end with what waits for them: they, and all that they have started."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tinysplit.common.interrupts.signals import uninterrupted

_running: set[subprocess.Popen[Any]] = set()


@contextmanager
def child(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:  # noqa: ANN401 (those of Popen)
    """Start a program in a session of its own, and kill it with all that it has started unless it ends in the block.

    Raises OSError where it cannot be started.
    """
    process: subprocess.Popen[Any] | None = None
    try:
        with uninterrupted():
            process = subprocess.Popen(command, start_new_session=True, **options)
            _running.add(process)
        yield process
    finally:
        if process:
            _kill(process)
            process.wait()
            _running.discard(process)


def kill_children() -> None:
    """Kill all that runs, so that threads which wait for it go on."""
    for process in tuple(_running):
        _kill(process)


def _kill(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
