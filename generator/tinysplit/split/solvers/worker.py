"""A solver in a process of its own: two can run at once, and each ends when it must, whatever it is doing.

`python -m tinysplit.split.solvers.worker` reads a pickled (problem, solver, time of its end, known assignment) from
stdin and writes a pickled `Split` or error to stdout. It is no `multiprocessing` process, so that it works in scripts
without a main guard and in daemons.
"""

import os
import pickle
import subprocess
import sys
import time
from typing import BinaryIO

from tinysplit.common.errors import TinysplitError
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import Split

LEAST_S = 0.1
Answer = Split | TinysplitError


class Worker:
    """A solver that runs until `ends_at` of time.time(); `answer` may be asked for once `output` can be read."""

    def __init__(self, problem: Problem, solver: str, ends_at: float, known: Assignment | None = None) -> None:
        command = [sys.executable, "-m", __name__]
        # In a session of its own it gets no Ctrl-C: whoever waits for it does, and stops it.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._process.stdin  # noqa: S101 (asked for above)
        assert self._process.stdout  # noqa: S101
        self.output = self._process.stdout
        with self._process.stdin as stdin:
            pickle.dump((problem, solver, ends_at, known), stdin)

    def answer(self) -> Answer | None:
        """Return what the solver found, None where the process died (out of memory, for one)."""
        try:
            found: Answer = pickle.load(self.output)  # noqa: S301 (our own process)
        except (EOFError, pickle.UnpicklingError):
            return None
        return found

    def stop(self) -> None:
        """End the process, whether it is done or not."""
        self._process.kill()
        self.output.close()
        self._process.wait()


def main() -> None:
    """Solve what stdin has, and write what was found to stdout."""
    from tinysplit.split.solve import HIGHS, solve  # noqa: PLC0415 (which starts workers itself)
    from tinysplit.split.solvers.milp.milp import milp  # noqa: PLC0415

    output = _stdout_for_us_alone()
    problem, solver, ends_at, known = pickle.load(sys.stdin.buffer)  # noqa: S301 (our own process)
    try:
        left_s = max(LEAST_S, ends_at - time.time())
        if solver == HIGHS:  # the one that makes use of what is known
            found: Answer = milp(problem, time_limit_s=left_s, known=known)
        else:
            found = solve(problem, solver, time_limit_s=left_s)
    except TinysplitError as error:
        found = error
    with output:
        pickle.dump(found, output)


def _stdout_for_us_alone() -> BinaryIO:
    """Return what stdout was, and let nothing else go there: HiGHS prints lines of debugging."""
    output = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    return output


if __name__ == "__main__":
    main()
