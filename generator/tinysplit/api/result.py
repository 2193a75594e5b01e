"""What all results have in common."""

import sys
from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tinysplit.common.errors import ToolError
from tinysplit.common.texts.quoting import shell_line

if TYPE_CHECKING:
    import pandas as pd


class Result(ABC):
    """A result: figures in its fields, times in seconds; layers, boards and samples count from 1."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain values: dicts with text keys, lists, text, numbers, booleans, None."""

    @abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows of its table, all with the same keys."""

    def to_frame(self) -> "pd.DataFrame":
        """Return `to_rows` as a pandas DataFrame. Raises ToolError without pandas."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            line = shell_line((sys.executable, "-m", "pip", "install", "pandas"))
            raise ToolError(f"to_frame makes a table of pandas, which is not installed: {line}") from None
        return pandas.DataFrame(self.to_rows())
