"""Tests of programs build them without PlatformIO, to save its start-up time: they are the programs that it builds."""

import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest
from rich.console import Console

from example_folders.example import generate_example
from session import direct_builds
from session.program_cache import Sources
from tinysplit.build.folder import build_folder
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.common.choices import LowPower
from tinysplit.common.errors import CheckFailedError
from tinysplit.project.standalone import ProjectStandalone
from virtual_stm32.symbols import load_program

PROGRAMS = {
    "plain": (("nucleo_g071rb", "nucleo_f401re"), PLAIN),
    "standalone": (  # with code in RAM, and with external memory to leave out
        ("nucleo_l452re", "nucleo_h743zi"),
        ProgramOptions(standalone=ProjectStandalone(frame_us=10**6, low_power=LowPower.STOP)),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param("plain", marks=pytest.mark.nightly), "standalone"],  # which has more kinds of memory
)
def test_the_compiler_alone_makes_the_program_of_platformio(name: str, tmp_path: Path) -> None:
    boards, programs = PROGRAMS[name]
    made, expected = tmp_path / "made", tmp_path / "expected"
    project = generate_example(made, *boards, programs=programs)
    shutil.copytree(made, expected)
    build_folder(project, made, Console(quiet=True)).check()
    with direct_builds.left_out():
        build_folder(project, expected, Console(quiet=True)).check()
    for board in project.boards:
        assert not (made / board.directory / ".pio" / "system.map").exists()
        assert (expected / board.directory / ".pio" / "system.map").is_file()
        assert load_program(board.elf(made)) == load_program(board.elf(expected))


@pytest.mark.slow
def test_a_program_that_is_too_large_is_refused_in_the_words_of_the_tool(tmp_path: Path) -> None:
    project = generate_example(tmp_path / "out", "nucleo_g071rb")
    script = tmp_path / "out" / project.boards[0].directory / "linker.ld"
    text = script.read_text()
    script.write_text(text.replace("LENGTH = 131072", "LENGTH = 20480", 1))
    refused = r"^the program of board1_nucleo_g071rb is \d+ bytes too large for flash$"
    for builds in (direct_builds.left_out, nullcontext):
        with builds(), pytest.raises(CheckFailedError, match=refused):
            build_folder(project, tmp_path / "out", Console(quiet=True))


def test_an_object_follows_from_its_source_and_all_headers_that_it_can_find(tmp_path: Path) -> None:
    files = {
        "src/a.c": '#include "one.h"\n#include <stdint.h>\n',
        "lib/one.h": '  # include "two.h"\n',
        "lib/two.h": "",
        "include/other.h": "",
        "src/b.c": '__asm__(".incbin \\"weights.bin\\"");\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def parts(name: str) -> list[str | bytes] | None:
        return Sources(tmp_path, ("include", "lib")).parts(Path(name))

    read_or_not = {"include/other.h": False, "lib/two.h": True, "include/two.h": False, "include/one.h": True}
    known = [parts("src/a.c")]
    for name, is_read in read_or_not.items():
        (tmp_path / name).write_text("int a;\n")
        assert (parts("src/a.c") not in known) == is_read, name
        known.append(parts("src/a.c"))
    assert parts("src/b.c") is None, "which reads other files"
