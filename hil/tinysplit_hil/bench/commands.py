"""Programs of others, run with a time-out."""

import logging
import subprocess
import time
from dataclasses import dataclass
from tempfile import TemporaryFile

from tinysplit.common.errors import ToolError
from tinysplit.common.log import log_program

_log = logging.getLogger(__name__)
Command = tuple[str, ...]


@dataclass(frozen=True)
class Done:
    """A program that has ended: its exit code, all that it printed, and its time in seconds."""

    exit_code: int
    output: str
    seconds: float


def run_command(command: Command, limit_s: float) -> Done:
    """Run a program to its end. Raises ToolError where it cannot be started, or takes more than `limit_s`."""
    log_program(_log, command)
    begin_s = time.monotonic()
    with TemporaryFile() as output:  # not a pipe, which children of a program that was killed would keep open
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False, timeout=limit_s
            )
        except subprocess.TimeoutExpired:
            raise ToolError(f"{command[0]} took more than {limit_s:g} s and was stopped") from None
        except OSError as error:
            raise ToolError(f"{command[0]} cannot be started ({error.strerror})") from None
        output.seek(0)
        text = output.read().decode(errors="replace")
    _log.debug("exit code %d:\n%s", done.returncode, text)
    return Done(done.returncode, text, time.monotonic() - begin_s)
