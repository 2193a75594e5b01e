"""Progress of long steps on stderr: a bar on a terminal, lines elsewhere; or lines for a function of a script."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import TextIOBase
from threading import Timer
from time import monotonic
from typing import IO, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from typing_extensions import override

from tinysplit.common.tables import counted
from tinysplit.common.texts.console import PlainConsole
from tinysplit.common.texts.quoting import printable
from tinysplit.settings.setting import as_argument

_log = logging.getLogger(__name__)
Listener = Callable[[str], None]  # takes a line

LATE_S = 2.0  # what takes longer is not silent
LINE_S = 10.0  # between two lines of a step that counts


def console_of(listener: Listener | None) -> Console:
    """Return a console whose lines `listener` gets; they are shown nowhere."""
    lines = cast("IO[str]", _Lines(listener or (lambda _line: None)))
    return PlainConsole(
        as_argument, file=lines, force_terminal=False, force_jupyter=False, no_color=True, soft_wrap=True
    )


@contextmanager
def late_step(messages: Console, what: str) -> Iterator[None]:
    """Say `what` if the block takes more than two seconds: for what is fast but for large networks."""
    line = Timer(LATE_S, messages.print, [f"{what} ..."], {"highlight": False, "markup": False, "soft_wrap": True})
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        line.cancel()


def reading(messages: Console, models: Sequence[object]) -> AbstractContextManager[None]:
    """Return the late step in which networks are read: names one, counts several."""
    return late_step(messages, f"reading {models[0] if len(models) == 1 else counted(len(models), 'network')}")


def references(messages: Console, n_samples: int) -> AbstractContextManager[object]:
    """Return the step in which the integer and the float reference compute all samples."""
    return steps(messages, f"integer and float reference of {n_samples} samples")


@contextmanager
def steps(messages: Console, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show `what` while the block runs; the yielded function takes the number done of `total`."""
    if not messages.is_terminal:
        messages.print(f"{what} ...", highlight=False, soft_wrap=True)
        yield _lines(messages, what, total)
        return
    _log.info("%s ...", what)
    columns = [SpinnerColumn(), TextColumn("{task.description}", markup=False)]
    counters = [BarColumn(), MofNCompleteColumn()] if total is not None else []
    with Progress(*columns, *counters, TimeElapsedColumn(), console=messages) as progress:
        task = progress.add_task(printable(what), total=total)
        yield lambda done: progress.update(task, completed=done)
        progress.update(task, completed=total if total is not None else 1, total=total if total is not None else 1)


def _lines(messages: Console, what: str, total: int | None) -> Callable[[int], None]:
    """Return a function that takes the number done, and prints it now and then."""
    printed_s = monotonic()

    def show(done: int) -> None:
        nonlocal printed_s
        if total is not None and monotonic() - printed_s >= LINE_S:
            messages.print(f"{what}: {done} of {total}", highlight=False, soft_wrap=True)
            printed_s = monotonic()

    return show


class _Lines(TextIOBase):
    """A text file that hands each of its lines to a function."""

    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self._listener = listener
        self._rest = ""

    @override
    def write(self, text: str) -> int:
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self._listener(line)
        return len(text)
