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


def compiler_behind() -> str:
    """Return the compiler itself, for what takes its place on the PATH: ccache would call that again and again."""
    folders = os.environ["PATH"].split(os.pathsep)
    compilers = (shutil.which(COMPILER, path=folder) for folder in folders)
    return next(each for each in compilers if each and Path(each).resolve().name != "ccache")
