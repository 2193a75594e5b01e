"""Errors that a user can cause, one class per exit code. A message is one line with the cause and a remedy."""

from typing_extensions import override

from tinysplit.common.texts.quoting import printable
from tinysplit.settings.setting import Setting, worded

INTERRUPTED = 130  # exit code after Ctrl-C


class TinysplitError(Exception):
    """An error that ends a command with one line on stderr and `exit_code`.

    Settings in its text are named as options; `message` lets others name them in their way. What files and boards say
    may stand there, too: characters that cannot be printed are replaced by their escapes.
    """

    exit_code = 4

    @property
    def message(self) -> str:
        """The text with marks of settings, for the text of another error."""
        return super().__str__()

    @override
    def __str__(self) -> str:
        return printable(worded(self.message))


class CheckFailedError(TinysplitError):
    """A check failed: no feasible split, outputs that differ, a memory that is too small."""

    exit_code = 1


class UsageError(TinysplitError):
    """Options of a command are contradictory or unknown.

    `setting` is the one whose value is wrong, if it is a single one and the text does not begin with it.
    """

    exit_code = 2

    def __init__(self, text: str, setting: Setting | None = None) -> None:
        super().__init__(text)
        self.setting = setting


class InputError(TinysplitError):
    """An input file cannot be used: not ONNX, an unsupported operator, samples of the wrong shape."""

    exit_code = 3


class ToolError(TinysplitError):
    """A compiler, PlatformIO, a serial port or a board failed or is missing."""

    exit_code = 4


def one_line(error: Exception) -> str:
    """Return the message of a library's error without line breaks."""
    return " ".join(str(error).split())
