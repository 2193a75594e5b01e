"""A pool of processes that ends with the command."""

import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import active_children
from typing import Any, TypeVar

T = TypeVar("T")


class Pool(ProcessPoolExecutor):
    """A pool of processes with results in the order of their tasks."""

    def results(self, function: Callable[..., T], *arguments: Iterable[Any]) -> Iterator[T]:
        """Yield the results as `map` does, and leave it to the end of the pool to give up tasks behind one that failed.

        Tasks that `map` cancels fail a second time when the processes end (an InvalidStateError of Python 3.11).
        """
        tasks = [self.submit(function, *each) for each in zip(*arguments, strict=True)]
        return (task.result() for task in tasks)


@contextmanager
def process_pool(count: int | None = None) -> Iterator[Pool]:
    """Yield a pool of `count` processes, by default one per processor, which end at once if the block fails.

    They never see Ctrl-C: this process handles it.
    """
    with Pool(count, initializer=_end_on_signals) as pool:
        try:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # which processes inherit
            try:
                pool.submit(int)  # starts them
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            yield pool
        except BaseException:
            terminate(pool)
            raise


def terminate(pool: ProcessPoolExecutor) -> None:
    """End all processes at once, so that the pool can be shut down.

    What it still writes to them would wait for ever: Python before 3.11.5 does not close the pipe that none of them
    reads any more (gh-94777). It is closed first: behind the end of the processes a thread of the pool does so, too.
    """
    if sys.version_info < (3, 11, 5) and (queue := getattr(pool, "_call_queue", None)):
        with suppress(OSError):  # that thread was faster
            queue._reader.close()  # noqa: SLF001
    for process in active_children():
        process.terminate()


def _end_on_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
