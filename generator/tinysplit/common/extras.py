"""What installs the packages of an optional extra, wherever tinysplit itself came from."""

import sys
from importlib.metadata import requires

from tinysplit.common.texts.quoting import shell_line


def install_line(extra: str) -> str:
    """Return the shell line that installs the packages of `extra` for this Python."""
    conditions = (requirement.partition(";") for requirement in requires("tinysplit") or ())
    wanted = [package.strip() for package, _, condition in conditions if f'"{extra}"' in condition.replace("'", '"')]
    return shell_line((sys.executable, "-m", "pip", "install", *wanted))
