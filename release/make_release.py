"""Builds a release into dist/: source distribution, wheel and bill of materials. `./run release` starts it."""

import hashlib
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote

from packaging.utils import canonicalize_name

from bill_of_materials import DistributionFile, Files, bill_of_materials
from build_hook import BILL_VARIABLE
from dependencies import PROJECT, dependency_graph, users_extras
from licenses import installed_packages, problems, read_list
from tinysplit import __version__
from tinysplit.common.errors import CheckFailedError, InputError, TinysplitError, ToolError, UsageError

ROOT = Path(__file__).parents[1]
BILL_NAME = f"{PROJECT}-{__version__}.cdx.json"


def main() -> int:
    """Check the licence list and the checkout, build, and print the SHA-256 of each file; return the exit code."""
    try:
        if sys.argv[1:]:
            raise UsageError("it takes no arguments: it builds the release of the commit into dist/")
        check_licenses()
        check_committed()
        files = build(ROOT / "dist", published_files(bill_requirements()), release_time())
    except TinysplitError as error:
        sys.stderr.write(f"release: {error}\n")
        return error.exit_code
    for path in files:
        sys.stdout.write(f"{_file(path).sha256}  {path.relative_to(ROOT)}\n")
    return 0


def check_licenses() -> None:
    """Compare the licence list with what is installed.

    Raises:
        CheckFailedError: if they differ.
    """
    if differences := list(problems(read_list(), installed_packages())):
        raise CheckFailedError("\n".join(differences))


def check_committed() -> None:
    """Check that the release is that of a commit, by which it can be built again.

    Raises:
        CheckFailedError: if files are changed, or unknown to git.
    """
    if changed := _git("status", "--porcelain"):
        names = ", ".join(line[3:] for line in changed.splitlines())
        raise CheckFailedError(f"files differ from the commit: commit or remove {names}")


def release_time() -> int:
    """Return SOURCE_DATE_EPOCH, else the time of the commit, in seconds since 1970.

    Raises:
        InputError: if SOURCE_DATE_EPOCH is no such number.
    """
    given = os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct")
    if not given.strip().isdecimal():
        raise InputError(f"SOURCE_DATE_EPOCH {given!r}: give whole seconds since 1970, or unset it")
    return int(given)


def _git(*arguments: str) -> str:
    return _output("git", "-C", str(ROOT), *arguments)


def bill_requirements() -> list[str]:
    """Return the packages of the bill but tinysplit as `name==version`."""
    return [f"{name}=={metadata.version(name)}" for name in dependency_graph(users_extras()) if name != PROJECT]


def published_files(requirements: list[str], *options: str) -> Files:
    """Return the file of each package that pip would install on this machine. The index tells its hash.

    Args:
        requirements: as `name==version`.
        options: further options of pip install.

    Raises:
        ToolError: if the index does not have one of them or cannot be reached.
    """
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet"]
    report = json.loads(
        _output(*command, "--disable-pip-version-check", "--no-input", *options, "--report", "-", *requirements)
    )
    return {
        canonicalize_name(package["metadata"]["name"]): [
            DistributionFile(
                unquote(package["download_info"]["url"].rsplit("/", 1)[-1]),
                _sha256(package["download_info"]["archive_info"]),
            )
        ]
        for package in report["install"]
    }


def _sha256(archive: dict[str, Any]) -> str:
    """Return the hash of a file that pip names. Older versions, for a file of a folder, have it in one key only."""
    digest: str = archive["hashes"]["sha256"] if "hashes" in archive else archive["hash"].removeprefix("sha256=")
    return digest


def build(folder: Path, dependencies: Files, seconds: int) -> list[Path]:
    """Build wheel, source distribution and bill into the folder, and return their paths.

    The wheel is built from the source distribution. It has the same bill inside, without the hashes of the two.

    Args:
        folder: made if it does not exist; files of the same names are overwritten.
        dependencies: the files of the packages that the release requires.
        seconds: the time of the release, since 1970.

    Raises:
        ToolError: if the build fails.
    """
    licenses = read_list()
    with TemporaryDirectory() as temporary:
        inner = Path(temporary) / BILL_NAME
        inner.write_text(bill_of_materials(licenses, dependencies, seconds), encoding="utf-8")
        environment = {
            BILL_VARIABLE: str(inner),
            "HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true",
            "SOURCE_DATE_EPOCH": str(seconds),
        }
        _output(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT), **environment)
    wheel = folder / f"{PROJECT}-{__version__}-py3-none-any.whl"
    source = folder / f"{PROJECT}-{__version__}.tar.gz"
    bill = folder / BILL_NAME
    own = {PROJECT: [_file(wheel), _file(source)]}
    bill.write_text(bill_of_materials(licenses, {**dependencies, **own}, seconds), encoding="utf-8")
    return [wheel, source, bill]


def _file(path: Path) -> DistributionFile:
    return DistributionFile(path.name, hashlib.sha256(path.read_bytes()).hexdigest())


def _output(*command: str, **environment: str) -> str:
    """Run a program and return what it prints.

    Raises:
        ToolError: if it fails.
    """
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise ToolError(f"{' '.join(command[:4])} failed: {lines[-1] if lines else 'no message'}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
