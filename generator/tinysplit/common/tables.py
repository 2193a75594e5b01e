"""Tables in the style of all commands."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from typing_extensions import override

from tinysplit.common.texts.quoting import printable_lines

NAME_WIDTH = 20  # so that a table fits 80 columns; names from exporters can have several hundred letters
SHORT_NAME_WIDTH = 14  # of "depthwise_conv": names may get as short as that before text is wrapped
_GAP = 2  # columns of the console between two columns of a table
_PLUS = " +"  # stays on the line of the word before it
_JOINED = ";"  # between the names of layers that an exporter has fused: the first one is of the output
_WORD = re.compile(r"\S+(?: \+(?=\s))?")


class PlainTable(Table):
    """A table without borders: left-aligned columns of text, right-aligned columns of numbers.

    On a narrow console text is wrapped between words, and the longest words lose the beginning that they have in
    common, then more of it; numbers stay whole.
    """

    def __init__(self, texts: Sequence[str], numbers: Sequence[str], last_texts: Sequence[str]) -> None:
        super().__init__(box=None, pad_edge=False)
        self._all_cells = [
            *(_Column([heading], is_text=True) for heading in texts),
            *(_Column([heading], is_text=False) for heading in numbers),
            *(_Column([heading], is_text=True) for heading in last_texts),
        ]
        self._styles: list[str | None] = []
        for column in self._all_cells:
            self.add_column(column.cells[0], justify=column.justify, no_wrap=not column.is_text)

    @override
    def add_row(self, *cells: RenderableType, style: str | None = None) -> None:  # type: ignore[override]
        """Add a row; columns behind its cells stay empty."""
        cells = tuple(printable_lines(each) if isinstance(each, str) else each for each in cells)
        super().add_row(*cells)
        padded = (*cells, *("" for _ in self._all_cells[len(cells) :]))
        for column, cell in zip(self._all_cells, padded, strict=True):
            column.cells.append(cell)
        self._styles.append(style)

    @override
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - _GAP * (len(self._all_cells) - 1)
        word_limit = self._word_limit(room, console, options)
        columns = [column.with_words_of(word_limit) for column in self._all_cells]
        widths = [column.widths(console, options) for column in columns]
        limit = _highest_limit(widths, room)
        table = Table(box=None, pad_edge=False)
        for column, width in zip(columns, widths, strict=True):
            table.add_column(
                column.cells[0], justify=column.justify, no_wrap=not column.is_text, width=width.within(limit)
            )
        for number, style in enumerate(self._styles, 1):
            table.add_row(*(column.cells[number] for column in columns), style=style)
        yield table

    def _word_limit(self, room: int, console: Console, options: ConsoleOptions) -> int:
        """Return the length of the longest words: without wrapped text if names stay readable, else with it."""

        def widths(limit: int) -> list[_Widths]:
            return [column.with_words_of(limit).widths(console, options) for column in self._all_cells]

        def unwrapped_fits(limit: int) -> bool:
            return sum(each.most for each in widths(limit)) <= room

        def wrapped_fits(limit: int) -> bool:
            return sum(each.least for each in widths(limit)) <= room

        if unwrapped_fits(options.max_width):
            return options.max_width
        longest = max((len(word) for column in self._all_cells if column.is_text for word in column.words), default=0)
        shortest = SHORT_NAME_WIDTH if longest > NAME_WIDTH else NAME_WIDTH
        unwrapped = _highest(range(shortest, options.max_width), unwrapped_fits)
        return unwrapped or _highest(range(2, NAME_WIDTH + 1), wrapped_fits) or 1


class _Widths(NamedTuple):
    """Widths of a column: with text wrapped wherever it can be, and without."""

    least: int
    most: int

    def within(self, limit: int) -> int:
        """Return the width where columns are no wider than the limit, as far as they can be wrapped."""
        return max(self.least, min(self.most, limit))


@dataclass(frozen=True)
class _Column:
    """A column of text or of numbers; its first cell is the heading."""

    cells: list[RenderableType]
    is_text: bool

    @property
    def justify(self) -> JustifyMethod:
        """How its cells are aligned."""
        return "left" if self.is_text else "right"

    def with_words_of(self, limit: int) -> "_Column":
        """Return the column with the ends of words that are longer than the limit."""
        if not self.is_text or not any(len(word) > limit for word in self.words):
            return self
        prefix = common_beginning(self.words, limit)
        return replace(self, cells=[_short(cell, prefix, limit) for cell in self.cells])

    @cached_property
    def words(self) -> list[str]:
        """The words of its texts."""
        return [
            word.removesuffix(_PLUS) for cell in self.cells if isinstance(cell, str) for word in _WORD.findall(cell)
        ]

    def widths(self, console: Console, options: ConsoleOptions) -> _Widths:
        """Return its widths; numbers are never wrapped."""
        ranges = [_range(cell, console, options) for cell in self.cells]
        most = max(1, *(each.maximum for each in ranges))
        return _Widths(max(1, *(each.minimum for each in ranges)) if self.is_text else most, most)


def plain_table(*labels: str, numbers: Sequence[str] = (), last_labels: Sequence[str] = ()) -> PlainTable:
    """Return a table of text columns `labels`, then columns of `numbers`, then text columns `last_labels`."""
    return PlainTable(labels, numbers, last_labels)


def _range(cell: RenderableType, console: Console, options: ConsoleOptions) -> Measurement:
    """Return the widths of the longest word and of the longest line of a cell."""
    if not isinstance(cell, str):
        return Measurement.get(console, options, cell)
    words = max(map(cell_len, _WORD.findall(cell)), default=0)
    return Measurement(words, max(map(cell_len, cell.splitlines()), default=0))


def _highest_limit(widths: Sequence[_Widths], room: int) -> int:
    """Return the highest limit of columns that keeps all of them to `room`."""

    def fits(limit: int) -> bool:
        return sum(each.within(limit) for each in widths) <= room

    return _highest(range(2, max((each.most for each in widths), default=0) + 1), fits) or 1


def _highest(limits: range, fits: Callable[[int], bool]) -> int | None:
    """Return the highest of ascending limits that fits, as all below it do; None if none does."""
    count = bisect_left(limits, True, key=lambda limit: not fits(limit))
    return limits[count - 1] if count else None


def common_beginning(words: Sequence[str], limit: int) -> str:
    """Return what words longer than the limit, and those with a / in them, begin with, up to a / . : or else _ or -."""
    named = [word for word in words if len(word) > limit or "/" in word]
    if len(set(named)) <= 1:
        return ""
    first, last = min(named), max(named)
    length = next((index for index, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), None)
    prefix = first[:length]
    end = max(prefix.rfind(separator) for separator in "/.:") + 1
    return prefix[: end or max(prefix.rfind(separator) for separator in "_-") + 1]


def _short(cell: RenderableType, prefix: str, limit: int) -> RenderableType:
    if not isinstance(cell, str):
        return cell
    return _WORD.sub(lambda word: _short_word(word[0], prefix, limit), cell)


def _short_word(word: str, prefix: str, limit: int) -> str:
    name, plus, _ = word.partition(_PLUS)
    name, others, _ = name.partition(_JOINED) if len(name) > limit else (name, "", "")
    rest = name.removeprefix(prefix)
    without = name if len(rest) + 1 >= len(name) else f"…{rest}"
    return shortened(f"{without}…" if others else without, max(1, limit - len(plus))) + plus


def shortened(name: str, width: int) -> str:
    """Return the end of a layer's name, which distinguishes layers in what exporters write."""
    return name if len(name) <= width else "…" + name[len(name) + 1 - width :]


def counted(number: int, what: str, several: str = "") -> str:
    """Return "1 point", "2 points"; `several` is the plural where it is another one."""
    return f"{number} {what if number == 1 else several or f'{what}s'}"
