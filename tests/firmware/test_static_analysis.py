"""Static analysis of all firmware, and of the generated C of one project: gcc -fanalyzer, cppcheck and clang-tidy.

`./run analyze-c` runs this file. Sources are those of firmware/, with the headers of a board of each family.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from example_folders.example import generate_example
from session.compiler_cache import path_in
from session.profiles import Profile, current
from session.shared_folder import made_once
from tinysplit.codegen.program_options import ProgramOptions
from tinysplit.common.choices import LowPower
from tinysplit.project.standalone import ProjectStandalone

HERE = Path(__file__).parent
FIRMWARE = HERE.parents[1] / "firmware"
BOARDS = {
    "stm32c0": "nucleo_c031c6",  # at an end: it has one link
    "stm32g0": "nucleo_g071rb",
    "stm32l0": "nucleo_l073rz",
    "stm32f0": "nucleo_f091rc",
    "stm32f1": "nucleo_f103rb",
    "stm32f3": "nucleo_f303re",
    "stm32wb": "nucleo_wb55rg",
    "stm32wl": "nucleo_wl55jc",
    "stm32u5": "nucleo_u575zi_q",
    "stm32h5": "nucleo_h563zi",
    "stm32l5": "nucleo_l552ze_q",
    "stm32f4": "nucleo_f446re",
    "stm32f7": "nucleo_f746zg",
    "stm32h7": "nucleo_h743zi",
    "stm32l4": "nucleo_l452re",
    "stm32g4": "nucleo_g474re",
}
# Families with which the tools see all of common/: one of each core. Others differ in files with conditions only.
WITH_COMMON = tuple(BOARDS) if current() is Profile.NIGHTLY else ("stm32g0", "stm32f1", "stm32l4", "stm32u5", "stm32h7")
TIMEOUT_S = 240
# Symbols of the linker script are the ends of one memory, as cppcheck cannot know; it takes the pointer behind the last
# byte of a buffer for an overflow.
CPPCHECK_SUPPRESSED = (
    "ctuPointerArith:*/text_out.c",
    "comparePointers:*/startup.c",
    "comparePointers:*/stack.h",
    "comparePointers:*/flash_check.c",
    "comparePointers:*/standalone.c",
)


@dataclass(frozen=True)
class Program:
    """The sources of a board's program, and the flags that they are compiled with in its folder."""

    folder: Path
    sources: tuple[Path, ...]
    flags: tuple[str, ...]


def a_project(family: str) -> Path:
    """Return a project with the board of a family: of every third one, as the network has few layers."""
    names, number = tuple(BOARDS.values()), tuple(BOARDS).index(family) % 3
    standalone = ProjectStandalone(frame_us=10**6, low_power=LowPower.STOP)
    programs = ProgramOptions(standalone=standalone)  # which have every file
    return made_once(f"analyzed-{number}", lambda out: generate_example(out, *names[number::3], programs=programs))


def program(family: str) -> Program:
    """Return the firmware of a family, and the generated sources of its board in `a_project`."""
    (folder,) = a_project(family).glob(f"board*_{BOARDS[family]}")
    flags = re.findall(r"(-m\S+|-D \S+)", (folder / "platformio.ini").read_text())
    includes = ("include", *(path_in(folder, FIRMWARE / name) for name in ("common", family)))
    common = (path for path in FIRMWARE.glob("common/*.c") if family in WITH_COMMON or "\n#if" in path.read_text())
    own = (path for each in (folder / "src", FIRMWARE / family) for path in each.glob("*.c"))
    registers = (FIRMWARE / family / f"{family}_registers.h").read_text()
    left_out = () if "QUADSPI" in registers else ("external_memory.c",)
    return Program(
        folder,
        sources=tuple(path for path in sorted((*own, *common)) if path.name not in left_out),
        flags=("-std=c11", *(flag.replace(" ", "") for flag in flags), *(f"-I{path}" for path in includes)),
    )


def ran(command: Sequence[str | Path], folder: Path) -> None:
    """Run a tool; fail with what it found."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout + done.stderr


def needs(tool: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"needs {tool} (Debian package {tool})")


GCC_ANALYZER = ("arm-none-eabi-gcc", "-c", "-O1", "-Wall", "-Wextra", "-Werror", "-fanalyzer")


# The analyzer does not follow the loop that reads all bytes of the flash's identification.
FALSE_POSITIVES = {"external_memory.c": ("-Wno-analyzer-use-of-uninitialized-value",)}


@pytest.mark.slow
@pytest.mark.parametrize("family", BOARDS)
def test_gcc_analyzer(tmp_path: Path, family: str) -> None:
    found = program(family)
    for path in found.sources:
        own = FALSE_POSITIVES.get(path.name, ())
        source = path_in(found.folder, path)  # for ccache to know it again
        ran([*GCC_ANALYZER, *own, *found.flags, source, "-o", tmp_path / "analyzed.o"], found.folder)


@pytest.mark.slow
@needs("cppcheck")
@pytest.mark.parametrize("family", BOARDS)
def test_cppcheck(family: str) -> None:
    found = program(family)
    flags = [flag for flag in found.flags if flag.startswith(("-D", "-I"))]
    checks = ["--enable=warning,performance,portability", "--error-exitcode=1", "--quiet", "--inline-suppr"]
    suppressed = [f"--suppress={each}" for each in CPPCHECK_SUPPRESSED]
    ran(
        ["cppcheck", "--std=c11", "--platform=arm32-wchar_t4", *checks, *suppressed, *flags, *found.sources],
        found.folder,
    )


@pytest.mark.slow
@needs("clang-tidy")
@pytest.mark.parametrize("family", BOARDS)
def test_clang_tidy(family: str) -> None:
    found = program(family)
    flags = ["--target=arm-none-eabi", *found.flags, *(f"-isystem{path}" for path in newlib_folders())]
    ran(
        ["clang-tidy", "--quiet", f"--config-file={HERE / 'clang_tidy.yaml'}", *found.sources, "--", *flags],
        found.folder,
    )


def newlib_folders() -> list[str]:
    """Return where arm-none-eabi-gcc finds headers of the C library."""
    command = ["arm-none-eabi-gcc", "-E", "-v", "-xc", "/dev/null"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S).stderr
    return re.findall(r"^ (/\S+)$", listed.partition("#include <...>")[2], re.MULTILINE)


BROKEN = """
#include <stdlib.h>
int broken(int count) {
  int *values = malloc(4 * sizeof *values);
  int last = values[9];
  free(values);
  if (count = 3) return values[0];
  return last;
}
"""


@pytest.mark.parametrize("tool", ["gcc", pytest.param("cppcheck", marks=needs("cppcheck"))])
def test_mistakes_are_found(tmp_path: Path, tool: str) -> None:
    source = tmp_path / "broken.c"
    source.write_text(BROKEN)
    command = [*GCC_ANALYZER] if tool == "gcc" else ["cppcheck", "--error-exitcode=1", "--quiet"]
    with pytest.raises(AssertionError, match=r"out.of.bounds|analyzer-"):
        ran([*command, source], tmp_path)


@needs("clang-tidy")
def test_suspicious_code_is_found(tmp_path: Path) -> None:
    source = tmp_path / "broken.c"
    source.write_text("#define TWICE(x) x + x\nint broken(int a);\nint broken(int a) { return TWICE(a); }\n")
    with pytest.raises(AssertionError, match="bugprone-macro-parentheses"):
        ran(["clang-tidy", "--quiet", f"--config-file={HERE / 'clang_tidy.yaml'}", source, "--"], tmp_path)
