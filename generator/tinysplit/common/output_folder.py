"""Writing a file or a folder whole or not at all, and never over something that is not ours."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tinysplit.common.errors import InputError
from tinysplit.common.project_files import MANIFEST_NAME, MODEL_NAME, PARAMETERS_NAME, SPLIT_NAME


def write_whole_file(path: Path, text: str) -> None:
    """Write `text` so that `path` never holds half of it; what is no file (a device, a pipe) is written to as it is.

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


def check_output_folder(out: Path) -> None:
    """Raise InputError unless `out` is new, empty, or a folder that was generated before and holds nothing else."""
    out = out.resolve()
    generated = next((parent for parent in out.parents if (parent / MANIFEST_NAME).is_file()), None)
    if generated:
        raise InputError(
            f"{out} is inside the generated folder {generated}, which is replaced as a whole: go beside it"
        )
    if out.is_dir():
        names = {entry.name for entry in out.iterdir()}
        strangers = sorted(names - _generated_names(out)) if names else []
        if strangers:
            raise InputError(f"{out} holds something else than a generated folder ({strangers[0]}): name a new folder")
    elif out.exists():
        raise InputError(f"{out} is a file: name a folder to generate into")


def _generated_names(out: Path) -> set[str]:
    """Return the entries that `generate` made, also one of another version; none where there is no manifest of ours."""
    try:
        manifest = json.loads((out / MANIFEST_NAME).read_text(encoding="utf-8"))
        directories = {board["directory"] for board in manifest["boards"]}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return set()
    return {MANIFEST_NAME, MODEL_NAME, PARAMETERS_NAME, SPLIT_NAME, *directories}


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Give a fresh folder beside `out` that takes its place when the block ends well, and vanishes when it does not.

    Raises InputError when `out` cannot be written or holds something else.
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
            raise InputError(f"{out} cannot be written ({error.strerror}): name a folder that can") from None
        raise


def _replace(target: Path, fresh: Path) -> None:
    """Put `fresh` where `target` is; the old folder goes only when the new one stands."""
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
