"""Results that are kept between commands: read again whole, or not at all."""

import os
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from jinja2 import Environment

from tinysplit.common import cache, package_files, templates
from tinysplit.common.cache import read_cached, write_cached


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tinysplit" / "kind"


def read(key: bytes, kind: str = "kind") -> bytes | None:
    return read_cached(kind, key, bytes)


def write(key: bytes, age_s: int, result: bytes = b"result") -> None:
    """Write a result that was used last a while ago."""
    write_cached("kind", key, result)
    path = cache._result_path("kind", key)
    os.utime(path, (path.stat().st_mtime - age_s,) * 2)


def known(*keys: bytes) -> list[bytes]:
    return [key for key in keys if cache._result_path("kind", key).exists()]


def test_results_are_read_by_kind_and_key(folder: Path) -> None:
    assert read(b"key") is None
    write_cached("kind", b"key", b"result")
    write_cached("kind", b"other", b"")
    assert (read(b"key"), read(b"other")) == (b"result", b"")
    assert read(b"key", "another") is None
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 100])
def test_a_damaged_file_counts_as_missing_and_is_replaced(folder: Path, content: bytes) -> None:
    write_cached("kind", b"key", b"result")
    (file,) = folder.iterdir()
    file.write_bytes(content)
    assert read(b"key") is None
    write_cached("kind", b"key", b"result")
    assert read(b"key") == b"result"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("result", [b"", b"no pickle", b"cmissing_module\nname\n.", b"cos\nmissing_name\n."])
def test_a_result_that_cannot_be_loaded_counts_as_missing(result: bytes) -> None:
    write_cached("kind", b"key", result)
    assert read_cached("kind", b"key", pickle.loads) is None
    write_cached("kind", b"key", pickle.dumps("result"))
    assert read_cached("kind", b"key", pickle.loads) == "result"


def test_a_folder_that_cannot_be_written_changes_nothing(folder: Path) -> None:
    folder.parent.mkdir(mode=0o700)
    folder.write_text("a file")
    write_cached("kind", b"key", b"result")
    assert read(b"key") is None


def linked(folder: Path) -> None:
    folder.rename(folder.parent.parent / "elsewhere")
    folder.symlink_to(folder.parent.parent / "elsewhere")


@pytest.mark.parametrize("prepare", [linked, lambda folder: folder.chmod(0o777), lambda folder: folder.chmod(0o775)])
def test_what_others_can_change_is_neither_loaded_nor_written(folder: Path, prepare: Callable[[Path], None]) -> None:
    write_cached("kind", b"key", b"result")
    prepare(folder)
    assert read(b"key") is None
    write_cached("kind", b"other", b"result")
    assert len(list(folder.iterdir())) == 1


@pytest.mark.usefixtures("folder")
def test_of_too_many_files_those_used_last_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 3)
    for key, age_s in ((b"a", 30), (b"b", 40), (b"c", 20)):
        write(key, age_s)
    assert read(b"b") == b"result"
    write(b"d", 0)
    assert known(b"a", b"b", b"c", b"d") == [b"b", b"c", b"d"]


@pytest.mark.usefixtures("folder")
def test_of_too_many_bytes_those_used_last_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_BYTES", 300)  # two results of 100 bytes with their digests
    for key, age_s in ((b"a", 20), (b"b", 30), (b"c", 10)):
        write(key, age_s, bytes(100))
    write_cached("kind", b"larger than all", bytes(300))
    assert known(b"a", b"b", b"c", b"larger than all") == [b"a", b"c"]


def test_a_folder_among_the_files_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_FILES", 1)
    write(b"a", 10)
    (folder / "folder").mkdir()
    os.utime(folder / "folder", (time.time() - 5,) * 2)  # its turn is before that of a
    write(b"b", 0)
    assert known(b"a", b"b") == [b"b"]
    assert (folder / "folder").is_dir()


def test_a_template_is_compiled_once_for_all_commands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Context:
        name: str

    (folder.parent.parent / "hello.j2").write_text("hello {{ name }}")
    monkeypatch.setattr(package_files, "templates", lambda: folder.parent.parent)
    templates._environment.cache_clear()
    assert templates.render("hello.j2", Context("you")) == "hello you"
    templates._environment.cache_clear()
    monkeypatch.setattr(Environment, "compile", None)
    assert templates.render("hello.j2", Context("there")) == "hello there"
    templates._environment.cache_clear()
