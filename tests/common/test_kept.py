"""Results that are kept between commands: read again whole, or not at all."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from jinja2 import Environment

from tinysplit.common import kept, package_files, templates
from tinysplit.common.kept import keep, read_kept


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tinysplit" / "kind"


def test_results_are_read_by_kind_and_key(folder: Path) -> None:
    assert read_kept("kind", b"key") is None
    keep("kind", b"key", b"result")
    keep("kind", b"other", b"")
    assert (read_kept("kind", b"key"), read_kept("kind", b"other")) == (b"result", b"")
    assert read_kept("another", b"key") is None
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 100])
def test_a_damaged_file_counts_as_missing_and_is_replaced(folder: Path, content: bytes) -> None:
    keep("kind", b"key", b"result")
    (file,) = folder.iterdir()
    file.write_bytes(content)
    assert read_kept("kind", b"key") is None
    keep("kind", b"key", b"result")
    assert read_kept("kind", b"key") == b"result"


def test_a_folder_that_cannot_be_written_changes_nothing(folder: Path) -> None:
    folder.parent.mkdir(mode=0o700)
    folder.write_text("a file")
    keep("kind", b"key", b"result")
    assert read_kept("kind", b"key") is None


def test_the_oldest_files_are_deleted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_FILES", 4)
    for number in range(6):
        keep("kind", bytes([number]), b"result")
    assert 2 <= len(list(folder.iterdir())) <= 4
    assert read_kept("kind", bytes([5])) == b"result"


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
