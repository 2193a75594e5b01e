"""Compiles parts of the firmware for the host, with AddressSanitizer and UndefinedBehaviorSanitizer."""

import binascii
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMON = ROOT / "firmware" / "common"
PROGRAMS = ROOT / "tests" / "c"
LINK_SOURCES = ("crc32.c", *sorted(path.name for path in COMMON.glob("link*.c")))
SANITIZED = ("-std=c11", "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wconversion")


def compile_host(folder: Path, program: str, *firmware: str, defines: Sequence[str] = ()) -> Path:
    """Compile tests/c/`program`.c with files of firmware/common; tests/c/stub stands in for a family's headers."""
    sources = [PROGRAMS / f"{program}.c", *(COMMON / name for name in firmware)]
    includes = (f"-I{PROGRAMS / 'stub'}", f"-I{COMMON}")
    macros = [f"-D{each}" for each in defines]
    command = ["gcc", *SANITIZED, *WARNINGS, *macros, *includes, *map(str, sources), "-o", str(folder / program)]
    subprocess.run(command, check=True)
    return folder / program


def frame(kind: int, tag: int, sequence: int, payload: bytes) -> bytes:
    """Return a frame as docs/protocol.md has it."""
    body = struct.pack("<BBBH", kind, tag, sequence, len(payload)) + payload
    return b"\xa5" + body + struct.pack("<H", binascii.crc_hqx(body, 0xFFFF))
