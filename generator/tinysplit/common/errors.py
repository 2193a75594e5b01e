"""Every error that a user can cause, one class an exit code: one line that names the thing and the remedy."""

INTERRUPTED = 130  # exit code after Ctrl-C


class TinysplitError(Exception):
    """An error that ends a command with one line on stderr and `exit_code`."""

    exit_code = 4


class CheckFailedError(TinysplitError):
    """A check failed: no feasible split, outputs that differ, a memory over budget."""

    exit_code = 1


class UsageError(TinysplitError):
    """The options of a command contradict each other or name something unknown."""

    exit_code = 2


class InputError(TinysplitError):
    """A file that came in cannot be used: no ONNX, an unsupported operator, samples of the wrong shape."""

    exit_code = 3


class ToolError(TinysplitError):
    """A compiler, PlatformIO, a serial port or a board failed or is missing."""

    exit_code = 4


def one_line(error: Exception) -> str:
    """Return the words of a library's error without its line breaks."""
    return " ".join(str(error).split())
