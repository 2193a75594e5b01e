"""Every page of docs/ that a file of the repository names, and every file and heading that a page links, exists."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tinysplit import __version__
from tinysplit.cli.app import _COMMANDS

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"\bdocs/[\w/.-]*\w\.(?:md|svg|png)\b")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@cache
def texts() -> dict[Path, str]:
    """Return the texts of the repository's files: what it generates comes from them."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    paths = [ROOT / line for line in listed.stdout.splitlines()]
    contents = {path: path.read_bytes() for path in paths if path.is_file()}
    return {path: data.decode("utf-8", errors="replace") for path, data in contents.items() if b"\0" not in data}


def pages() -> list[Path]:
    return [path for path in texts() if path.suffix == ".md" and "golden" not in path.parts]


@cache
def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as mkdocs and GitHub make them."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in plain}


def broken(page: Path) -> Iterator[str]:
    for target in LINK.findall(FENCED.sub("", texts()[page])):
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            yield target


def test_pages_that_files_name_exist() -> None:
    named = {(path, name) for path, text in texts().items() for name in NAMED.findall(text)}
    assert len(named) > 100  # the pattern finds them
    assert sorted(f"{path.relative_to(ROOT)}: {name}" for path, name in named if not (ROOT / name).is_file()) == []


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_what_exists(page: Path) -> None:
    assert list(broken(page)) == []


def test_the_newest_heading_of_the_changelog_is_the_version() -> None:
    newest = next(re.finditer(r"^## (\S+?),? ", texts()[ROOT / "CHANGELOG.md"], re.MULTILINE))
    assert newest[1] == __version__


def test_a_page_lists_every_command() -> None:
    page = texts()[ROOT / "docs" / "reference" / "commands.md"]
    assert sorted(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == sorted(_COMMANDS)


def test_the_readme_is_read_in_some_minutes() -> None:
    assert len(texts()[ROOT / "README.md"].split()) <= 900
