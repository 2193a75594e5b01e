"""Writing of files that a user names: whole or not at all, and never over a file that tinysplit did not write."""

from pathlib import Path

from tinysplit import __version__
from tinysplit.common.errors import InputError
from tinysplit.common.interrupts.temporary import temporary_file
from tinysplit.settings.result_files import FORCE

VERSION_KEY = "tinysplit_version"  # at the beginning of every file that may be written again
_HEAD_BYTES = 1024


def version_mark() -> str:
    """Return the text by which a file that is not JSON says in a comment who wrote it."""
    return f"{VERSION_KEY} {__version__}"


def check_output_file(
    path: Path | None, *, force: bool = False, remedy: str = f"name another file, or overwrite with {FORCE(True)}"
) -> None:
    """Raise InputError where `path`, if any, can be no file, or is one that tinysplit did not write, unless `force`.

    `remedy` is for the latter.
    """
    if path is None:
        return
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"cannot be written: there is no folder {path.parent}"
        raise InputError(f"{path} {what}: name a file in a folder that there is")
    if path.is_file() and not force and not _is_ours(path):
        raise InputError(f"{path} exists and was not written by tinysplit: {remedy}")


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError:
        return False
    return not head or VERSION_KEY.encode() in head


def write_whole_file(path: Path, content: str | bytes) -> None:
    """Write `content`, text in UTF-8, to `path` atomically; a device or a pipe is written to directly.

    Raises InputError when it cannot be written.
    """
    target = path.resolve()
    data = content.encode() if isinstance(content, str) else content
    try:
        if target.exists() and not target.is_file():
            target.write_bytes(data)
            return
        with temporary_file(target) as temporary:
            temporary.write_bytes(data)
            temporary.replace(target)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}): name another file") from None
