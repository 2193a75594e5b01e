"""The firmware's compiler behind ccache, where that is installed: many projects compile the same files."""

import os
import shutil
from pathlib import Path

from tinysplit.codegen.platformio_ini import COMPILER


def use(folder: Path) -> None:
    """Let this process, and those that it starts, find the compiler behind a cache in `folder`, empty at first."""
    ccache = shutil.which("ccache")
    if ccache is None:
        return
    commands = folder / "bin"
    commands.mkdir()
    (commands / COMPILER).symlink_to(ccache)
    os.environ["CCACHE_DIR"] = str(folder / "ccache")
    os.environ["PATH"] = f"{commands}{os.pathsep}{os.environ['PATH']}"
