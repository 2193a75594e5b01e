"""frames.c and link.c on the host with sanitizers: against Python's CRC, and a pair of links with line errors."""

import random
import struct
import subprocess
from pathlib import Path

import pytest

from firmware_on_host import compile_host, frame


@pytest.fixture(scope="module")
def frames_filter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("frames"), "frames_filter", "frames.c")


@pytest.fixture(scope="module")
def link_pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("link"), "link_pair", "frames.c", "link.c")


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


def run_pair(program: Path, scenario: str, seed: int, size: int, per_million: int = 0) -> list[str]:
    command = [str(program), scenario, str(seed), str(size), str(per_million)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout.split()


@pytest.mark.parametrize("size", [1, 1023, 1024, 1025, 8192, 8193, 100_000, 300_000])
def test_a_tensor_takes_the_time_that_the_protocol_says(link_pair: Path, size: int) -> None:
    fields = run_pair(link_pair, "transfer", 1, size)
    frames = -(-size // 1024)
    numbers = dict(zip(fields[::2], fields[1::2], strict=False))
    assert int(numbers["repeats"]) == 0
    # The first byte of the last ACK leaves while the last byte of the tensor arrives: one step is shared.
    assert int(numbers["steps"]) == size + 8 * frames + 8 - 1
    assert fields[-2:] == [str(size + 8 * frames), str(8 * frames)]


@pytest.mark.parametrize("per_million", [20, 200])
def test_tensors_arrive_despite_line_errors(link_pair: Path, per_million: int) -> None:
    repeats = [int(run_pair(link_pair, "transfer", seed, 900 * seed, per_million)[1]) for seed in range(1, 31)]
    assert sum(repeats) > 0


@pytest.mark.parametrize("scenario", ["late", "lost_ack", "stop", "wrong_tag", "noise"])
def test_links_recover(link_pair: Path, scenario: str) -> None:
    for seed, size in enumerate((1, 700, 1024, 5000, 8192), start=1):
        run_pair(link_pair, scenario, seed, size)


@pytest.mark.parametrize("scenario", ["late", "stop", "noise"])
def test_links_recover_despite_line_errors(link_pair: Path, scenario: str) -> None:
    for seed in range(1, 9):
        run_pair(link_pair, scenario, seed, 2500 * seed, 20)


def test_a_sender_gives_up_in_time(link_pair: Path) -> None:
    for size in (1, 20_000):
        run_pair(link_pair, "dead", 1, size)
