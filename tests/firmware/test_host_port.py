"""The firmware's host port, compiled for the host with AddressSanitizer: requests of every length, range and type."""

import struct
import subprocess
from pathlib import Path

import pytest

from firmware_on_host import compile_host, frame
from tinysplit_hil.frames import Frame, FrameDecoder
from tinysplit_hil.protocol import BoardError, ErrorCode, Identity, MessageType

REPLY = 0x80
LOAD, READ_OUTPUT, READ_TIMES = MessageType.LOAD, MessageType.READ_OUTPUT, MessageType.READ_TIMES


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("host_port"), "host_port", "host.c", "frames.c")


def ask(port: Path, *requests: tuple[int, bytes]) -> list[Frame]:
    """Return what the board sends to these requests, which have the sequences 1, 2, ..."""
    stream = b"".join(frame(kind, 0, sequence, payload) for sequence, (kind, payload) in enumerate(requests, 1))
    done = subprocess.run([port], input=stream, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return list(FrameDecoder().feed(done.stdout))


def error(sequence: int, code: ErrorCode, detail: int) -> Frame:
    return Frame(MessageType.ERROR, sequence, BoardError(code, detail).pack())


def load(offset: int, size: int) -> tuple[int, bytes]:
    return LOAD, struct.pack("<I", offset) + bytes(size)


@pytest.mark.parametrize("size", [253, 254, 300, 1024])
def test_a_request_that_is_too_long_is_refused_and_not_stored(port: Path, size: int) -> None:
    [refused, identity] = ask(port, (LOAD, bytes(size)), (MessageType.IDENTIFY, b""))
    assert refused == error(1, ErrorCode.BAD_LENGTH, LOAD)
    assert Identity.unpack(identity.payload) == Identity(1, 0, True, 0, 0x12345678, 64_000_000, 64_000_000, 300, 260)


def test_the_longest_load_is_taken(port: Path) -> None:
    assert ask(port, load(0, 248), load(52, 248)) == [Frame(LOAD | REPLY, 1), Frame(LOAD | REPLY, 2)]


@pytest.mark.parametrize(("offset", "size"), [(53, 248), (300, 1), (301, 0), (2**32 - 4, 8)])
def test_a_load_beyond_the_input_is_refused(port: Path, offset: int, size: int) -> None:
    assert ask(port, load(offset, size)) == [error(1, ErrorCode.BAD_RANGE, LOAD)]


@pytest.mark.parametrize(
    ("offset", "length", "fits"),
    [(0, 252, True), (8, 252, True), (260, 0, True), (0, 253, False), (9, 252, False), (261, 0, False)],
)
def test_parts_of_the_output(port: Path, offset: int, length: int, fits: bool) -> None:
    [answer] = ask(port, (READ_OUTPUT, struct.pack("<IH", offset, length)))
    refused = error(1, ErrorCode.BAD_RANGE, READ_OUTPUT)
    assert answer == (Frame(READ_OUTPUT | REPLY, 1, bytes(length)) if fits else refused)


@pytest.mark.parametrize(("first", "records"), [(0, 2), (1, 1), (2, 0)])
def test_records_from_one_on(port: Path, first: int, records: int) -> None:
    [answer, refused] = ask(port, (READ_TIMES, struct.pack("<H", first)), (READ_TIMES, struct.pack("<H", 3)))
    assert answer == Frame(READ_TIMES | REPLY, 1, bytes(8 * records))
    assert refused == error(2, ErrorCode.BAD_RANGE, READ_TIMES)


@pytest.mark.parametrize("kind", MessageType)
def test_other_lengths_than_a_type_has_are_refused(port: Path, kind: MessageType) -> None:
    if kind in (MessageType.DONE, MessageType.ERROR):
        assert ask(port, (kind, b"")) == [error(1, ErrorCode.UNKNOWN_TYPE, kind)]
        return
    right = {LOAD: range(4, 253), READ_OUTPUT: [6], READ_TIMES: [2]}.get(kind, [0])
    for size in sorted({0, 1, 2, 3, 5, 6, 7, 252, 253} - set(right)):
        assert ask(port, (kind, bytes(size))) == [error(1, ErrorCode.BAD_LENGTH, kind)]


def test_a_damaged_request_is_asked_for_again(port: Path) -> None:
    good = frame(MessageType.IDENTIFY, 0, 9, b"")
    done = subprocess.run([port], input=good[:-1] + bytes([good[-1] ^ 1]), capture_output=True, check=True)
    assert list(FrameDecoder().feed(done.stdout)) == [error(9, ErrorCode.BAD_CRC, MessageType.IDENTIFY)]
