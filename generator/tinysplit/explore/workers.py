"""Who evaluates candidates: processes of this machine, or the workers of a Dask cluster.

Both take batches and give them back in any order. A worker that dies loses nothing: its batch is given to another,
and only a batch that kills one worker after the other ends the exploration.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import active_children, get_context
from typing import Any, Protocol

from tinysplit.common.errors import InputError, ToolError
from tinysplit.explore.candidates import Candidate
from tinysplit.explore.evaluate import Outcome, Tables, evaluate_candidates

Batch = tuple[Candidate, ...]
Work = Callable[[Tables, Sequence[Candidate], float], list[Outcome]]

MAX_DEATHS = 3  # of workers with the same batch
WAITING_BATCHES = 2  # a worker: the next one is there when it is done
CONNECT_TIMEOUT_S = 10


class Workers(Protocol):
    """Evaluates batches."""

    def run(self, tables: Tables, batches: Sequence[Batch], time_limit_s: float) -> Iterator[list[Outcome]]:
        """Yield the outcomes of every batch as they come in."""


class LocalProcesses:
    """Processes of this machine."""

    def __init__(self, count: int | None = None, work: Work = evaluate_candidates) -> None:
        """Take `count` processes; as many as there are processors without it."""
        self.count, self.work = count or os.cpu_count() or 1, work

    def run(self, tables: Tables, batches: Sequence[Batch], time_limit_s: float) -> Iterator[list[Outcome]]:
        """Yield the outcomes of every batch as they come in; ToolError for one that kills its process each time."""
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
        pool = ProcessPoolExecutor(self.count, get_context("forkserver"), _keep, (self.work, tables, time_limit_s))
        try:
            waiting = iter(batches)
            running: dict[Future[list[Outcome]], Batch] = {}
            while True:
                for batch in islice(waiting, self.count * WAITING_BATCHES - len(running)):
                    running[pool.submit(_evaluate_kept, batch)] = batch
                if not running:
                    return
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(done), done.result()
        except BaseException:
            for process in active_children():  # or the end would wait for what they are at
                process.terminate()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_kept: list[Any] = []  # of a worker process: the work and the tables, which are sent once


def _keep(work: Work, tables: Tables, time_limit_s: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that gives out the work
    _kept[:] = work, tables, time_limit_s


def _evaluate_kept(batch: Batch) -> list[Outcome]:
    work, tables, time_limit_s = _kept
    outcomes: list[Outcome] = work(tables, batch, time_limit_s)
    return outcomes


class DaskCluster:
    """The workers of a Dask cluster that runs already; they need tinysplit installed in the same version."""

    def __init__(self, scheduler: str, work: Work = evaluate_candidates) -> None:
        """Connect to a scheduler ("tcp://host:8786").

        ToolError when Dask is not installed, InputError when nobody answers there.
        """
        try:
            from distributed import Client  # noqa: PLC0415 (an optional extra)
        except ImportError:
            raise ToolError("a Dask cluster needs Dask here, too: pip install 'tinysplit[cluster]'") from None
        self._work = work
        try:
            self._client = Client(scheduler, timeout=CONNECT_TIMEOUT_S)
        except (OSError, TimeoutError, ValueError):
            raise InputError(f"no Dask scheduler answers at {scheduler}: start one with `dask scheduler`") from None

    def run(self, tables: Tables, batches: Sequence[Batch], time_limit_s: float) -> Iterator[list[Outcome]]:
        """Yield the outcomes of every batch as they come in; ToolError for one that kills its worker each time."""
        from distributed import KilledWorker, as_completed  # noqa: PLC0415 (an optional extra)

        with self._client as client:
            # Computed and not scattered, so that the tables come back when the worker that holds them dies.
            shared = client.submit(_same, dict(tables), pure=False)
            batch_of = {client.submit(self._work, shared, batch, time_limit_s, pure=False): batch for batch in batches}
            deaths: Counter[Batch] = Counter()
            completed = as_completed(batch_of)
            for future in completed:
                batch = batch_of.pop(future)
                try:
                    outcomes = future.result()
                except KilledWorker:
                    deaths[batch] += 1
                    _check_deaths(deaths)
                    again = client.submit(self._work, shared, batch, time_limit_s, pure=False)
                    batch_of[again] = batch
                    completed.add(again)
                    continue
                yield outcomes


def _same(tables: Tables) -> Tables:
    return tables


def _check_deaths(deaths: Counter[Batch]) -> None:
    worst, count = deaths.most_common(1)[0]
    if count >= MAX_DEATHS:
        first = worst[0]
        raise ToolError(
            f"workers died {count} times with {', '.join(first.boards)} ({first.bits} bits, {first.baud} baud) or one "
            "of the next candidates: is there memory enough? What was found is kept, the same command goes on"
        )
