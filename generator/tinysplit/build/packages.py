"""PlatformIO's core folder with SCons from PyPI and the local platform, so that PlatformIO needs no registry."""

import fcntl
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from platformio.dependencies import get_core_dependencies

from tinysplit.common import package_files
from tinysplit.common.cache import cache_directory
from tinysplit.common.project_files import SYSTEM_PLATFORM

_CCACHE_SIZE = "256M"


def environment() -> dict[str, str]:
    """Return the environment variables for PlatformIO; its core folder is prepared on first use.

    PlatformIO variables of the user are removed, as they would change what is built or where; messages are in English,
    which `first_error` reads. Where there is ccache, it keeps objects in the cache folder, unless the user has chosen
    another one. Raises ToolError when no cache folder is writable.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PLATFORMIO_")}
    return (
        {"CCACHE_DIR": str(cache_directory() / "ccache"), "CCACHE_MAXSIZE": _CCACHE_SIZE}
        | inherited
        | {
            "PLATFORMIO_CORE_DIR": str(_prepared_directory()),
            "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
            "PLATFORMIO_DISABLE_UPGRADE_CHECK": "true",
            "PLATFORMIO_NO_ANSI": "true",
            "LANGUAGE": "en",  # of gettext: leaves the encoding of paths as it is
        }
    )


def _prepared_directory() -> Path:
    """Return PlatformIO's core folder; its name depends on its contents, so that installations do not share it."""
    platform = package_files.boards() / "platform"
    contents = (SYSTEM_PLATFORM, str(platform), sys.prefix, version("platformio"), version("scons"))
    key = hashlib.sha256("\n".join(contents).encode()).hexdigest()[:12]
    directory = cache_directory() / f"platformio-{key}"
    ready = directory / "ready"
    if not ready.exists():
        with _locked(directory.with_suffix(".lock")):
            _install_scons(directory / "packages" / "tool-scons")
            _link_platform(directory / "platforms", platform)
            ready.touch()
    return directory


def _install_scons(package: Path) -> None:
    """Write a PlatformIO package `tool-scons` that runs the SCons of this Python environment.

    The owner in .piopm is essential: without it PlatformIO looks for the package in its registry.
    """
    scons_version = get_core_dependencies()["tool-scons"].lstrip("~^=")
    spec = {"owner": "platformio", "id": None, "name": "tool-scons", "requirements": None, "uri": None}
    manifest = {"name": "tool-scons", "version": scons_version}
    package.mkdir(parents=True, exist_ok=True)
    (package / "scons.py").write_text("import SCons.Script\n\nSCons.Script.main()\n")
    (package / "package.json").write_text(json.dumps(manifest))
    (package / ".piopm").write_text(json.dumps({"type": "tool", **manifest, "spec": spec}))


def _link_platform(platforms: Path, platform: Path) -> None:
    """Write the file that PlatformIO writes when it installs `symlink://<platform>`.

    Written by PlatformIO itself, it could be read by a concurrent build before it is complete.
    """
    spec = {"owner": None, "id": None, "name": SYSTEM_PLATFORM, "requirements": None, "uri": f"symlink://{platform}"}
    platforms.mkdir(parents=True, exist_ok=True)
    (platforms / f"{SYSTEM_PLATFORM}.pio-link").write_text(json.dumps({"cwd": "/", "spec": spec}))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
