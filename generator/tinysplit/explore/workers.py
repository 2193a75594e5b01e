"""Workers that evaluate candidates: processes of this machine, or a Dask cluster.

Outcomes arrive in any order. If a worker dies, another one repeats its batch; a batch whose workers die repeatedly ends
the exploration.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from itertools import islice
from multiprocessing import active_children, get_context
from typing import Any, Protocol

from tinysplit.common.errors import ToolError
from tinysplit.common.extras import install_line
from tinysplit.explore.candidates import Candidate
from tinysplit.explore.evaluate import Outcome, Tables, evaluate_candidates

Batch = tuple[Candidate, ...]
Work = Callable[[Tables, Sequence[Candidate], float], list[Outcome]]

MAX_DEATHS = 3  # of workers on the same batch
WAITING_BATCHES = 2  # per worker, so that none has to wait for its next batch
CONNECT_TIMEOUT_S = 10


class Workers(Protocol):
    """Evaluates batches of candidates."""

    def run(self, tables: Tables, batches: Sequence[Batch], time_limit_s: float) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each batch as it finishes."""


class LocalProcesses:
    """Worker processes on this machine."""

    def __init__(self, count: int | None = None, work: Work = evaluate_candidates) -> None:
        """Use `count` processes, by default one per processor."""
        self.count, self.work = count or os.cpu_count() or 1, work

    def run(self, tables: Tables, batches: Sequence[Batch], time_limit_s: float) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each batch as it finishes; raises ToolError for a batch whose processes always die."""
        left = dict.fromkeys(batches)
        deaths: Counter[Batch] = Counter()
        while left:
            try:
                for batch, outcomes in self._run_pool(tables, tuple(left), time_limit_s):
                    del left[batch]
                    yield outcomes
            except BrokenProcessPool:
                deaths.update(islice(left, self.count * WAITING_BATCHES))
                _check_deaths(deaths)

    def _run_pool(
        self, tables: Tables, batches: Sequence[Batch], time_limit_s: float
    ) -> Iterator[tuple[Batch, list[Outcome]]]:
        pool = ProcessPoolExecutor(self.count, get_context("forkserver"), _share, (self.work, tables, time_limit_s))
        try:
            waiting = iter(batches)
            running: dict[Future[list[Outcome]], Batch] = {}
            while True:
                for batch in islice(waiting, self.count * WAITING_BATCHES - len(running)):
                    running[pool.submit(_evaluate_shared, batch)] = batch
                if not running:
                    return
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(done), done.result()
        except BaseException:
            for process in active_children():  # shutdown would wait for their current batches
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_shared: list[Any] = []  # arguments of all batches, sent once to each worker process


def _share(work: Work, tables: Tables, time_limit_s: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the main process handles Ctrl-C
    _shared[:] = work, tables, time_limit_s


def _evaluate_shared(batch: Batch) -> list[Outcome]:
    work, tables, time_limit_s = _shared
    outcomes: list[Outcome] = work(tables, batch, time_limit_s)
    return outcomes


class DaskCluster:
    """A running Dask cluster, whose workers need the same version of tinysplit."""

    def __init__(self, scheduler: str, work: Work = evaluate_candidates) -> None:
        """Connect to a scheduler ("tcp://host:8786").

        Raises ToolError if Dask is not installed or no scheduler responds.
        """
        try:
            self._distributed = import_module("distributed")  # an optional extra
        except ImportError:
            raise ToolError(f"--scheduler needs Dask: {install_line('cluster')}") from None
        self._work = work
        try:
            self._client = self._distributed.Client(scheduler, timeout=CONNECT_TIMEOUT_S)
        except (OSError, TimeoutError, ValueError):
            raise ToolError(f"no Dask scheduler responds at {scheduler}: start one with `dask scheduler`") from None

    def run(self, tables: Tables, batches: Sequence[Batch], time_limit_s: float) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each batch as it finishes; raises ToolError for a batch whose workers always die."""
        with self._client as client:
            # Submitted, not scattered, so that the scheduler recomputes the tables if the worker that has them dies.
            shared = client.submit(_identity, dict(tables), pure=False)
            batch_of = {client.submit(self._work, shared, batch, time_limit_s, pure=False): batch for batch in batches}
            deaths: Counter[Batch] = Counter()
            completed = self._distributed.as_completed(batch_of)
            for future in completed:
                batch = batch_of.pop(future)
                try:
                    outcomes = future.result()
                except self._distributed.KilledWorker:
                    deaths[batch] += 1
                    _check_deaths(deaths)
                    again = client.submit(self._work, shared, batch, time_limit_s, pure=False)
                    batch_of[again] = batch
                    completed.add(again)
                    continue
                yield outcomes


def _identity(tables: Tables) -> Tables:
    return tables


def _check_deaths(deaths: Counter[Batch]) -> None:
    worst, count = deaths.most_common(1)[0]
    if count >= MAX_DEATHS:
        first = worst[0]
        raise ToolError(
            f"workers died {count} times with {', '.join(first.boards)} ({first.bits} bits, {first.baud} baud) or one "
            "of the next candidates, perhaps for lack of memory; the same command resumes the exploration"
        )
