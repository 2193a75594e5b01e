"""A pool of processes that ends with the command."""

import signal
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
            for process in active_children():
                process.terminate()
            raise


def _end_on_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
