"""Tables in the style of all commands."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

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
_WORD = re.compile(r"\S+(?: \+(?=\s))?")


class PlainTable(Table):
    """A table without borders: left-aligned columns of text, right-aligned columns of numbers.

    On a narrow console text is wrapped between words, and the longest words lose their beginnings; numbers stay whole.
    """

    def __init__(self, texts: Sequence[str], numbers: Sequence[str], last_texts: Sequence[str]) -> None:
        super().__init__(box=None, pad_edge=False)
        self._headings = (*texts, *numbers, *last_texts)
        self._are_texts = (*(True for _ in texts), *(False for _ in numbers), *(True for _ in last_texts))
        self._rows: list[tuple[RenderableType, ...]] = []
        self._styles: list[str | None] = []
        for heading, is_text in zip(self._headings, self._are_texts, strict=True):
            self.add_column(heading, justify="left" if is_text else "right", no_wrap=not is_text)

    @override
    def add_row(self, *cells: RenderableType, style: str | None = None) -> None:  # type: ignore[override]
        """Add a row; columns behind its cells stay empty."""
        cells = tuple(printable_lines(each) if isinstance(each, str) else each for each in cells)
        super().add_row(*cells)
        self._rows.append((*cells, *("" for _ in self._headings[len(cells) :])))
        self._styles.append(style)

    @override
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = options.max_width - _GAP * (len(self._headings) - 1)
        columns = self._with_words_of(self._word_limit(room, console, options))
        least, most = self._ranges(columns, console, options)
        limit = _highest_limit(least, most, room)
        table = Table(box=None, pad_edge=False)
        for column, is_text, small, large in zip(columns, self._are_texts, least, most, strict=True):
            justify: JustifyMethod = "left" if is_text else "right"
            width = max(small, min(large, limit))
            table.add_column(column[0], justify=justify, no_wrap=not is_text, width=width)
        for number, style in enumerate(self._styles, 1):
            table.add_row(*(column[number] for column in columns), style=style)
        yield table

    def _with_words_of(self, limit: int) -> list[list[RenderableType]]:
        """Return the columns, headings first, with the ends of words that are longer than the limit."""
        columns = zip(self._headings, *self._rows, strict=True)
        return [
            [_short(cell, limit) if is_text else cell for cell in column]
            for column, is_text in zip(columns, self._are_texts, strict=True)
        ]

    def _ranges(
        self, columns: Sequence[Sequence[RenderableType]], console: Console, options: ConsoleOptions
    ) -> tuple[list[int], list[int]]:
        """Return the widths of all columns: with text wrapped wherever it can be, and without."""
        ranges = [[_range(cell, console, options) for cell in column] for column in columns]
        most = [max(1, *(each.maximum for each in column)) for column in ranges]
        words = [max(1, *(each.minimum for each in column)) for column in ranges]
        return [
            word if is_text else size for word, size, is_text in zip(words, most, self._are_texts, strict=True)
        ], most

    def _word_limit(self, room: int, console: Console, options: ConsoleOptions) -> int:
        """Return the length of the longest words: without wrapped text if names stay readable, else with it."""

        def widths(limit: int) -> tuple[list[int], list[int]]:
            return self._ranges(self._with_words_of(limit), console, options)

        least, most = widths(options.max_width)
        if sum(most) <= room:
            return options.max_width
        shortest = SHORT_NAME_WIDTH if max(least) > NAME_WIDTH else NAME_WIDTH
        unwrapped = _highest(range(shortest, options.max_width), lambda limit: sum(widths(limit)[1]) <= room)
        return unwrapped or _highest(range(2, NAME_WIDTH + 1), lambda limit: sum(widths(limit)[0]) <= room) or 1


def plain_table(*labels: str, numbers: Sequence[str] = (), last_labels: Sequence[str] = ()) -> PlainTable:
    """Return a table of text columns `labels`, then columns of `numbers`, then text columns `last_labels`."""
    return PlainTable(labels, numbers, last_labels)


def _range(cell: RenderableType, console: Console, options: ConsoleOptions) -> Measurement:
    """Return the widths of the longest word and of the longest line of a cell."""
    if not isinstance(cell, str):
        return Measurement.get(console, options, cell)
    words = max(map(cell_len, _WORD.findall(cell)), default=0)
    return Measurement(words, max(map(cell_len, cell.splitlines()), default=0))


def _highest_limit(least: Sequence[int], most: Sequence[int], room: int) -> int:
    """Return the highest limit of columns, wider than `least` and up to `most`, that keeps all of them to `room`."""

    def total(limit: int) -> int:
        return sum(max(small, min(large, limit)) for small, large in zip(least, most, strict=True))

    return _highest(range(2, max(most, default=0) + 1), lambda limit: total(limit) <= room) or 1


def _highest(limits: range, fits: Callable[[int], bool]) -> int | None:
    """Return the highest of ascending limits that fits, as all below it do; None if none does."""
    count = bisect_left(limits, True, key=lambda limit: not fits(limit))
    return limits[count - 1] if count else None


def _short(cell: RenderableType, limit: int) -> RenderableType:
    if not isinstance(cell, str):
        return cell
    return _WORD.sub(lambda word: _short_word(word[0], limit), cell)


def _short_word(word: str, limit: int) -> str:
    name, plus, _ = word.partition(_PLUS)
    return shortened(name, max(1, limit - len(plus))) + plus


def shortened(name: str, width: int = NAME_WIDTH) -> str:
    """Return the end of a layer's name, which distinguishes layers in what exporters write."""
    return name if len(name) <= width else "…" + name[len(name) + 1 - width :]


def counted(number: int, what: str) -> str:
    """Return "1 point", "2 points"."""
    return f"{number} {what}{'' if number == 1 else 's'}"
