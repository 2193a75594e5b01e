"""Linked programs of the cross compiler that outlive a run: what is made of the same is not linked again.

ccache has the objects; to ask it for the 45 files of a board, and to link them, takes half a second of the processor.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from session.compiler_cache import compiler_behind
from tinysplit.common.cache import cache_directory

VARIABLE = "TINYSPLIT_TEST_PROGRAMS"
MOST_PROGRAMS = 4000  # of some 60 KB
PROGRAMS, LIBRARIES = ("cc1", "as", "ld"), ("libc.a", "libgcc.a")


def use() -> None:
    """Choose the folder for this process and those that it starts, and delete what was not used for longest."""
    folder = cache_directory() / "test_programs"
    folder.mkdir(exist_ok=True)
    os.environ[VARIABLE] = str(folder)
    with suppress(FileNotFoundError):  # another run deletes them, too
        for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[MOST_PROGRAMS:]:
            path.unlink(missing_ok=True)


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


@cache
def _compiler() -> bytes:
    """Return what tells the compiler, its assembler and linker, and its libraries from others."""
    driver = compiler_behind()
    asked = (*(f"-print-prog-name={name}" for name in PROGRAMS), *(f"-print-file-name={name}" for name in LIBRARIES))
    told = (subprocess.run([driver, each], capture_output=True, text=True, check=True).stdout.strip() for each in asked)
    files = [Path(shutil.which(each) or each).resolve() for each in (driver, *told)]
    return "".join(f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}\n" for file in files).encode()
