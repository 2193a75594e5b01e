"""Builds of the tool without PlatformIO, whose start takes more than a second of the processor for each board.

Programs are those that PlatformIO builds (tests/build/test_direct_build.py), but for debug information, and are kept
from run to run. Tests of PlatformIO itself take the fixture `by_platformio`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from programs.firmware_build import CompilerError, linked_elf_of_folder
from tinysplit.build import platformio
from tinysplit.build.stamp import write_stamp
from tinysplit.common.project_files import ELF_IN_PROJECT

_by_platformio = platformio._build


def use() -> Callable[[], None]:
    """Build all projects of this process directly from now on; return what ends that."""
    patch = pytest.MonkeyPatch()
    patch.setattr(platformio, "_build", _build)
    return patch.undo


@contextmanager
def left_out() -> Iterator[None]:
    """Build by PlatformIO meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(platformio, "_build", _by_platformio)
        yield


def _build(directories: Sequence[Path], on_built: Callable[[Path], None]) -> None:
    platformio._require_tools()
    for directory in directories:
        platformio._require_project(directory)
        log, elf = directory / platformio.LOG_IN_PROJECT, directory / ELF_IN_PROJECT
        log.parent.mkdir(exist_ok=True)
        try:
            made = linked_elf_of_folder(directory)
        except CompilerError as error:
            log.write_text(str(error), encoding="utf-8")
            raise platformio._failure(directory, str(error)) from error
        elf.parent.mkdir(parents=True, exist_ok=True)
        made.replace(elf)
        write_stamp(directory)
        on_built(directory)
