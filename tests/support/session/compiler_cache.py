"""The compilers behind ccache, where that is installed: many projects compile the same files, in each run of the tests.

ccache takes an object again where compiler, options and preprocessed source are the same, so that it may outlive a run:
of commands that compile one file, and name what is in a temporary folder from inside, as its name changes.
"""

import os
import shutil
from pathlib import Path

from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common.cache import cache_directory


def use(folder: Path) -> None:
    """Let this process, and those that it starts, find in `folder` the compilers behind the cache of this user."""
    ccache = shutil.which("ccache")
    if ccache is None:
        return
    commands = folder / "bin"
    commands.mkdir()
    for compiler in (COMPILER, "gcc"):
        (commands / compiler).symlink_to(ccache)
    os.environ |= {"CCACHE_DIR": str(cache_directory() / "ccache"), "CCACHE_MAXSIZE": "1G", "CCACHE_NOHASHDIR": "1"}
    os.environ["PATH"] = f"{commands}{os.pathsep}{os.environ['PATH']}"


def compiler_behind() -> str:
    """Return the compiler itself, for what takes its place on the PATH: ccache would call that again and again."""
    folders = os.environ["PATH"].split(os.pathsep)
    compilers = (shutil.which(COMPILER, path=folder) for folder in folders)
    return next(each for each in compilers if each and Path(each).resolve().name != "ccache")
