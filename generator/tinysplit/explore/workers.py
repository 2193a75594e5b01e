"""Workers that evaluate candidates: this process, processes of this machine, or a Dask cluster.

Outcomes arrive in any order. If a worker dies, another one repeats its batch; a batch whose workers die repeatedly ends
the exploration.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from importlib import import_module
from itertools import islice
from logging import CRITICAL, getLogger
from multiprocessing import forkserver, get_context, parent_process, resource_tracker
from threading import Thread
from typing import Protocol

from typing_extensions import override

from tinysplit.common.errors import ToolError
from tinysplit.common.extras import install_line
from tinysplit.common.interrupts.pool import terminate
from tinysplit.common.interrupts.signals import uninterrupted
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import Outcome, Solving, Tables, evaluate_candidates, key_of
from tinysplit.settings.search import SCHEDULER

Batch = tuple[SetCandidate, ...]
Work = Callable[[Tables, Sequence[SetCandidate], Solving], list[Outcome]]

MAX_DEATHS = 3  # of workers on the same batch
WAITING_BATCHES = 2  # per worker, so that none has to wait for its next batch
CONNECT_TIMEOUT_S = 10
END_TIMEOUT_S = 10  # of a pool whose processes were terminated


class Workers(Protocol):
    """Evaluates batches of candidates."""

    def run(self, tables: Tables, batches: Sequence[Batch], solving: Solving) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each batch as it finishes."""

    def close(self) -> None:
        """End what the workers still do."""


class ThisProcess(Workers):
    """No other process, so that a script needs no guard against being imported by workers."""

    @override
    def run(self, tables: Tables, batches: Sequence[Batch], solving: Solving) -> Iterator[list[Outcome]]:
        for batch in batches:
            yield evaluate_candidates(tables, batch, solving)

    @override
    def close(self) -> None:
        """There is nothing to end."""


class LocalProcesses(Workers):
    """Worker processes on this machine, which end with this process, whatever ends it."""

    def __init__(self, count: int | None = None, work: Work = evaluate_candidates) -> None:
        """Use `count` processes, by default one per processor of this one. They start with the first batches."""
        self.count = count or len(os.sched_getaffinity(0))
        self.work = work
        self._pool: ProcessPoolExecutor | None = None

    @override
    def run(self, tables: Tables, batches: Sequence[Batch], solving: Solving) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each batch as it finishes; raises ToolError for a batch whose processes always die."""
        left = dict.fromkeys(batches)
        deaths: Counter[Batch] = Counter()
        while left:
            try:
                for batch, outcomes in self._run_pool(tables, tuple(left), solving):
                    del left[batch]
                    yield outcomes
            except BrokenProcessPool:
                deaths.update(islice(left, self.count * WAITING_BATCHES))
                _check_deaths(deaths)

    @override
    def close(self) -> None:
        """End all processes, even if they are processing a batch."""
        if self._pool:
            terminate(self._pool)  # shutdown would wait for their current batches
            # The pool's own thread must not close its pipe while the end of this process writes to it.
            end = partial(self._pool.shutdown, wait=True, cancel_futures=True)
            ending = Thread(target=end, daemon=True)
            ending.start()
            ending.join(END_TIMEOUT_S)
            self._pool = None

    def _run_pool(
        self, tables: Tables, batches: Sequence[Batch], solving: Solving
    ) -> Iterator[tuple[Batch, list[Outcome]]]:
        with uninterrupted():
            pool = self._pool = self._pool or _new_pool(self.count)
        try:
            waiting = iter(batches)
            running: dict[Future[list[Outcome]], Batch] = {}
            while True:
                for batch in islice(waiting, self.count * WAITING_BATCHES - len(running)):
                    with uninterrupted():  # it may start a process
                        running[pool.submit(self.work, _tables_of(batch, tables), batch, solving)] = batch
                if not running:
                    return
                for done in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(done), done.result()
        except BaseException:
            self.close()
            raise


def _new_pool(count: int) -> ProcessPoolExecutor:
    """Return a pool whose processes ignore Ctrl-C from their first moment: the main process handles it.

    They are forks of one that has imported what they need.
    """
    forkserver.set_forkserver_preload([evaluate_candidates.__module__])
    resource_tracker.ensure_running()  # here, as it unblocks Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which processes inherit
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ProcessPoolExecutor(count, get_context("forkserver"), _end_with_parent)


def _end_with_parent() -> None:
    """End this process as soon as its parent is gone, even if that was killed."""

    def wait_for_parent() -> None:
        if parent := parent_process():
            parent.join()
            os._exit(1)

    Thread(target=wait_for_parent, daemon=True).start()


def _tables_of(batch: Batch, tables: Tables) -> Tables:
    """Return the tables that a batch needs."""
    return {key: tables[key] for key in dict.fromkeys(map(key_of, batch))}


class DaskCluster(Workers):
    """A running Dask cluster, whose workers need the same version of tinysplit."""

    def __init__(self, scheduler: str, work: Work = evaluate_candidates) -> None:
        """Connect to a scheduler ("tcp://host:8786").

        Raises ToolError if Dask is not installed or no scheduler responds.
        """
        try:
            self._distributed = import_module("distributed")  # an optional extra
        except ImportError:
            raise ToolError(f"{SCHEDULER} needs Dask: {install_line('cluster')}") from None
        self._scheduler = scheduler
        self._work = work
        for logger in ("distributed", "distributed.client"):
            getLogger(logger).setLevel(CRITICAL)  # a lost scheduler is one line of ours
        try:
            self._client = self._distributed.Client(scheduler, timeout=CONNECT_TIMEOUT_S)
        except (OSError, TimeoutError, ValueError):
            raise ToolError(f"no Dask scheduler responds at {scheduler}: start one with `dask scheduler`") from None

    @override
    def run(self, tables: Tables, batches: Sequence[Batch], solving: Solving) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each batch as it finishes.

        Raises ToolError for a batch whose workers always die, and where the scheduler is lost.
        """
        try:
            yield from self._run(tables, batches, solving)
        except (CancelledError, self._distributed.comm.CommClosedError):
            raise ToolError(
                f"the Dask scheduler at {self._scheduler} is lost: start it again with `dask scheduler`; the same "
                "command resumes the exploration"
            ) from None

    def _run(self, tables: Tables, batches: Sequence[Batch], solving: Solving) -> Iterator[list[Outcome]]:
        client = self._client
        # Submitted, not scattered, so that the scheduler recomputes the tables if the worker that has them dies.
        shared = client.submit(_identity, dict(tables), pure=False)
        batch_of = {client.submit(self._work, shared, batch, solving, pure=False): batch for batch in batches}
        deaths: Counter[Batch] = Counter()
        completed = self._distributed.as_completed(batch_of)
        for future in completed:
            batch = batch_of.pop(future)
            try:
                outcomes = future.result()
            except self._distributed.KilledWorker:
                deaths[batch] += 1
                _check_deaths(deaths)
                again = client.submit(self._work, shared, batch, solving, pure=False)
                batch_of[again] = batch
                completed.add(again)
                continue
            yield outcomes

    @override
    def close(self) -> None:
        """Leave the cluster, which drops what it has not computed yet."""
        self._client.close()


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
