"""The compiler of the firmware on this machine."""

import shutil
import subprocess

from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common.errors import ToolError


def compiler_version() -> str:
    """Return the version of the compiler on this machine. Raises ToolError where there is none."""
    if shutil.which(COMPILER) is None:
        raise ToolError(f"{COMPILER} is not on the PATH: install it (Debian: apt-get install gcc-arm-none-eabi)")
    done = subprocess.run([COMPILER, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]
