"""Temporary files and folders beside their targets, and those of commands that were killed."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tinysplit.common.errors import InputError
from tinysplit.common.interrupts.temporary import temporary_file
from tinysplit.common.output_file import write_whole_file
from tinysplit.common.output_folder import check_output_folder, whole_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.interrupts.temporary import temporary_file
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
out = Path(sys.argv[1])
BODY
"""
IN_A_FOLDER = "with whole_folder(out) as folder:\n    (folder / 'half').write_text('x')\n    kill()"
IN_A_FILE = "with temporary_file(out) as path:\n    path.write_text('x')\n    kill()"
# between the two renames: the old folder is away, and the new one is not there
BETWEEN = """
rename = Path.rename
with whole_folder(out) as folder:
    (folder / "new").write_text("x")
    Path.rename = lambda path, to: kill() if to == out else rename(path, to)
"""


def killed(body: str, out: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED.replace("BODY", body), str(out)], check=False)
    assert done.returncode == -9


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def generate(out: Path, text: str = "x") -> None:
    with whole_folder(out) as folder:
        (folder / "file").write_text(text)


@pytest.mark.parametrize("body", [IN_A_FOLDER, IN_A_FILE])
def test_what_a_killed_command_left_is_deleted_by_the_next_one(body: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed(body, out)
    assert len(names(tmp_path)) == 1
    assert not out.exists()
    generate(tmp_path / "other")
    assert len(names(tmp_path)) == 2  # another target is another command
    generate(out)
    write_whole_file(tmp_path / "other.txt", "x")
    assert names(tmp_path) == ["other", "other.txt", "out"]


def test_a_folder_that_was_being_replaced_comes_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    generate(out)
    killed(BETWEEN, out)
    assert not out.exists()
    assert len(names(tmp_path)) == 2
    with pytest.raises(ZeroDivisionError), whole_folder(out):
        raise ZeroDivisionError
    assert names(tmp_path) == ["out"]
    assert (out / "file").is_file()
    check_output_folder(out)


@contextmanager
def left(path: Path, *, locked: bool = False) -> Iterator[Path]:
    path.mkdir()
    (path / "file").write_text("x")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if locked:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield path
    finally:
        os.close(descriptor)


def test_what_another_command_uses_at_the_same_time_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with whole_folder(out) as first:
        generate(out)
        assert first.is_dir()
        write_whole_file(out / "note", "x")
        with temporary_file(out / "note") as path:
            write_whole_file(out / "note", "y")
            assert path.exists()
        (out / "note").unlink()
    assert names(tmp_path) == ["out"]


def test_only_what_has_our_name_and_our_owner_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    killed(IN_A_FOLDER, out)
    (ours,) = tmp_path.iterdir()
    (tmp_path / f"{ours.name}x").symlink_to(tmp_path)
    os.mkfifo(tmp_path / f"{ours.name}y")
    for name in (".out.settings", ".tinysplit-backup", ".out.12345.tmp"):
        (tmp_path / name).mkdir()
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    generate(out)
    assert ours.is_dir()
    monkeypatch.undo()
    with left(tmp_path / f"{ours.name}z", locked=True) as locked:
        generate(out)
        assert locked.is_dir()
    assert not ours.exists()
    assert len(names(tmp_path)) == 7
    generate(out)
    assert names(tmp_path) == sorted(
        ("out", f"{ours.name}x", f"{ours.name}y", ".out.settings", ".tinysplit-backup", ".out.12345.tmp")
    )


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    write_whole_file(tmp_path / ("n" * 255), "x")
    generate(tmp_path / ("m" * 255))
    assert names(tmp_path) == ["m" * 255, "n" * 255]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_file_has_the_usual_permissions(umask: int, tmp_path: Path) -> None:
    before = os.umask(umask)
    try:
        write_whole_file(tmp_path / "file", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o666 & ~umask


def test_the_first_foreign_entry_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "file").write_text("precious")
    looked: list[Path] = []
    iterate = Path.iterdir

    def look(path: Path) -> Iterator[Path]:
        looked.append(path)
        return iterate(path)

    monkeypatch.setattr(Path, "iterdir", look)
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail(f"{path} is read"))
    with pytest.raises(InputError, match=r"contains files that were not generated \(a/deep/file\)"):
        check_output_folder(tmp_path, force=True)
    assert looked == [tmp_path, tmp_path / "a", tmp_path / "a" / "deep"]


def test_files_that_were_added_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    generate(out)
    for number in range(9):
        (out / f"more{number}").write_text("x")
    read: list[Path] = []
    of_path = Path.read_bytes

    def look(path: Path) -> bytes:
        read.append(path)
        return of_path(path)

    monkeypatch.setattr(Path, "read_bytes", look)
    with pytest.raises(InputError, match=r"\(more0, more1, more2, more3, more4 and more\)"):
        check_output_folder(out)
    assert read == [out / "file"]
