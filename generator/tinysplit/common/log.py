"""The log of a command: what it says, the programs that it starts, and where an error comes from."""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from typing_extensions import override

from tinysplit.common.errors import InputError
from tinysplit.common.output_file import check_output_file, version_mark
from tinysplit.common.texts.quoting import printable_lines, shell_line
from tinysplit.settings.setting import worded

_LOGGERS = tuple(map(logging.getLogger, ("tinysplit", "tinysplit_hil", "virtual_stm32")))
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_program(logger: logging.Logger, command: Sequence[str]) -> None:
    """Log a program that is started, as a line for a shell."""
    logger.debug("$ %s", shell_line(command))


class _Printable(logging.Formatter):
    """Lines without what controls a terminal: outputs of programs, paths and names may have it."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        return printable_lines(worded(super().format(record)))


@contextmanager
def logged(path: Path | None, *, is_verbose: bool) -> Iterator[None]:
    """Append to the log file, if any, and print on stderr with `is_verbose`, what a command logs during the block.

    Warnings are always printed.

    Raises InputError for a file that tinysplit did not write, or that cannot be written.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    handlers[0].setLevel(logging.WARNING)
    handlers[0].setFormatter(_Printable("warning: %(message)s"))
    if path:
        check_output_file(path, remedy="name another file")
        try:
            handlers.append(logging.FileHandler(path, encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}): name another file") from None
        handlers[1].setFormatter(_Printable(_FORMAT))
    if is_verbose:
        details = logging.StreamHandler()
        details.setFormatter(_Printable())
        details.addFilter(lambda record: record.levelno < logging.INFO)  # messages are there already
        handlers.append(details)
    for logger in _LOGGERS:
        if path or is_verbose:
            logger.setLevel(logging.DEBUG)
        for handler in handlers:
            logger.addHandler(handler)
    _LOGGERS[0].debug("%s, Python %s: %s", version_mark(), sys.version.split()[0], shell_line(sys.argv))
    try:
        yield
    finally:
        for handler in handlers:
            for logger in _LOGGERS:
                logger.removeHandler(handler)
            handler.close()
