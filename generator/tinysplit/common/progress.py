"""Progress of long steps on stderr: a bar on a terminal, one line per step elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def steps(messages: Console, what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show `what` while the block runs; the yielded function takes the number done of `total`."""
    if not messages.is_terminal:
        messages.print(f"{what} ...", highlight=False, soft_wrap=True)
        yield lambda _: None
        return
    columns = [SpinnerColumn(), TextColumn("{task.description}")]
    counters = [BarColumn(), MofNCompleteColumn()] if total is not None else []
    with Progress(*columns, *counters, TimeElapsedColumn(), console=messages) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.update(task, completed=done)
        progress.update(task, completed=total if total is not None else 1, total=total if total is not None else 1)
