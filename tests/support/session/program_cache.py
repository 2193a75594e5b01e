"""Linked programs of the cross compiler that outlive a run: what is made of the same is not linked again.

ccache has the objects; to ask it for the 45 files of a board, and to link them, takes half a second of the processor.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from session.compiler_cache import compiler_behind
from tinysplit.common.cache import cache_directory

VARIABLE = "TINYSPLIT_TEST_PROGRAMS"
MOST_PROGRAMS = 4000  # of some 60 KB


def use() -> None:
    """Choose the folder for this process and those that it starts, and delete what was not used for longest."""
    folder = cache_directory() / "test_programs"
    folder.mkdir(exist_ok=True)
    os.environ[VARIABLE] = str(folder)
    with suppress(FileNotFoundError):  # another run deletes them, too
        for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[MOST_PROGRAMS:]:
            path.unlink()


def kept(program: Path, parts: Iterable[str | bytes], link: Callable[[], object]) -> Path:
    """Return `program`: as `link` makes it of these parts, or as it was made of them and this compiler before.

    Outside of tests, as in benchmarks, it is linked anew.
    """
    if VARIABLE not in os.environ:
        link()
        return program
    digest = hashlib.sha256(_compiler())
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    known = Path(os.environ[VARIABLE]) / digest.hexdigest()
    with suppress(FileNotFoundError):
        shutil.copyfile(known, program)
        os.utime(known)
        return program
    link()
    fresh = known.with_suffix(f".{os.getpid()}")
    shutil.copyfile(program, fresh)
    fresh.replace(known)
    return program


def _compiler() -> bytes:
    compiler = Path(compiler_behind()).resolve()
    status = compiler.stat()
    return f"{compiler} {status.st_size} {status.st_mtime_ns}\n".encode()
