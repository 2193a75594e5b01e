"""A pool of processes that ends with the command."""

import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children


@contextmanager
def process_pool(count: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of `count` processes, by default one per processor, which end at once if the block fails.

    They never see Ctrl-C: this process handles it.
    """
    with ProcessPoolExecutor(count, initializer=_end_on_signals) as pool:
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
    reads any more (gh-94777).
    """
    for process in active_children():
        process.terminate()
    if sys.version_info < (3, 11, 5) and (queue := getattr(pool, "_call_queue", None)):
        queue._reader.close()  # noqa: SLF001


def _end_on_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
