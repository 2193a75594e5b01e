"""frames.c on the host with sanitizers, against Python's CRC."""

import random
import struct
import subprocess
from pathlib import Path

import pytest

from programs.firmware_on_host import compile_host, frame


@pytest.fixture(scope="module")
def frames_filter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("frames"), "frames_filter", "frames.c")


def random_frames(seed: int, count: int) -> list[tuple[int, int, int, bytes]]:
    numbers = random.Random(seed)  # noqa: S311 (test data)
    lengths = (0, 1, 2, 255, 256, 1023, 1024)
    return [
        (numbers.randrange(255), numbers.randrange(256), numbers.randrange(256), numbers.randbytes(n))
        for n in (*lengths, *(numbers.randrange(1025) for _ in range(count)))
    ]


def decode(program: Path, stream: bytes) -> list[tuple[int, int, int, int, int, bytes]]:
    lines = subprocess.run([program, "decode"], input=stream, capture_output=True, check=True).stdout.decode()
    fields = [line.split(" ") for line in lines.splitlines()]
    return [(*map(int, f[:5]), bytes.fromhex(f[5])) for f in fields]  # type: ignore[misc]


def test_frames_are_encoded_as_documented(frames_filter: Path) -> None:
    frames = random_frames(1, 20)
    requests = b"".join(struct.pack("<BBBH", *f[:3], len(f[3])) + f[3] for f in frames)
    encoded = subprocess.run([frames_filter, "encode"], input=requests, capture_output=True, check=True).stdout
    assert encoded == b"".join(frame(*f) for f in frames)


def test_frames_between_garbage_are_decoded(frames_filter: Path) -> None:
    frames = random_frames(2, 20)
    noise = bytes(range(0xA5)) + bytes(range(0xA6, 256))
    stream = b"".join(noise + frame(*f) for f in frames)
    assert decode(frames_filter, stream) == [(*f[:3], len(f[3]), 1, f[3]) for f in frames]


def test_every_flipped_bit_is_detected(frames_filter: Path) -> None:
    good = frame(0x40, 1, 2, b"tinysplit")
    for bit in range(8, 8 * len(good)):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        # A longer length makes the receiver wait for more bytes, which the zeros give.
        outcomes = decode(frames_filter, bytes(bad) + bytes(1100))
        assert all(crc_good == 0 for _, _, _, _, crc_good, _ in outcomes)


def test_payloads_may_be_dropped_and_long_lengths_are_no_frames(frames_filter: Path) -> None:
    too_long = b"\xa5\x40\x00\x00" + struct.pack("<H", 1025)
    stream = frame(0xFF, 0, 7, b"dropped") + too_long + frame(0x01, 0, 8, b"")
    assert decode(frames_filter, stream) == [(0xFF, 0, 7, 7, 1, b""), (0x01, 0, 8, 0, 1, b"")]


def test_random_bytes_do_not_crash_the_decoder(frames_filter: Path) -> None:
    numbers = random.Random(3)  # noqa: S311 (test data)
    stream = bytes(0xA5 if numbers.random() < 0.1 else numbers.choice(b"\x00\x01\x04\xff") for _ in range(100_000))
    decode(frames_filter, stream)
