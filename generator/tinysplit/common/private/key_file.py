"""Reading of files with keys, with a warning where others can read them, too."""

import logging
import os
import stat
from functools import cache
from pathlib import Path

from tinysplit.common.errors import InputError

_log = logging.getLogger(__name__)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_key_file(path: Path, title: str, most_bytes: int, remedy: str) -> bytes:
    """Return the bytes of a key file, which is `title` in messages; raise InputError for one that is no key file."""
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
            mode = os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise InputError(f"{title} {path} cannot be read ({error.strerror}): name a file with a key") from None
    if len(content) > most_bytes:
        raise InputError(f"{title} {path} has more than {most_bytes} bytes: {remedy}")
    if stat.S_ISREG(mode) and mode & _OTHERS:
        _warn(f"{title} {path} is open to other users: allow them nothing (`chmod 600`)")
    return content


@cache
def _warn(text: str) -> None:
    """Say it once, however many boards get the key."""
    _log.warning(text)
