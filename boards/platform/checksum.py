"""Writes the CRC-32 of a firmware's flash into the section `.checksum` of its ELF file, which stands behind it.

Weights in external memory follow the flash.

PlatformIO runs this after linking (extra_scripts); for other builds: python checksum.py firmware.elf
"""

import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

_SECTION = struct.Struct("<10I")
_SEGMENT = struct.Struct("<8I")
_LOADED = 1  # PT_LOAD


def write_checksum(path: Path) -> None:
    """Write the checksum of the ELF file at `path` into it. Raises ValueError where flash has gaps or no checksum."""
    data = bytearray(path.read_bytes())
    sections = dict(_sections(data))
    if ".checksum" not in sections:
        raise ValueError("the ELF file has no section .checksum")
    position, _ = sections[".checksum"]
    offset, size = sections.get(".external", (0, 0))
    struct.pack_into("<I", data, position, zlib.crc32(data[offset : offset + size], zlib.crc32(_flash(data, position))))
    path.write_bytes(data)


def _sections(data: bytearray) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the name of each section, and its offset in the file and size in bytes."""
    (table,) = struct.unpack_from("<I", data, 32)
    size, count, names = struct.unpack_from("<HHH", data, 46)
    sections = [_SECTION.unpack_from(data, table + i * size) for i in range(count)]
    for name, _, _, _, offset, bytes_, *_ in sections:
        begin = sections[names][4] + name
        yield data[begin : data.index(b"\0", begin)].decode(), (offset, bytes_)


def _flash(data: bytearray, end: int) -> bytes:
    """Return the contents of the flash from its start to what lies at offset `end` of the file."""
    (table,) = struct.unpack_from("<I", data, 28)
    size, count = struct.unpack_from("<HH", data, 42)
    headers = [_SEGMENT.unpack_from(data, table + i * size) for i in range(count)]
    loaded = sorted((header[3], header[1], header[4]) for header in headers if header[0] == _LOADED and header[4])
    flash = b""
    for address, offset, length in loaded:
        if address != loaded[0][0] + len(flash):
            raise ValueError(f"the flash has a gap before 0x{address:08x}")
        if offset <= end < offset + length:
            return flash + data[offset:end]
        flash += data[offset : offset + length]
    raise ValueError("the section .checksum is not in flash")


if __name__ == "__main__":
    write_checksum(Path(sys.argv[1]))
else:
    from SCons.Script import Import

    Import("env")
    program = "$BUILD_DIR/${PROGNAME}.elf"
    env.AddPostAction(program, lambda target, **_: write_checksum(Path(str(target[0]))))  # noqa: F821
