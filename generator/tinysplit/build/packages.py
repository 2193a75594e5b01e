"""PlatformIO's own folder, filled so that it never asks its registry: SCons from PyPI and our development platform."""

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

from tinysplit.common import resources
from tinysplit.common.cache import cache_directory


def environment() -> dict[str, str]:
    """Return the environment for PlatformIO; prepares its folder on first use.

    The user's own PlatformIO variables are left out: they would change what is built, or where. Raises ToolError when
    no folder can be written.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PLATFORMIO_")}
    return inherited | {
        "PLATFORMIO_CORE_DIR": str(_prepared_directory()),
        "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no",
        "PLATFORMIO_DISABLE_UPGRADE_CHECK": "true",
        "PLATFORMIO_NO_ANSI": "true",
    }


def _prepared_directory() -> Path:
    """Return PlatformIO's folder; its name depends on what is in it, so that two installations share none."""
    platform = resources.boards() / "platform"
    contents = (str(platform), sys.prefix, version("platformio"), version("scons"))
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
    """Make PlatformIO's package `tool-scons` out of the SCons that is installed beside this package.

    The owner in .piopm is essential: without it PlatformIO looks for its own package in the registry.
    """
    scons_version = get_core_dependencies()["tool-scons"].lstrip("~^=")
    spec = {"owner": "platformio", "id": None, "name": "tool-scons", "requirements": None, "uri": None}
    manifest = {"name": "tool-scons", "version": scons_version}
    package.mkdir(parents=True, exist_ok=True)
    (package / "scons.py").write_text("import SCons.Script\n\nSCons.Script.main()\n")
    (package / "package.json").write_text(json.dumps(manifest))
    (package / ".piopm").write_text(json.dumps({"type": "tool", **manifest, "spec": spec}))


def _link_platform(platforms: Path, platform: Path) -> None:
    """Write the link that PlatformIO writes on installing `symlink://<platform>`.

    PlatformIO would do it itself, but two builds at once would write the file while the other reads it.
    """
    spec = {"owner": None, "id": None, "name": platform.name, "requirements": None, "uri": f"symlink://{platform}"}
    platforms.mkdir(parents=True, exist_ok=True)
    (platforms / f"{platform.name}.pio-link").write_text(json.dumps({"cwd": "/", "spec": spec}))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
