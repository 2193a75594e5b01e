"""Programs that this process starts, which end with what waits for them: they, and all that they have started."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from typing import Any

from tinysplit.common.interrupts.signals import uninterrupted

_GRACE_S, _LOOK_S = 0.3, 0.01
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
    """End a program and all that it has started: with time to delete temporary files, as gcc does, then at once."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            try:
                os.killpg(process.pid, signal.SIGTERM)
                end_s = monotonic() + _GRACE_S
                while monotonic() < end_s:
                    process.poll()
                    os.killpg(process.pid, 0)  # raises once all have gone
                    sleep(_LOOK_S)
            finally:
                os.killpg(process.pid, signal.SIGKILL)
