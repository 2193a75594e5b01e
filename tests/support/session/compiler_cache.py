"""The compilers behind ccache, where that is installed: many projects compile the same files, in each run of the tests.

ccache takes an object again where compiler, options and preprocessed source are the same, so that it may outlive a run:
of commands that compile one file, and name what is in a temporary folder from inside, as its name changes. Files of the
checkout have paths from inside, too (`path_in`), so that all checkouts of a machine share their objects.
"""

import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common.cache import cache_directory

ROOT = Path(__file__).parents[3]
_CHECKOUT = Path("checkout")


def use(folder: Path) -> None:
    """Let this process, and those that it starts, find in `folder` the compilers behind the cache of this user."""
    ccache = shutil.which("ccache")
    if ccache is None:
        return
    commands = folder / "bin"
    commands.mkdir()
    for compiler in (COMPILER, "gcc"):
        (commands / compiler).symlink_to(ccache)
    os.environ |= {
        "CCACHE_DIR": str(cache_directory() / "ccache"),
        "CCACHE_MAXSIZE": "1G",
        "CCACHE_NOHASHDIR": "1",
        # Headers that a test has just written do not change while it compiles: their sources need no preprocessor.
        "CCACHE_SLOPPINESS": "include_file_mtime,include_file_ctime",
    }
    os.environ["PATH"] = f"{commands}{os.pathsep}{os.environ['PATH']}"


def path_in(folder: Path, path: Path) -> str:
    """Return a path for commands that run in `folder`: of what is in the checkout, over a link there."""
    if path.is_relative_to(folder):
        return str(path.relative_to(folder))
    if not path.is_relative_to(ROOT):
        return str(path)
    with suppress(FileExistsError):
        (folder / _CHECKOUT).symlink_to(ROOT)
    return str(_CHECKOUT / path.relative_to(ROOT))


def compiled_each(folder: Path, *command: str) -> list[str]:
    """Compile each C file of `folder` on its own, and there, for ccache to know it again; return the objects."""
    objects = []
    for source in sorted(folder.glob("*.c")):
        objects.append(str(source.with_suffix(".o")))
        subprocess.run([*command, "-c", source.name], cwd=folder, check=True)
    return objects


def compiler_behind() -> str:
    """Return the compiler itself, for what takes its place on the PATH: ccache would call that again and again."""
    folders = os.environ["PATH"].split(os.pathsep)
    compilers = (shutil.which(COMPILER, path=folder) for folder in folders)
    return next(each for each in compilers if each and Path(each).resolve().name != "ccache")
