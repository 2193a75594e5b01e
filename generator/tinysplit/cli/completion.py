"""What the shell completes beside commands, options and choices; where nothing fits, bash completes files."""

from collections.abc import Callable
from glob import escape
from pathlib import Path

from tinysplit.common import package_files
from tinysplit.common.choices import VIRTUAL


def boards(incomplete: str) -> list[str]:
    """Return the names of boards that begin so; other spellings and files are left to the user."""
    from tinysplit.boards.board_files import board_names

    return [name for name in board_names() if name.startswith(incomplete)]


def examples(incomplete: str) -> list[str]:
    """Return the names of the examples that begin so."""
    folders = package_files.examples().glob(f"{escape(incomplete)}*")
    return sorted(folder.name for folder in folders if folder.is_dir())


def files(*suffixes: str) -> Callable[[str], list[str]]:
    """Return what completes paths of files with these suffixes, in the folder that is written so far."""

    def complete(incomplete: str) -> list[str]:
        folder = Path(incomplete if incomplete.endswith("/") else Path(incomplete).parent)
        prefix = incomplete[: incomplete.rfind("/") + 1]
        names = sorted(path.name for path in folder.glob("*") if path.suffix.lower() in suffixes)
        return [f"{prefix}{name}" for name in names if f"{prefix}{name}".startswith(incomplete)]

    return complete


networks = files(".onnx", ".tflite")
rig_files = files(".toml")
split_files = files(".json")


def rigs(incomplete: str) -> list[str]:
    """Return `virtual`, and the TOML files, that begin so."""
    return [*(name for name in [VIRTUAL] if name.startswith(incomplete)), *rig_files(incomplete)]
