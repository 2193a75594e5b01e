"""Builds PlatformIO projects with the system's compiler, without access to PlatformIO's registry."""

import logging
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tinysplit.build.stamp import is_built, write_stamp
from tinysplit.codegen.platformio_ini import COMPILER
from tinysplit.common.errors import CheckFailedError, InputError, TinysplitError, ToolError
from tinysplit.common.interrupts.children import child
from tinysplit.common.log import log_program
from tinysplit.common.project_files import BUILD_FOLDER, ELF_IN_PROJECT, SYSTEM_BUILD_IN_PROJECT, SYSTEM_ENVIRONMENT

_log = logging.getLogger(__name__)
TIME_LIMIT_S = 300.0
LOG_IN_PROJECT = Path(BUILD_FOLDER) / "build.log"

_OVERFLOW = re.compile(r"region `(\w+)' overflowed by (\d+) bytes")
_OUTSIDE = re.compile(r"section `(\.\w+)' is not within region `(\w+)'")
_APPLICATION_MISTAKES = (  # of src/application.c: what the compiler and the linker say, and what to say of it
    (
        re.compile(r"fatal error: (application).h: No such file"),
        "has no include/application.h: `tinysplit generate` writes one where there is none",
    ),
    (
        re.compile(r"undefined reference to \W+(operator (?:new|delete)|__cxa_\w+|std::|__gxx_\w+|vtable for __cxx)"),
        "needs the library of C++ ({0}): leave new, delete, virtual destructors and exceptions out",
    ),
    (
        re.compile(r"undefined reference to \W+application_(\w+)"),
        "does not define application_{0}: define it, or set APPLICATION_{1} to 0 in application.h",
    ),
    (
        re.compile(r"(?:multiple |re)definition of \W+application_(\w+)"),
        "defines application_{0} twice: leave one definition",
    ),
    (
        re.compile(r"attempt to use poisoned \W+application_(\w+)"),
        "defines application_{0}, which is not called: set APPLICATION_{1} to 1 in application.h, or leave it out",
    ),
    (
        re.compile(r"#error \W+application_(\w+) is needed"),
        "has no application_{0}, but its board begins runs: set APPLICATION_{1} to 1 in application.h, and define it",
    ),
    (
        re.compile(r"#error \W+APPLICATION_(\w+) is not defined"),
        "does not say whether it has application_{0} for its {0}: define APPLICATION_{1} in application.h as 1 or 0",
    ),
    (
        re.compile(r"#error \W+application_(\w+) is of another board"),
        "has application_{0}, and another board has the {0}: leave the function and APPLICATION_{1} out here",
    ),
)
_ERRORS = (  # of the compiler, the linker and SCons; then of PlatformIO and Python
    re.compile(r"error: (?!ld returned)|undefined reference|/ld: (?!.*: in function )|^\*\*\* "),
    re.compile(r"^Error: |^[\w.]+(Error|Exception)\b"),
)
_NAMELESS = re.compile(r"\w+: *")  # a class of errors without a message: the line before says what was tried
_SUMMARY = re.compile(r"^Environment +Status.*", re.MULTILINE | re.DOTALL)
_RULER = re.compile(r"={5}|-{5}")


def build_projects(
    directories: Sequence[Path], on_built: Callable[[Path], None] = lambda _directory: None
) -> list[Path]:
    """Build all projects in parallel and return their ELF files in the order of `directories`.

    Nothing is started for projects that are built already. `on_built` is called with the directory of each finished
    project. Raises ToolError when the compiler or PlatformIO is missing (before anything is started), when a build
    fails, and when one takes more than TIME_LIMIT_S; InputError for an application that does not fit its header;
    CheckFailedError when a program does not fit into a memory of its
    board.
    """
    changed = [directory for directory in directories if not is_built(directory)]
    for directory in directories:
        if directory not in changed:
            on_built(directory)
    if changed:
        _build(changed, on_built)
    return [directory / ELF_IN_PROJECT for directory in directories]


class _Running(NamedTuple):
    """A build: the directory of the project, where it is built, and the process."""

    directory: Path
    place: Path
    process: subprocess.Popen[bytes]


def _build(directories: Sequence[Path], on_built: Callable[[Path], None]) -> None:
    _require_tools()
    from tinysplit.build import packages as platformio_core  # noqa: PLC0415 - PlatformIO may be missing until the line before

    environment = platformio_core.environment()
    with ExitStack() as stack:
        running = []
        for directory in directories:
            place = stack.enter_context(_place(directory))
            running.append(_Running(directory, place, stack.enter_context(_started(place, environment))))
        deadline = time.monotonic() + TIME_LIMIT_S
        for build in running:
            _finish(build, deadline)
            write_stamp(build.place)
            on_built(build.directory)


