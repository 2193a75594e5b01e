"""Programs and objects of the cross compiler that outlive a run: what is made of the same is not made again.

ccache has the objects, too, but takes ten milliseconds of the processor to find one, and a board has 50.
"""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from session.compiler_cache import compiler_behind
from tinysplit.common.cache import cache_directory

VARIABLE = "TINYSPLIT_TEST_PROGRAMS"
MOST_FILES = 20_000  # of some 20 KB
_QUOTED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_OTHERS = re.compile(rb"\.incbin|^[ \t]*#[ \t]*include[ \t]*[^ \t\"<]", re.MULTILINE)
PROGRAMS, LIBRARIES = ("cc1", "as", "ld"), ("libc.a", "libgcc.a")


def use() -> None:
    """Choose the folder for this process and those that it starts, and delete what was not used for longest."""
    folder = cache_directory() / "test_programs"
    folder.mkdir(exist_ok=True)
    os.environ[VARIABLE] = str(folder)
    with suppress(FileNotFoundError):  # another run deletes them, too
        for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[MOST_FILES:]:
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


class Sources:
    """What the objects of a folder's sources follow from, but for the compiler and its arguments."""

    def __init__(self, folder: Path, searched: Sequence[str]) -> None:
        """Look for headers beside the file that includes them, then in the folders `searched`."""
        self._folder, self._searched = folder, tuple(map(Path, searched))
        self._text: Callable[[Path], bytes | None] = cache(self._read)

    def parts(self, source: Path) -> list[str | bytes] | None:
        """Return a source with all headers, and the names of those that are not there; None if it reads other files."""
        parts: list[str | bytes] = []
        waiting = [source]
        for path in waiting:
            text = self._text(path)
            if text is None or _OTHERS.search(text):
                return None
            parts += (str(path), text)
            for name in _QUOTED.findall(text):
                found = next((each for each in self._places(path, name.decode()) if self._text(each) is not None), None)
                if found is None:
                    parts.append(b"without " + name)
                elif found not in waiting:
                    waiting.append(found)
        return parts

    def _places(self, path: Path, name: str) -> Iterator[Path]:
        return (folder / name for folder in (path.parent, *self._searched))

    def _read(self, path: Path) -> bytes | None:
        try:
            return (self._folder / path).read_bytes()
        except OSError:
            return None


@cache
def _compiler() -> bytes:
    """Return what tells the compiler, its assembler and linker, and its libraries from others."""
    driver = compiler_behind()
    asked = (*(f"-print-prog-name={name}" for name in PROGRAMS), *(f"-print-file-name={name}" for name in LIBRARIES))
    told = (subprocess.run([driver, each], capture_output=True, text=True, check=True).stdout.strip() for each in asked)
    files = [Path(shutil.which(each) or each).resolve() for each in (driver, *told)]
    return "".join(f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}\n" for file in files).encode()
