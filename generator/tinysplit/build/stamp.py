"""Whether a project is built already: a file beside its program has the hash of all that the program depends on."""

import hashlib
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common import package_files
from tinysplit.common.output_folder import source_files
from tinysplit.common.project_files import BUILD_FOLDER, ELF_IN_PROJECT

_STAMP_IN_PROJECT = Path(BUILD_FOLDER) / "tinysplit_build"


def is_built(directory: Path) -> bool:
    """Return whether the program of a project was built from its files as they are, by the tools of now."""
    try:
        return (directory / _STAMP_IN_PROJECT).read_text(encoding="utf-8") == _hash(directory)
    except (OSError, UnicodeDecodeError):
        return False


def is_outdated(directory: Path) -> bool:
    """Return whether `tinysplit build` has built the program of a project from other files, or by other tools."""
    return (directory / _STAMP_IN_PROJECT).exists() and not is_built(directory)


def write_stamp(directory: Path) -> None:
    """Note that the program of a project is built."""
    (directory / _STAMP_IN_PROJECT).write_text(_hash(directory), encoding="utf-8")


def _hash(directory: Path) -> str:
    """Return the SHA-256 of a project's files, its program and its tools. Raises OSError without a program."""
    digest = hashlib.sha256()
    for part in (*_tools(), *_files(directory), (directory / ELF_IN_PROJECT).read_bytes()):
        digest.update(f"{len(part)}\n".encode())
        digest.update(part)
    return digest.hexdigest()


def _files(directory: Path) -> Iterator[bytes]:
    for path in source_files(directory):
        if path.is_file():
            yield str(path.relative_to(directory)).encode()
            yield path.read_bytes()


def _tools() -> Iterator[bytes]:
    """Yield the versions of PlatformIO and SCons, the platform's scripts, and path, size and time of the compiler."""
    yield from (version(name).encode() for name in ("platformio", "scons"))
    yield from _files(package_files.boards() / "platform")
    compiler = Path(shutil.which(COMPILER) or COMPILER).resolve()
    status = compiler.stat()
    yield f"{compiler} {status.st_size} {status.st_mtime_ns}".encode()
