"""The folder for what is made once and used again: PlatformIO's own folder, the compiled hook of the virtual boards."""

import os
import tempfile
from pathlib import Path

from tinysplit.common.errors import ToolError


def cache_directory() -> Path:
    """Return a writable folder: the user's cache, or one under the temporary folder where there is no home.

    A relative $XDG_CACHE_HOME is ignored, as the XDG specification asks. Raises ToolError when none can be written.
    """
    home, cache_home = os.environ.get("HOME"), os.environ.get("XDG_CACHE_HOME", "")
    candidates = [Path(cache_home)] if Path(cache_home).is_absolute() else [Path(home, ".cache")] if home else []
    candidates.append(Path(tempfile.gettempdir(), f"tinysplit-{os.getuid()}"))
    for candidate in candidates:
        directory = candidate / "tinysplit"
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return directory
    raise ToolError(f"no folder for what is built once can be written (tried {', '.join(map(str, candidates))})")
