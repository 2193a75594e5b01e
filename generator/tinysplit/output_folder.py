"""Writing a folder whole or not at all."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tinysplit.errors import InputError
from tinysplit.project import MANIFEST_NAME


def check_output_folder(out: Path) -> None:
    """Raise InputError unless `out` is absent, empty, or a folder that was generated before."""
    if out.is_dir():
        holds_ours = (out / MANIFEST_NAME).is_file()
        if not holds_ours and any(out.iterdir()):
            raise InputError(f"{out} holds something else than a generated folder: name a new or an empty one")
    elif out.exists():
        raise InputError(f"{out} is a file: name a folder to generate into")


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Give a fresh folder beside `out` that takes its place when the block ends well, and vanishes when it does not."""
    check_output_folder(out)
    try:
        out.absolute().parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.absolute().parent))
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror}): name a folder that can") from None
    try:
        fresh.chmod(0o755)
        yield fresh
        if out.exists():
            shutil.rmtree(out)
        fresh.rename(out)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