@contextmanager
def _place(directory: Path) -> Iterator[Path]:
    """Yield where a project is built: in its directory, or in a copy where SCons would take its path for variables.

    What is built is moved into the directory at the end.
    """
    if "$" not in str(directory.resolve()):
        yield directory
        return
    _require_project(directory)
    with TemporaryDirectory(prefix="tinysplit-build-") as temporary:
        copy = Path(shutil.copytree(directory, Path(temporary, directory.name.replace("$", "_"))))
        try:
            yield copy
        finally:
            shutil.rmtree(directory / BUILD_FOLDER, ignore_errors=True)
            shutil.move(copy / BUILD_FOLDER, directory / BUILD_FOLDER)


def _require_tools() -> None:
    """Raise ToolError for a missing tool, for which PlatformIO would wait a minute for its registry."""
    if shutil.which(COMPILER) is None:
        raise ToolError(f"{COMPILER} is not on the PATH: install it (Debian: apt-get install gcc-arm-none-eabi)")
    command = [COMPILER, "-print-file-name=nano.specs"]
    specs = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=TIME_LIMIT_S)
    if not Path(specs.stdout.strip()).is_absolute():
        raise ToolError(f"{COMPILER} has no newlib: install it (Debian: apt-get install libnewlib-arm-none-eabi)")
    for module, package in (("platformio", "platformio"), ("SCons", "scons")):
        if find_spec(module) is None:
            raise ToolError(f"{package} is not installed: {sys.executable} -m pip install {package}")


def _require_project(directory: Path) -> None:
    if not (directory / "platformio.ini").is_file():
        raise InputError(f"{directory} has no platformio.ini: it is not a generated project")


@contextmanager
def _started(directory: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    _require_project(directory)
    log = directory / LOG_IN_PROJECT
    log.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "platformio", "run", "-e", SYSTEM_ENVIRONMENT, "-d", str(directory)]
    log_program(_log, command)
    with log.open("wb") as output:
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        variables = environment | {"PLATFORMIO_BUILD_DIR": str((directory / SYSTEM_BUILD_IN_PROJECT).absolute())}
        with child(command, env=variables, **streams) as process:
            yield process


def _finish(build: _Running, deadline: float) -> None:
    """Wait for the end of a build."""
    directory, place, process = build
    log = directory / LOG_IN_PROJECT
    try:
        status = process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        message = f"building {directory} took more than {TIME_LIMIT_S:.0f} s and was stopped (log: {log})"
        raise ToolError(message) from error
    if status != 0:
        raise _failure(directory, (place / LOG_IN_PROJECT).read_text(encoding="utf-8", errors="replace"))
    if not (place / ELF_IN_PROJECT).is_file():
        raise ToolError(f"building {directory} did not produce {ELF_IN_PROJECT} (log: {log})")


def _failure(directory: Path, output: str) -> TinysplitError:
    if overflow := _OVERFLOW.search(output):
        memory, over_bytes = overflow.groups()
        return CheckFailedError(f"the program of {directory.name} is {over_bytes} bytes too large for {memory}")
    if outside := _OUTSIDE.search(output):
        section, memory = outside.groups()
        return CheckFailedError(
            f"{section} of the program of {directory.name} does not fit into {memory} behind the data"
        )
    for pattern, text in _APPLICATION_MISTAKES:
        if mistake := pattern.search(output):
            name = mistake.group(1)
            return InputError(f"the application of {directory.name} {text.format(name.lower(), name.upper())}")
    return ToolError(f"building {directory} failed: {first_error(output)} (log: {directory / LOG_IN_PROJECT})")


def first_error(output: str) -> str:
    """Return the first line of a build's output that names an error, else the last one before PlatformIO's summary."""
    lines = [line.strip() for line in _SUMMARY.sub("", output).splitlines()]
    lines = [line for line in lines if line and not _RULER.search(line)]
    for pattern in _ERRORS:
        for before, line in pairwise(("", *lines)):
            if pattern.search(line):
                return f"{before}: {line.rstrip(': ')}" if _NAMELESS.fullmatch(line) else line.rstrip(":")
    return lines[-1] if lines else "no output"
