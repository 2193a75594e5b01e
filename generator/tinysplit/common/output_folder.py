"""Atomic writing of files and generated folders, which never replaces anything that was not generated."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.project_files import (
    MANIFEST_NAME,
    MODEL_NAME,
    PARAMETERS_NAME,
    PICTURE_NAME,
    README_NAME,
    SPLIT_NAME,
)


def write_whole_file(path: Path, text: str) -> None:
    """Write `text` to `path` atomically; a device or a pipe is written to directly.

    Raises InputError when it cannot be written.
    """
    target = path.resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(target)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise InputError(f"{path} cannot be written ({error.strerror}): name another file") from None


def check_output_file(path: Path) -> None:
    """Raise UsageError where a file has no folder, before anything is computed for it."""
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"cannot be written: there is no folder {path.parent}"
        raise UsageError(f"{path} {what}: name a file in a folder that there is")


def check_output_folder(out: Path) -> None:
    """Raise InputError unless `out` is new, empty, or an older generated folder without other files."""
    out = out.resolve()
    generated = next((parent for parent in out.parents if (parent / MANIFEST_NAME).is_file()), None)
    if generated:
        raise InputError(
            f"{out} is inside the generated folder {generated}, which is replaced as a whole: name a folder outside"
        )
    if out.is_dir():
        names = {entry.name for entry in out.iterdir()}
        others = sorted(names - _generated_names(out)) if names else []
        if others:
            raise InputError(f"{out} contains files that were not generated ({others[0]}): name a new folder")
    elif out.exists():
        raise InputError(f"{out} is a file: name a folder to generate into")


def _generated_names(out: Path) -> set[str]:
    """Return the names of the entries that `generate` wrote, in any version; none without a valid manifest."""
    try:
        manifest = json.loads((out / MANIFEST_NAME).read_text(encoding="utf-8"))
        directories = {board["directory"] for board in manifest["boards"]}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return set()
    files = {MANIFEST_NAME, MODEL_NAME, PARAMETERS_NAME, SPLIT_NAME, README_NAME, PICTURE_NAME}
    return files | directories


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `out` that replaces it if the block succeeds, and is deleted if it fails.

    Raises InputError when `out` cannot be written or contains files that were not generated.
    """
    check_output_folder(out)
    target = out.resolve()
    fresh: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        fresh.chmod(0o755)
        yield fresh
        _replace(target, fresh)
    except BaseException as error:
        if fresh:
            shutil.rmtree(fresh, ignore_errors=True)
        if isinstance(error, OSError):
            raise InputError(f"{out} cannot be written ({error.strerror}): name another folder") from None
        raise


def _replace(target: Path, fresh: Path) -> None:
    """Replace `target` by `fresh`; the old folder is deleted only after the new one is in place."""
    if not target.exists():
        fresh.rename(target)
        return
    old = fresh.with_name(f"{fresh.name}.old")
    target.rename(old)
    try:
        fresh.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old)
