"""The folder for results that are built once and used again: PlatformIO's core folder, the virtual boards' hook."""

import os
from pathlib import Path

from platformdirs import user_cache_path

from tinysplit.common.errors import ToolError
from tinysplit.common.private.folder import private_folder, runtime_folder

APPLICATION = "tinysplit"


def cache_directory() -> Path:
    """Return a private folder (`private_folder`): the user's cache folder, or a temporary one if that cannot be used.

    Programs are loaded from it. Raises ToolError if neither can be used.
    """
    reasons = []
    for find in (_users, _temporary):
        try:
            directory = private_folder(find())
        except ToolError as error:
            reasons.append(str(error))
            continue
        if os.access(directory, os.W_OK):
            return directory
        reasons.append(f"{directory} is not writable")
    raise ToolError(f"there is no folder for a cache: {'; '.join(reasons)}")


def _users() -> Path:
    return user_cache_path(APPLICATION)


def _temporary() -> Path:
    return runtime_folder() / "cache"
