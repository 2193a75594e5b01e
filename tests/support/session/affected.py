"""Prints the tests that a change affects, for `./run check`: what differs from branch main, committed or not.

A changed file affects the tests in the folder of its package, and the test files that import it, unless these are so
many that it is a tool of theirs. What imports the package in its turn is left to `./run test`. Nothing is printed where
no test is affected: then pytest runs all tests.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[3]
FOLDERS = {  # tests of what is no package of the generator
    "benchmarks": ("test_benchmarks.py",),
    "boards": ("boards",),
    "examples": ("pipeline",),
    "firmware": ("firmware", "kernels/test_kernels.py", "kernels/test_dsp.py", "kernels/test_dsp_conv.py"),
    "hil/tinysplit_hil/calibration": ("hil/results",),
    "hil/tinysplit_hil/html_report": ("hil/results",),
    "hil/tinysplit_hil/pytest_plugin": ("hil/results",),
    "hil/tinysplit_hil/trace": ("hil/measure",),
    "hil/virtual_stm32": ("virtual_stm32",),
    "templates": ("codegen", "kernels"),
    "tests/c": (
        "firmware/test_fixed_point.py",
        "firmware/test_host_port.py",
        "firmware/test_link.py",
        "firmware/test_link_answers.py",
        "hil/wire/test_frames.py",
        "kernels/test_kernels.py",
    ),
    "tests/mutants.toml": ("test_mutants.py",),
    "tests/golden": ("kernels/test_kernels.py", "kernels/test_golden_kernels.py"),
    "licenses.toml": ("release",),
    "pyproject.toml": ("release", "pipeline/test_wheel.py"),
    "release": ("release", "pipeline/test_wheel.py"),
    "run": ("cli/test_run.py",),
    ".ci": ("cli/test_run.py",),
}
ALWAYS = "tests/test_architecture.py"
MOST_IMPORTERS = 15  # of a module of a package, outside the folder of its tests; most have one or two


def changed_files() -> set[str]:
    """Return the files that differ from main, and those that git does not know, relative to the repository."""
    base = _git("merge-base", "main", "HEAD") or ["HEAD"]
    return {*_git("diff", "--name-only", base[0]), *_git("ls-files", "--others", "--exclude-standard")}


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout.splitlines() if done.returncode == 0 else []


def affected(changed: Iterable[str]) -> list[str]:
    """Return the test files and folders that the changed files affect."""
    found = {path for file in changed for path in _affected_by(file) if (ROOT / path).exists()}
    folders = {path for path in found if (ROOT / path).is_dir()}
    files = {path for path in found - folders if not any(path.startswith(f"{folder}/") for folder in folders)}
    return sorted(folders | files | {ALWAYS}) if found else []


def _affected_by(file: str) -> set[str]:
    folders, importers = set(_by_folder(file)), set(_by_import(file))
    others = {path for path in importers if not any(path.startswith(f"{folder}/") for folder in folders)}
    return folders if folders and len(others) > MOST_IMPORTERS else folders | others


def _by_folder(file: str) -> Iterator[str]:
    match PurePosixPath(file).parts:
        case ["generator", "tinysplit", package, _, *_]:
            yield f"tests/{package}"
        case ["hil", "tinysplit_hil", package, _, *_] if (ROOT / "tests" / "hil" / package).is_dir():
            yield f"tests/hil/{package}"
        case ["generator", "tinysplit", _]:
            yield from ("tests/cli", "tests/pipeline")
        case ["tests", *_, name] if name.startswith("test_"):
            yield file
        case parts:
            known = next((key for key in FOLDERS if parts[: key.count("/") + 1] == tuple(key.split("/"))), None)
            yield from (f"tests/{path}" for path in FOLDERS.get(known or "", ()))


def _by_import(file: str) -> Iterator[str]:
    if not file.endswith(".py"):
        return
    *packages, module = PurePosixPath(file).with_suffix("").parts[1:]
    package = ".".join(part for part in packages if part != "support")
    dotted = ".".join(part for part in (package, module) if part)
    imports = re.compile(
        rf"^\s*(from {re.escape(dotted)} import|import {re.escape(dotted)}\b"
        + (rf"|from {re.escape(package)} import .*\b{re.escape(module)}\b" if package else "")
        + ")",
        re.MULTILINE,
    )
    for path in (ROOT / "tests").rglob("test_*.py"):
        if imports.search(path.read_text(encoding="utf-8")):
            yield path.relative_to(ROOT).as_posix()


if __name__ == "__main__":
    sys.stdout.writelines(f"{path}\n" for path in affected(changed_files()))
