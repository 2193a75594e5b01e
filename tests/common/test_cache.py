import os
import tempfile
from pathlib import Path

import pytest

from tinysplit.common.cache import cache_directory
from tinysplit.common.errors import ToolError


def test_xdg_cache_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_directory() == tmp_path / "xdg" / "tinysplit"
    assert cache_directory().is_dir()


@pytest.mark.parametrize("cache_home", ["", "relative/folder"])
def test_the_home_folder_comes_next(cache_home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", cache_home)
    assert cache_directory() == tmp_path / ".cache" / "tinysplit"


def test_the_temporary_folder_is_the_fallback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cache_directory() == tmp_path / f"tinysplit-{os.getuid()}" / "cache"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with pytest.raises(
        ToolError, match=r"there is no folder for a cache: .*/file/tinysplit cannot be used \(Not a directory\)"
    ):
        cache_directory()
