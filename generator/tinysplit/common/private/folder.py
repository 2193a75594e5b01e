"""Folders in which nobody but this user can write: for locks, and for what is compiled once and loaded again."""

import os
import stat
import tempfile
from pathlib import Path

from tinysplit.common.errors import ToolError

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_PRIVATE = 0o700


def runtime_folder() -> Path:
    """Return the private folder for what need not outlive this session.

    It is in `$XDG_RUNTIME_DIR` where that is private, too, else in the temporary folder. Raises ToolError.
    """
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if runtime.is_absolute():
        try:
            return private_folder(private_folder(runtime, make=False) / "tinysplit")
        except ToolError:
            pass  # that of another user, as after su
    return private_folder(Path(tempfile.gettempdir(), f"tinysplit-{os.geteuid()}"))


def private_folder(path: Path, *, make: bool = True) -> Path:
    """Return `path`, a folder that belongs to this user and in which nobody else can write; it is made if missing.

    Its owner and mode are looked at on each call, and it is no link. Nobody else can put another folder in its place,
    either: those above it are writable for their owners alone, or sticky, as /tmp. Raises ToolError for any other.
    """
    try:
        path = path.parent.resolve() / path.name
        if make:
            _make(path)
        status = path.lstat()
        above = [each.stat() for each in path.parents]
    except OSError as error:
        raise ToolError(f"{path} cannot be used ({error.strerror}): make it a folder of your own") from None
    if not stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{path} is a link or a file, and has to be a folder of your own: remove it")
    if status.st_uid != os.geteuid():
        raise ToolError(
            f"{path} belongs to another user (id {status.st_uid}): remove it, or set TMPDIR to another folder"
        )
    if status.st_mode & _OTHERS_WRITE:
        raise ToolError(f"other users can write in {path}, and change programs that are run from there: remove it")
    for folder, each in zip(path.parents, above, strict=True):
        if each.st_mode & _OTHERS_WRITE and not each.st_mode & stat.S_ISVTX:
            raise ToolError(
                f"other users can write in {folder}, and replace {path}: make {folder} yours alone, or sticky"
            )
    return path


def _make(path: Path) -> None:
    """Make a folder and those above it that are missing, for this user alone whatever the umask says."""
    for folder in (*reversed(path.parents), path):
        try:
            folder.mkdir(_PRIVATE)
        except FileExistsError:
            continue
        except OSError:
            if not folder.is_dir():  # a root that is read-only says so even for folders that are there
                raise
