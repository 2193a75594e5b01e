"""Atomic writing of generated folders, which never replaces anything that was not generated."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tinysplit.common.errors import InputError
from tinysplit.common.project_files import (
    MANIFEST_NAME,
    MODEL_NAME,
    PARAMETERS_NAME,
    PICTURE_NAME,
    README_NAME,
    SPLIT_NAME,
)


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
