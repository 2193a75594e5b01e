"""Atomic writing of generated folders, which never replaces anything that was not generated.

A generated folder has a list of its files with their SHA-256, as `sha256sum` reads it. What differs from it is
the user's. The application of each board is the user's anyway, and stays when the folder is generated again.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from tinysplit.common.errors import InputError
from tinysplit.common.interrupts.temporary import moved_away, temporary_folder
from tinysplit.common.project_files import (
    APPLICATION_PARTS,
    BUILD_FOLDER,
    ELF_IN_PROJECT,
    LIST_NAME,
    MANIFEST_NAME,
    RESULT_NAMES,
)
from tinysplit.settings.result_files import FORCE

_APPLICATION = re.compile(rf"[^/]+/((src|include)/application[^/]*|{re.escape(APPLICATION_PARTS)})")
_CMAKE_CACHE = "CMakeCache.txt"
_NAMED = 5  # files that an error names


def check_output_folder(out: Path, *, force: bool = False) -> None:
    """Raise InputError unless `out` is new, empty, or a generated folder in which nothing was changed or added.

    With `force`, a generated folder may have changed and further files.
    """
    out = out.resolve()
    generated = next((parent for parent in out.parents if _is_generated(parent)), None)
    if generated:
        raise InputError(
            f"{out} is inside the generated folder {generated}, which is replaced as a whole: name a folder outside"
        )
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file: name a folder to generate into")
    if not out.is_dir() or (force and _is_generated(out)):
        return
    is_generated = _is_generated(out)
    others = (name for name in _own(out) if not (is_generated and is_of_application(name)))
    files = list(islice(others, _NAMED + 1 if is_generated else 1))
    if files and not is_generated:
        older = ", or remove it if it is of an older tinysplit" if (out / MANIFEST_NAME).is_file() else ""
        raise InputError(f"{out} contains files that were not generated ({files[0]}): name a new folder{older}")
    if files:
        names = ", ".join(files[:_NAMED]) + (" and more" if len(files) > _NAMED else "")
        raise InputError(
            f"{out} has files that were changed or added since it was generated ({names}): name another folder, or "
            f"let {FORCE(True)} delete them"
        )


def _is_generated(folder: Path) -> bool:
    return (folder / LIST_NAME).is_file()


def _listed(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each generated file by its path in the folder; none without a list."""
    try:
        lines = (folder / LIST_NAME).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield each file but the list with its path in the folder, builds and results left out."""
    results = {folder / name for name in (LIST_NAME, *RESULT_NAMES)}
    for path in source_files(folder):
        if path not in results:
            yield path.relative_to(folder).as_posix(), path


def _own(folder: Path) -> Iterator[str]:
    """Yield each file that was changed or added; of those that were added nothing is read, whatever their sizes."""
    listed = _listed(folder)
    for name, path in _files(folder):
        if name not in listed or listed[name] != _sha256(path):
            yield name


def is_of_application(name: str) -> bool:
    """Whether a file, by its path in the folder, is one of a board's application: `board1_x/src/application*`."""
    return bool(_APPLICATION.fullmatch(name))


def _keep_applications(old: Path, fresh: Path) -> None:
    """Copy the files of applications that the user has changed or added in `old` to the same places in `fresh`."""
    for name in filter(is_of_application, _own(old)):
        target = fresh / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy2(old / name, target, follow_symlinks=False)


def source_files(folder: Path) -> Iterator[Path]:
    """Yield all files of a folder in a fixed order, but not what PlatformIO and CMake have built."""
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_dir():
            yield path
        elif not _is_built(path):
            yield from source_files(path)


def _is_built(folder: Path) -> bool:
    return folder.name == BUILD_FOLDER or (folder / _CMAKE_CACHE).is_file()


def _sha256(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""  # nothing that is generated
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def whole_folder(out: Path, *, force: bool = False, applications_of: Path | None = None) -> Iterator[Path]:
    """Yield a temporary folder beside `out` that replaces it if the block succeeds, and is deleted if it fails.

    What was built in the folders of `out` stays there, and so do applications, which may also be those of another
    folder. The errors are those of `check_output_folder`, and InputError
    when `out` cannot be written.
    """
    check_output_folder(out, force=force)
    target = out.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(target) as fresh:
            yield fresh
            _write_list(fresh)
            for old in (applications_of, target):
                if old and _is_generated(old):
                    _keep_applications(old, fresh)
            _replace(target, fresh)
    except OSError as error:
        raise InputError(f"{out} cannot be written ({error.strerror}): name another folder") from None


def _write_list(folder: Path) -> None:
    lines = [f"{_sha256(path)}  {name}\n" for name, path in _files(folder)]
    (folder / LIST_NAME).write_text("".join(lines), encoding="utf-8")


def _replace(target: Path, fresh: Path) -> None:
    """Replace `target` by `fresh`; the old folder is deleted only after the new one is in place."""
    if not target.exists():
        fresh.rename(target)
        return
    with moved_away(target, fresh) as old:
        fresh.rename(target)
        _keep_builds(old, target)


def _keep_builds(old: Path, new: Path) -> None:
    """Move what was built in the folders of `old` to those of the same name in `new`; programs only where still right.

    PlatformIO and CMake compile again what has changed.
    """
    before, after = _listed(old), _listed(new)
    for build in [path for path in old.glob("*/*") if path.is_dir() and not path.is_symlink() and _is_built(path)]:
        project = new / build.parent.name
        if not project.is_dir() or (project / build.name).exists():
            continue
        build.rename(project / build.name)
        if _below(before, project.name) != _below(after, project.name):
            (project / ELF_IN_PROJECT).unlink(missing_ok=True)


def _below(listed: Mapping[str, str], folder: str) -> dict[str, str]:
    return {name: digest for name, digest in listed.items() if name.startswith(f"{folder}/")}
