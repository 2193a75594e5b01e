"""One end of a link (tests/c/link_answers.c): commands and frames go in, events and frames come out."""

import random
import struct
import subprocess
import zlib
from pathlib import Path

from programs.link_frames import DATA, DATA_END, HELLO_REPLY, RUNNING, Frame, decoded, hello, seed_of

PLAN, RUN = 0xC0FFEE01, 77
SEED = seed_of(PLAN, RUN)
SHORT_IN, LONG_IN, SHORT_OUT, LONG_OUT, LONGEST_IN = 6, 7, 8, 9, 10
LONG, LONGEST = 5000, 32768
RECEIVED, OFFERED, STARTED, SENT, FAILED, ANSWERED, ASKED = (f"event {i}" for i in range(7))
NO_ANSWER, PEER_STOPPED, RESTARTED, OTHER_RUN, OTHER_PLAN, OTHER_VERSION, WRONG_BOARD, CORRUPT = range(1, 9)


def tensor_out(channel: int, size: int) -> bytes:
    """Return what tests/c/link_answers.c sends on a channel."""
    return bytes((i * 7 + i // 256 + channel - SHORT_IN) % 256 for i in range(size))


def lines_of(program: Path, *commands: str | Frame) -> list[str]:
    written = (c if isinstance(c, str) else f"bytes {c.encoded(SEED).hex()}" for c in commands)
    stream = "".join(f"{command}\n" for command in written)
    done = subprocess.run([program], input=stream, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def says(program: Path, *commands: str | Frame) -> list[str | Frame]:
    """Return events and frames of a link that has met its peer in the run; what led there is left out."""
    begin = (f"join {RUN}", hello(HELLO_REPLY, RUNNING, RUN))
    skipped = len(lines_of(program, *begin))
    said: list[str | Frame] = []
    for line in lines_of(program, *begin, *commands)[skipped:]:
        said.extend(decoded(bytes.fromhex(line[4:]), SEED) if line.startswith("out ") else [line])
    return said


def kinds(said: list[str | Frame]) -> list[int | str]:
    return [entry.type if isinstance(entry, Frame) else entry for entry in said]


def answer(kind: int, channel: int, number: int = 0, offset: int = 0, payload: bytes = b"") -> Frame:
    """Return a frame that the program sends."""
    return Frame(kind, channel, number, offset, payload, to=5, source=2)


def pieces(tensor: bytes, size: int = 2048, channel: int = LONG_IN, number: int = 0) -> list[Frame]:
    """Return the frames of a tensor that needs several."""
    starts = range(0, len(tensor), size)
    frames = [Frame(DATA, channel, number, at // 64, tensor[at : at + size]) for at in starts]
    end = tensor[starts[-1] :] + struct.pack("<I", zlib.crc32(tensor))
    return [*frames[:-1], Frame(DATA_END, channel, number, starts[-1] // 64, end)]


def damaged(frame: Frame, at: int) -> str:
    """Return the command that hands over a frame of which a byte of the payload is wrong."""
    stream = bytearray(frame.encoded(SEED))
    stream[11 + at] ^= 0x10
    return f"bytes {stream.hex()}"


def low_crc(block: bytes) -> bytes:
    return struct.pack("<H", zlib.crc32(block) & 0xFFFF)


TENSOR = random.Random(1).randbytes(LONG)  # noqa: S311 (test data)


def confirm_of(blocks: int, bits: int, units: list[bytes]) -> bytes:
    crc = zlib.crc32(b"".join(struct.pack("<I", zlib.crc32(unit)) for unit in units))
    return struct.pack("<BHI", blocks, bits, crc)
