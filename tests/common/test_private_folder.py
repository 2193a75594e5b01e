"""Folders of this user alone: what another user may have prepared is refused, and no link is followed."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tinysplit.common import cache
from tinysplit.common.errors import ToolError
from tinysplit.common.folder_lock import locked_file
from tinysplit.common.output_file import write_whole_file
from tinysplit.common.private.folder import private_folder, runtime_folder

OWN = f"tinysplit-{os.geteuid()}"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a temporary folder as /tmp, without a session's own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_new_folders_are_of_their_owner_alone(umask: int, temporary: Path) -> None:
    before = os.umask(umask)
    try:
        assert private_folder(temporary / "a" / "b") == temporary / "a" / "b"
        assert runtime_folder() == temporary / OWN
    finally:
        os.umask(before)
    assert {(temporary / name).stat().st_mode & 0o777 for name in ("a", "a/b", OWN)} == {0o700}


def linked(path: Path) -> None:
    (path.parent / "mine").mkdir(mode=0o700)
    path.symlink_to("mine")


def shared(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def of_a_group(path: Path) -> None:
    path.mkdir()
    path.chmod(0o770)


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (linked, "is a link or a file"),
        (Path.touch, "is a link or a file"),
        (shared, "other users can write in"),
        (of_a_group, "other users can write in"),
    ],
)
def test_folders_that_others_prepared_are_refused(
    prepare: Callable[[Path], None], message: str, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(temporary / OWN)
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    for use in (runtime_folder, cache.cache_directory, lambda: locked_file(temporary / "split.json").__enter__()):
        with pytest.raises(ToolError, match=message):
            use()


def test_folders_of_others_are_refused(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime_folder()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    (temporary / OWN).rename(temporary / f"tinysplit-{os.getuid() + 1}")
    with pytest.raises(ToolError, match=rf"belongs to another user \(id {os.getuid()}\)"):
        runtime_folder()


def test_folders_that_others_can_replace_are_refused(temporary: Path) -> None:
    runtime_folder()
    temporary.chmod(0o777)
    with pytest.raises(ToolError, match=r"can write in .*/tmp, and replace .*: make .* yours alone, or sticky"):
        runtime_folder()


def test_owner_and_mode_are_looked_at_on_each_use(temporary: Path) -> None:
    with locked_file(temporary / "split.json"):
        pass
    (temporary / OWN / "locks").chmod(0o777)
    with pytest.raises(ToolError, match=r"other users can write in .*locks"), locked_file(temporary / "split.json"):
        pass


def test_the_folder_of_the_session_comes_first_where_it_is_private(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = tmp_path / "session"
    session.mkdir(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    assert runtime_folder() == session / "tinysplit"
    session.chmod(0o777)
    assert runtime_folder() == temporary / OWN
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    assert runtime_folder() == temporary / OWN


def test_a_lock_follows_no_link(tmp_path: Path, temporary: Path) -> None:
    victim, locked = tmp_path / "victim", tmp_path / "split.json"
    victim.write_text("mine")
    name = hashlib.sha256(str(locked).encode()).hexdigest()[:16]
    locks = private_folder(temporary / OWN / "locks")
    (locks / name).symlink_to(victim)
    with pytest.raises(OSError, match=name), locked_file(locked):
        pass
    assert victim.read_text() == "mine"


def test_a_cache_that_others_can_change_is_not_used(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert cache.cache_directory() == tmp_path / "home" / "tinysplit"
    (tmp_path / "home" / "tinysplit").chmod(0o775)
    assert cache.cache_directory() == temporary / OWN / "cache"


def test_a_file_that_is_written_follows_no_link_beside_it(tmp_path: Path) -> None:
    victim, out = tmp_path / "victim", tmp_path / "out.json"
    victim.write_text("mine")
    (tmp_path / f".out.json.{os.getpid()}.tmp").symlink_to(victim)
    write_whole_file(out, "new")
    assert (victim.read_text(), out.read_text()) == ("mine", "new")
