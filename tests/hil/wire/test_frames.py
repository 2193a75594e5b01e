import subprocess
from binascii import crc_hqx
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinysplit_hil.wire.frames import SYNC, Frame, FrameDecoder, crc

ROOT = Path(__file__).parents[3]
FRAMES = st.builds(Frame, st.integers(0, 255), st.integers(0, 255), st.binary(max_size=300), tag=st.integers(0, 255))


def test_crc_is_ccitt_false() -> None:
    assert crc(b"123456789") == 0x29B1  # the check value in CRC catalogues


def ccitt_false(data: bytes) -> int:
    """Return CRC-16/CCITT-FALSE, worked out bit by bit."""
    register = 0xFFFF
    for byte in data:
        register ^= byte << 8
        for _ in range(8):
            register = (register << 1) ^ (0x1021 if register & 0x8000 else 0)
            register &= 0xFFFF
    return register


@given(st.binary(max_size=40))
def test_crc_is_that_of_its_definition(data: bytes) -> None:
    assert crc(data) == ccitt_false(data)


def test_frame_by_hand() -> None:
    expected = ccitt_false(bytes.fromhex("0100070000")).to_bytes(2, "little")
    assert Frame(0x01, 7).encode() == bytes.fromhex("a50100070000") + expected


def test_every_flipped_bit_is_detected() -> None:
    good = Frame(0x40, 2, b"tinysplit", tag=1)
    for bit in range(8, 8 * len(good.encode())):
        bad = bytearray(good.encode())
        bad[bit // 8] ^= 1 << bit % 8
        # A longer length makes the decoder wait for more bytes, which the zeros give.
        assert list(FrameDecoder().feed(bytes(bad) + bytes(70_000) + good.encode())) == [good], bit


def test_layout_with_payload() -> None:
    encoded = Frame(0x40, 255, b"\x01\x02\x03", tag=9).encode()
    assert encoded[:9] == bytes([SYNC, 0x40, 9, 255, 3, 0, 1, 2, 3])
    assert len(encoded) == 8 + 3
    assert int.from_bytes(encoded[-2:], "little") == crc_hqx(encoded[1:-2], 0xFFFF)


@given(st.lists(FRAMES, max_size=4), st.integers(1, 50))
def test_decodes_what_was_encoded_in_any_pieces(frames: list[Frame], step: int) -> None:
    stream = b"".join(frame.encode() for frame in frames)
    decoder = FrameDecoder()
    decoded = [f for i in range(0, len(stream), step) for f in decoder.feed(stream[i : i + step])]
    assert decoded == frames


@given(FRAMES, st.integers(1, 7))
def test_an_incomplete_frame_is_known_and_given_up(frame: Frame, missing: int) -> None:
    decoder = FrameDecoder()
    cut = frame.encode()[:-missing]
    assert list(decoder.feed(cut)) == []
    assert decoder.is_inside_frame
    assert list(decoder.give_up()) == []
    assert not decoder.is_inside_frame
    assert list(decoder.feed(frame.encode())) == [frame]


@given(st.binary(max_size=40), FRAMES)
def test_resynchronises_after_garbage(garbage: bytes, frame: Frame) -> None:
    decoder = FrameDecoder(largest_payload_bytes=300)
    # a false sync byte in the garbage may consume frames up to its length, but none after it
    decoded = list(decoder.feed(garbage + frame.encode() * 60))
    assert decoded[-1] == frame
    assert all(f == frame for f in decoded)


def test_damaged_frame_is_dropped_and_the_next_one_found() -> None:
    damaged = bytearray(Frame(0x81, 1, b"abcdef").encode())
    damaged[8] ^= 1
    good = Frame(0x82, 2)
    assert list(FrameDecoder().feed(bytes(damaged) + good.encode())) == [good]


def test_frame_with_an_invalid_length_is_dropped() -> None:
    good = Frame(0x82, 2)
    header_of_huge_frame = bytes([SYNC, 0x81, 0, 1, 0xFF, 0xFF])
    assert list(FrameDecoder(252).feed(header_of_huge_frame + good.encode())) == [good]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program with the firmware's frames.c, compiled for the host, that sends back every frame."""
    program = tmp_path_factory.mktemp("frames") / "echo"
    sources = [ROOT / "tests" / "c" / "frames_echo.c", ROOT / "firmware" / "common" / "frames.c"]
    warnings = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    subprocess.run(["gcc", *warnings, "-I", ROOT / "firmware" / "common", "-o", program, *sources], check=True)
    return program


def echoed(program: Path, stream: bytes) -> list[Frame]:
    echoed = subprocess.run([program], input=stream, capture_output=True, check=True).stdout
    decoder = FrameDecoder()
    frames = list(decoder.feed(echoed))
    assert b"".join(frame.encode() for frame in frames) == echoed
    return frames


def test_firmware_reads_and_writes_the_same_frames(echo: Path) -> None:
    random = Random(0)  # noqa: S311 (test data)
    sizes = [0, 1, 2, 252, 1023, 1024, *(random.randrange(1025) for _ in range(50))]
    frames = [Frame(random.randrange(256), i % 256, random.randbytes(size), i % 3) for i, size in enumerate(sizes)]
    assert echoed(echo, b"".join(frame.encode() for frame in frames)) == frames


def test_firmware_drops_damaged_frames(echo: Path) -> None:
    good = Frame(0x05, 2, b"\xa5\xa5 payload")
    damaged = bytearray(good.encode())
    damaged[-1] ^= 0x10
    assert echoed(echo, b"noise" + bytes(damaged) + good.encode()) == [good]
