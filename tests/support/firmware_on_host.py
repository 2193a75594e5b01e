"""Compiles parts of the firmware for the host, with AddressSanitizer and UndefinedBehaviorSanitizer."""

import binascii
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from shared_folder import made_once

ROOT = Path(__file__).parents[2]
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
COMPILER = ("gcc", *SANITIZED, *WARNINGS, f"-I{PROGRAMS / 'stub'}", f"-I{COMMON}", f"-I{FUZZ}")


def compile_host(folder: Path, program: str, *firmware: str, defines: Sequence[str] = ()) -> Path:
    """Compile tests/c/`program`.c, with these macros, and link it with files of firmware/common, compiled once.

    tests/c/stub stands in for a family's headers.
    """
    return compile_files(folder / program, [PROGRAMS / f"{program}.c"], *firmware, defines=defines)


def compile_files(output: Path, programs: Sequence[Path], *firmware: str, defines: Sequence[str] = ()) -> Path:
    """Compile C files, with these macros, into `output`, and link them with files of firmware/common, compiled once."""
    macros = [f"-D{each}" for each in defines]
    files = [*programs, *map(_object, firmware)]
    subprocess.run([*COMPILER, *macros, *map(str, files), "-o", str(output)], check=True)
    return output


def _object(source: str) -> Path:
    def make(folder: Path) -> None:
        folder.mkdir()
        subprocess.run([*COMPILER, "-c", str(COMMON / source), "-o", str(folder / "firmware.o")], check=True)

    return made_once(f"host-{Path(source).stem}", make) / "firmware.o"


def frame(kind: int, tag: int, sequence: int, payload: bytes) -> bytes:
    """Return a frame as docs/protocol.md has it."""
    body = struct.pack("<BBBH", kind, tag, sequence, len(payload)) + payload
    return b"\xa5" + body + struct.pack("<H", binascii.crc_hqx(body, 0xFFFF))
