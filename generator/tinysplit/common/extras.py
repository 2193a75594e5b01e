"""What installs the packages of an optional extra, wherever tinysplit itself came from."""

import shlex
import sys
from importlib.metadata import requires


def install_line(extra: str) -> str:
    """Return the shell line that installs the packages of `extra` for this Python."""
    conditions = (requirement.partition(";") for requirement in requires("tinysplit") or ())
    wanted = [package.strip() for package, _, condition in conditions if f'"{extra}"' in condition.replace("'", '"')]
    return shlex.join((sys.executable, "-m", "pip", "install", *wanted))
