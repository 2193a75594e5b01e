"""Folders of package data (templates, firmware, boards, examples, docs), in a checkout and in an installed wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_IN_WHEEL = _PACKAGE / "_resources"
_ROOT = _IN_WHEEL if _IN_WHEEL.is_dir() else _PACKAGE.parents[1]


def templates() -> Path:
    """Return the folder of the Jinja2 templates."""
    return _ROOT / "templates"


def firmware() -> Path:
    """Return the folder of the hand-written C sources."""
    return _ROOT / "firmware"


def boards() -> Path:
    """Return the folder of the board files and of the local PlatformIO platform."""
    return _ROOT / "boards"


def examples() -> Path:
    """Return the folder of the examples, each a folder of files."""
    return _ROOT / "examples"


def docs() -> Path:
    """Return the folder of the documentation, in Markdown."""
    return _ROOT / "docs"


def licence() -> Path:
    """Return the text of the licence, under which the C sources are, too."""
    return _ROOT / "LICENSE"
