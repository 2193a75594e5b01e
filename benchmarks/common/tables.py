"""Tables of benchmarks: Markdown, a row as soon as it is measured, or JSON."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

Cell = str | int | None
R = TypeVar("R")


class MarkdownTable:
    """A table with columns of text on the left, then columns of numbers, then columns of text again."""

    def __init__(self, *texts: str, numbers: Sequence[str] = (), last: Sequence[str] = ()) -> None:
        self._headings = (*texts, *numbers, *last)
        self._rules = (*("---" for _ in texts), *("---:" for _ in numbers), *("---" for _ in last))

    def lines(self, rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
        """Yield the lines of the table."""
        yield _line(self._headings)
        yield f"|{'|'.join(self._rules)}|"
        yield from map(_line, rows)

    def print(self, rows: Iterable[Sequence[Cell]]) -> None:
        """Print the table, each row at once."""
        for line in self.lines(rows):
            print(line, flush=True)

    def print_rows(self, rows: Iterable[R], cells: Callable[[R], Sequence[Cell]], *, as_json: bool) -> list[R]:
        """Print the cells of rows, or the rows themselves as JSON, and return the rows."""
        done = []

        def passing() -> Iterator[R]:
            for row in rows:
                done.append(row)
                yield row

        if as_json:
            print_json(list(passing()))
        else:
            self.print(map(cells, passing()))
        return done


def _line(cells: Sequence[Cell]) -> str:
    return f"| {' | '.join(map(_text, cells))} |"


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    return grouped(cell) if isinstance(cell, int) else cell


def grouped(number: float) -> str:
    """Return a number without decimals, its thousands apart."""
    return f"{number:,.0f}".replace(",", " ")


def milliseconds(seconds: float | None) -> str | None:
    """Return a time in ms with two decimals."""
    return None if seconds is None else f"{1000 * seconds:.2f}"


def percent(share: float, decimals: int = 1) -> str:
    """Return a difference in percent, with its sign."""
    return f"{100 * share:+.{decimals}f} %"


def print_json(value: object) -> None:
    """Print dataclasses and what holds them as JSON."""
    print(json.dumps(value, default=_plain, indent=2))


def _plain(value: Any) -> Any:  # noqa: ANN401 (as JSON has it)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value)} is nothing for JSON")


@contextmanager
def output_to(path: Path | None) -> Iterator[None]:
    """Write what is printed into a file, or to stdout without one."""
    with ExitStack() as stack:
        if path:
            stack.enter_context(redirect_stdout(stack.enter_context(path.open("w", encoding="utf-8"))))
        yield
