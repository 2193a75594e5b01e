"""The folder for results that are built once and used again: PlatformIO's core folder, the virtual boards' hook."""

import os
import tempfile
from pathlib import Path

from platformdirs import user_cache_path

from tinysplit.common.errors import ToolError

APPLICATION = "tinysplit"


def cache_directory() -> Path:
    """Return a writable folder: the user's cache folder, or one under the temporary folder if that is not writable.

    Raises ToolError if neither is writable.
    """
    fallback = Path(tempfile.gettempdir(), f"{APPLICATION}-{os.getuid()}", APPLICATION)
    candidates = (user_cache_path(APPLICATION), fallback)
    for directory in candidates:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return directory
    raise ToolError(f"no cache folder is writable (tried {', '.join(map(str, candidates))})")
