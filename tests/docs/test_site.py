"""The site of docs/: mkdocs builds it without a warning, and nothing of it comes from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tinysplit import api

ROOT = Path(__file__).parents[2]
TIME_LIMIT_S = 120
# What a page loads from another host; a link that a reader may follow is none.
LOADED = re.compile(r"""<(?:script|img|iframe)[^>]*\ssrc="?(?:https?:)?//|<link[^>]*\shref="?(?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIME_LIMIT_S,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_the_navigation_has_every_page_once() -> None:
    _, navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")
    assert sorted(re.findall(r": ([\w/]+\.md)$", navigation, re.MULTILINE)) == sorted(
        path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")
    )


@pytest.mark.slow
def test_every_name_of_the_library_has_its_place(site: Path) -> None:
    text = (site / "reference" / "api" / "index.html").read_text(encoding="utf-8")
    assert [name for name in api.__all__ if f'id="tinysplit.api.{name}"' not in text] == []


@pytest.mark.slow
def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert len(texts) > len(list((ROOT / "docs").rglob("*.md")))  # and the page for what is not found
    assert [str(path) for path, text in texts.items() if LOADED.search(text)] == []
