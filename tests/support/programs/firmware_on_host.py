"""Compiles parts of the firmware for the host, with AddressSanitizer and UndefinedBehaviorSanitizer."""

import binascii
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from session.compiler_cache import path_in
from session.shared_folder import made_once

ROOT = Path(__file__).parents[3]
COMMON = ROOT / "firmware" / "common"
PROGRAMS = ROOT / "tests" / "c"
FUZZ = ROOT / "tests" / "fuzz"
LINK_SOURCES = ("crc32.c", *sorted(path.name for path in COMMON.glob("link*.c")))
# A run, of a program without what it may lack.
RUN_SOURCES = (
    *("schedule", "run", "exchange", "times", "words", "crc32"),
    *("no_external_memory", "no_weights_file", "no_weights_key"),
)
SANITIZED = ("-std=c11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wconversion")
COMPILER = ("gcc", *SANITIZED, *WARNINGS)


def compile_host(folder: Path, program: str, *firmware: str, defines: Sequence[str] = ()) -> Path:
    """Compile tests/c/`program`.c, with these macros, and link it with files of firmware/common, compiled once.

    tests/c/stub stands in for a family's headers.
    """
    return compile_files(folder / program, [PROGRAMS / f"{program}.c"], *firmware, defines=defines)


def compile_files(output: Path, programs: Sequence[Path], *firmware: str, defines: Sequence[str] = ()) -> Path:
    """Compile C files, with these macros, into `output`, and link them with files of firmware/common, compiled once."""
    macros = [f"-D{each}" for each in defines]
    objects = [output.with_name(f"{output.name}-{each.stem}.o") for each in programs]
    for program, target in zip(programs, objects, strict=True):  # each on its own, for ccache to know it again
        _compile(output.parent, *macros, "-c", path_in(output.parent, program), "-o", target.name)
    _compile(output.parent, *map(str, (*objects, *map(_object, firmware))), "-o", output.name)
    return output


def _compile(folder: Path, *arguments: str) -> None:
    includes = [f"-I{path_in(folder, path)}" for path in (PROGRAMS / "stub", COMMON, FUZZ)]
    subprocess.run([*COMPILER, *includes, *arguments], cwd=folder, check=True)


def _object(source: str) -> Path:
    def make(folder: Path) -> None:
        folder.mkdir()
        _compile(folder, "-c", path_in(folder, COMMON / source), "-o", "firmware.o")

    return made_once(f"host-{Path(source).stem}", make) / "firmware.o"


def frame(kind: int, tag: int, sequence: int, payload: bytes) -> bytes:
    """Return a frame as docs/understand/protocol.md has it."""
    body = struct.pack("<BBBH", kind, tag, sequence, len(payload)) + payload
    return b"\xa5" + body + struct.pack("<H", binascii.crc_hqx(body, 0xFFFF))
