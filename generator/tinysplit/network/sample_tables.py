"""Tables of samples: .csv files with a line for each sample."""

import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.choices import LABEL_ARRAY
from tinysplit.common.errors import InputError, one_line
from tinysplit.common.input_files.limits import LINE_BYTES, TABLE_BYTES, size_text

LABEL_COLUMNS = (LABEL_ARRAY, "label")
_OTHER_SEPARATORS = {";": "';'", "\t": "tabs", " ": "spaces"}
_QUOTED_CHARACTERS = 40

_Line = tuple[int, list[str]]  # its number in the file, and its cells


def read_table(path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return the values, rows x columns, and the labels, if a column has one of their names.

    The first line has the names of the columns if one of them is that of the labels, or none is a number.
    Raises InputError, which names line and column, for what is no table of numbers.
    """
    if path.stat().st_size > TABLE_BYTES:
        raise InputError(f"{path} has more than {size_text(TABLE_BYTES)}, the limit of tables: save it as an .npz file")
    lines = _lines(path)
    first = next(lines, None)
    names = [name.strip().lower() for name in first[1]] if first else []
    is_header = bool(set(LABEL_COLUMNS) & set(names)) or not any(map(_is_number, names))
    rows = lines if is_header or first is None else chain([first], lines)
    labels = next((k for k, name in enumerate(names) if name in LABEL_COLUMNS), None)
    numbers = [np.array(_numbers(path, line, len(names), labels)) for line in rows]
    if not numbers:
        what = "nothing below the names of its columns" if first else "no lines"
        raise InputError(f"{path} has {what}: a line of numbers for each sample is needed")
    table = np.stack(numbers)
    if labels is None:
        return table, None
    return np.delete(table, labels, axis=1), table[:, labels]


class _Text:
    """The lines of a file for the reader of tables, whose rows may have several; a long row raises InputError."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self.path = path
        self.file = file
        self.row_characters = 0

    def __iter__(self) -> Iterator[str]:
        while line := self.file.readline(LINE_BYTES):
            self.row_characters += len(line)
            if self.row_characters >= LINE_BYTES:
                raise InputError(
                    f"{self.path} has a row of more than {size_text(LINE_BYTES)}, the limit: every line has the values "
                    "of one sample"
                )
            yield line


def _lines(path: Path) -> Iterator[_Line]:
    """Yield the lines that are not empty."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # spreadsheets begin UTF-8 with a mark
            text = _Text(path, file)
            reader = csv.reader(text)
            for cells in reader:
                text.row_characters = 0
                if cells:
                    yield reader.line_num, cells
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text in UTF-8: save the table as CSV in UTF-8") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except csv.Error as error:
        raise InputError(f"{path} is no table ({one_line(error)}): save it with commas between the values") from None


def _numbers(path: Path, line: _Line, n_columns: int, labels: int | None) -> list[float]:
    """Return the numbers of a line. Raises InputError for a cell that is none, or another number of columns."""
    number, cells = line
    wrong = next((k for k, cell in enumerate(cells) if not _is_number(cell)), None)
    if wrong is not None:
        separator = _other_separator(cells[wrong])
        if separator:
            raise InputError(
                f"{path}: line {number} has {separator} between its values: save the table with commas, and with "
                "points in numbers"
            )
        remedy = "every line has the values of one sample, below names of columns or without any"
        if wrong == labels:
            remedy = "labels have to be whole class numbers, counted from 0"
        raise InputError(
            f"{path}: line {number} has {_quoted(cells[wrong])} in place of a number in column {wrong + 1}: {remedy}"
        )
    if len(cells) != n_columns:
        raise InputError(
            f"{path}: line {number} has {len(cells)} columns, the first line {n_columns}: every line has the values of "
            "one sample"
        )
    return list(map(float, cells))


def _other_separator(cell: str) -> str | None:
    """Return what separates the numbers of a cell, if it is several."""
    text = cell.strip()
    parts = {name: text.split(separator) for separator, name in _OTHER_SEPARATORS.items() if separator in text}
    return next((name for name, every in parts.items() if all(map(_is_number, filter(None, every)))), None)


def _quoted(cell: str) -> str:
    return repr(cell if len(cell) <= _QUOTED_CHARACTERS else f"{cell[: _QUOTED_CHARACTERS - 3]}...")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
