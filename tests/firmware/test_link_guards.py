"""Crafted frames: every bit of every check of a link counts, and it obeys no header that no board would send."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from programs.firmware_on_host import LINK_SOURCES, compile_host
from programs.link_end import (
    ANSWERED,
    CORRUPT,
    FAILED,
    LONG,
    LONG_IN,
    LONG_OUT,
    NO_ANSWER,
    PLAN,
    RECEIVED,
    RUN,
    SEED,
    SENT,
    SHORT_IN,
    SHORT_OUT,
    STARTED,
    TENSOR,
    answer,
    confirm_of,
    damaged,
    kinds,
    low_crc,
    pieces,
    says,
    tensor_out,
)
from programs.link_frames import (
    ACK,
    CONFIRM,
    DAMAGED,
    DATA,
    DATA_END,
    GRANT,
    HEADER_BYTES,
    HELLO,
    HELLO_REPLY,
    MISSING,
    OFFER,
    QUERY,
    RUNNING,
    WAIT,
    Frame,
    hello,
    seed_of,
)

SENDS_SHORT: tuple[str | Frame, ...] = (Frame(GRANT, SHORT_OUT, 4), f"send {SHORT_OUT} 4 56")
SENDS_LONG: tuple[str | Frame, ...] = (Frame(GRANT, LONG_OUT), f"send {LONG_OUT} 0 {LONG}")
SHORT = Frame(DATA, SHORT_IN, payload=TENSOR[:56])


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("guards"), "link_answers", *LINK_SOURCES)


def flips(stream: bytes, first: int, behind: int) -> Iterator[bytes]:
    """Yield the stream with each of its bits from byte `first` to `behind` changed, one at a time."""
    for bit in range(8 * first, 8 * behind):
        changed = bytearray(stream)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def flipped(frame: Frame, first: int, behind: int) -> list[str]:
    """Return the commands that hand over a frame with each of these bits changed."""
    return [f"bytes {each.hex()}" for each in flips(frame.encoded(SEED), first, behind)]


def test_every_bit_of_a_header_and_of_its_check_counts(program: Path) -> None:
    right = Frame(ACK, SHORT_OUT, 4)
    wrong = flipped(right, 1, HEADER_BYTES)
    assert len(wrong) == 80
    assert kinds(says(program, *SENDS_SHORT, *wrong, right)) == [f"{STARTED} 8 0", DATA, f"{SENT} 8 0"]


def test_every_bit_of_data_and_of_their_crc_counts(program: Path) -> None:
    wrong = flipped(SHORT, HEADER_BYTES, HEADER_BYTES + 56 + 4)
    assert len(wrong) == 480
    said = says(program, f"accept {SHORT_IN} 0", *wrong, SHORT)
    assert kinds(said) == [GRANT, *[DAMAGED] * 480, f"{RECEIVED} 6 0", ACK]


def test_every_bit_of_the_crc_of_a_note_counts(program: Path) -> None:
    right = Frame(MISSING, SHORT_OUT, 4, payload=b"\x01")
    wrong = flipped(right, HEADER_BYTES, HEADER_BYTES + 1 + 4)
    assert kinds(says(program, *SENDS_SHORT, *wrong)) == [f"{STARTED} 8 0", DATA]
    assert kinds(says(program, *SENDS_SHORT, *wrong, right)) == [f"{STARTED} 8 0", DATA, DATA]


def test_every_bit_of_the_crc_of_a_tensor_counts(program: Path) -> None:
    for crc in flips(struct.pack("<I", zlib.crc32(TENSOR)), 0, 4):
        *rest, end = pieces(TENSOR)
        wrong = replace(end, payload=end.payload[:-4] + crc)
        assert says(program, f"accept {LONG_IN} 0", *rest, wrong)[1:] == [answer(MISSING, LONG_IN)], crc.hex()


def test_every_bit_of_a_confirmation_counts(program: Path) -> None:
    right = confirm_of(1, 1, [TENSOR[:56]])
    broken = damaged(SHORT, 57)  # the CRC itself
    wrong = [Frame(CONFIRM, SHORT_IN, payload=each) for each in flips(right, 3, 7)]
    steps = [step for each in wrong for step in (broken, each, f"prefix {SHORT_IN}")]
    said = says(program, f"accept {SHORT_IN} 0", *steps, broken, Frame(CONFIRM, SHORT_IN, payload=right))
    assert [line for line in said if isinstance(line, str)] == ["prefix 0"] * 32
    last = says(program, f"accept {SHORT_IN} 0", broken, Frame(CONFIRM, SHORT_IN, payload=right), f"prefix {SHORT_IN}")
    assert last[-1] == "prefix 56"


def test_a_confirmation_counts_for_the_blocks_that_it_names(program: Path) -> None:
    broken = damaged(Frame(DATA, LONG_IN, 0, 0, TENSOR[:256]), 256)
    confirm = Frame(CONFIRM, LONG_IN, payload=confirm_of(4, 0b0111, [TENSOR[at : at + 64] for at in (0, 64, 128)]))
    assert says(program, f"accept {LONG_IN} 0", broken, confirm, f"prefix {LONG_IN}")[-1] == "prefix 192"


def test_every_bit_of_the_crc_of_a_unit_counts(program: Path) -> None:
    units = [tensor_out(LONG_OUT, LONG)[at : at + 128] for at in range(0, 2048, 128)]
    right = [low_crc(unit) for unit in units]
    for crc in flips(right[3], 0, 2):
        report = Frame(DAMAGED, LONG_OUT, payload=b"\x20" + b"".join([*right[:3], crc, *right[4:]]))
        confirm = confirm_of(32, 0xFFFF & ~(1 << 3), [unit for unit in units if unit is not units[3]])
        assert says(program, *SENDS_LONG, report)[4] == answer(CONFIRM, LONG_OUT, payload=confirm), crc.hex()


@pytest.mark.parametrize("bit", range(64))
def test_every_bit_of_plan_and_run_counts(bit: int, program: Path) -> None:
    plan, run = PLAN ^ (1 << bit & 0xFFFFFFFF), RUN ^ (1 << bit >> 32)
    other = "bytes " + Frame(ACK, SHORT_OUT, 4).encoded(seed_of(plan, run)).hex()
    assert kinds(says(program, *SENDS_SHORT, other)) == [f"{STARTED} 8 0", DATA]


def headers_of_nobody() -> Iterator[tuple[str, Frame]]:
    """Yield frames with right checks that no board of this version, wired as planned, sends."""
    for kind in (0x00, 0x3F, 0x4C, 0xC5, 0xFF):
        yield f"type {kind:02x}", Frame(kind, SHORT_OUT, 4)
    for kind in (ACK, GRANT, WAIT):
        yield f"{kind:02x} with a payload", Frame(kind, SHORT_OUT, 4 + (kind == GRANT), payload=b"\0")
    for kind in (OFFER, QUERY):
        yield f"{kind:02x} with a payload", Frame(kind, SHORT_IN, payload=b"\0")
        yield f"{kind:02x} to a sender", Frame(kind, SHORT_OUT, 4)
    for kind in (ACK, GRANT, WAIT, MISSING):
        yield f"{kind:02x} to a receiver", Frame(kind, SHORT_IN)
    yield "data to a sender", Frame(DATA, SHORT_OUT, 4, payload=TENSOR[:56])
    yield "no data", Frame(DATA, LONG_IN)
    for size in range(5):
        yield f"an end of {size} bytes", Frame(DATA_END, LONG_IN, payload=bytes(size))
    yield "more than a frame", Frame(DATA, LONG_IN, payload=TENSOR[:2112])
    yield "an end of more than a frame", Frame(DATA_END, LONG_IN, offset=46, payload=TENSOR[2944:] + bytes(4))
    yield "a part of a block", Frame(DATA, LONG_IN, payload=TENSOR[:100])
    yield "behind the tensor", Frame(DATA, LONG_IN, offset=79, payload=TENSOR[:64])
    yield "far behind the tensor", Frame(DATA, LONG_IN, offset=0xFFFF, payload=TENSOR[:64])
    for size in (37, 255, 256, 0xFFF0):
        yield f"holes of {size} bytes", Frame(MISSING, LONG_OUT, payload=b"\xff" * size)
        yield f"damage of {size} bytes", Frame(DAMAGED, LONG_OUT, payload=b"\x20" + b"\xff" * (size - 1))
        yield f"a greeting of {size} bytes", Frame(HELLO, payload=bytes([2]) * size)
    for size in (0, 1, 3, 31, 34, 35):
        yield f"damage of {size} bytes", Frame(DAMAGED, LONG_OUT, payload=(b"\x20" + b"\xff" * 34)[:size])
    yield "no block is damaged", Frame(DAMAGED, LONG_OUT, payload=bytes(3))
    yield "damage behind what has left", Frame(DAMAGED, LONG_OUT, offset=79, payload=b"\x02" + bytes(4))
    yield "an empty greeting", Frame(HELLO)


def change_nothing(program: Path, *frames: Frame) -> bool:
    """Whether a link that sends and receives says and does the same without these frames."""
    before: tuple[str | Frame, ...] = (f"accept {LONG_IN} 0", f"accept {SHORT_IN} 0", *SENDS_SHORT, *SENDS_LONG)
    after: tuple[str | Frame, ...] = (
        f"prefix {LONG_IN}",
        *pieces(TENSOR),
        SHORT,
        Frame(ACK, SHORT_OUT, 4),
        Frame(ACK, LONG_OUT),
    )
    return says(program, *before, *frames, *after) == says(program, *before, *after)


@pytest.mark.parametrize(
    "frame", [pytest.param(frame, id=name.replace(" ", "_")) for name, frame in headers_of_nobody()]
)
def test_a_header_that_no_board_sends_changes_nothing(frame: Frame, program: Path) -> None:
    assert change_nothing(program, frame)


def test_every_bit_of_the_addresses_counts(program: Path) -> None:
    others = [Frame(ACK, SHORT_OUT, 4, to=to, source=source) for to in range(16) for source in range(16)]
    assert change_nothing(program, *(each for each in others if (each.to, each.source) != (2, 5)))
    assert not change_nothing(program, Frame(ACK, SHORT_OUT, 4))


@pytest.mark.parametrize("kind", [0x3F, 0x4C])
def test_a_type_that_nobody_has_is_no_sign_of_life(kind: int, program: Path) -> None:
    silent = (*SENDS_SHORT, "tick 1000")
    said = says(program, *silent, Frame(kind, SHORT_OUT, 4))
    assert f"{FAILED} 255 {NO_ANSWER}" in said
    assert f"{ANSWERED} 255 0" not in said
    assert f"{ANSWERED} 255 0" in says(program, *silent, Frame(WAIT, SHORT_OUT, 4))


@pytest.mark.parametrize(
    "frame",
    [
        Frame(CONFIRM, SHORT_IN, payload=confirm_of(1, 1, [TENSOR[:56]]) + b"\0"),
        Frame(CONFIRM, SHORT_IN, payload=confirm_of(1, 1, [TENSOR[:56]])[:-1]),
        Frame(CONFIRM, SHORT_IN, payload=confirm_of(0, 0, [])),
        Frame(CONFIRM, SHORT_IN, payload=confirm_of(33, 1, [TENSOR[:56]])),
        Frame(CONFIRM, SHORT_IN, offset=1, payload=confirm_of(1, 1, [TENSOR[:56]])),
        Frame(CONFIRM, SHORT_IN, payload=confirm_of(2, 1, [TENSOR[:56]])),
        Frame(CONFIRM, SHORT_IN, 1, payload=confirm_of(1, 1, [TENSOR[:56]])),
    ],
    ids=["long", "short", "none", "many", "begins_behind", "ends_behind", "number"],
)
def test_other_confirmations_confirm_nothing(frame: Frame, program: Path) -> None:
    said = says(program, f"accept {SHORT_IN} 0", damaged(SHORT, 57), frame, f"prefix {SHORT_IN}", SHORT)
    assert said[2:] == ["prefix 0", f"{RECEIVED} 6 0", answer(ACK, SHORT_IN)]


def test_a_confirmation_of_more_blocks_than_a_frame_has_confirms_nothing(program: Path) -> None:
    broken = damaged(Frame(DATA, LONG_IN, payload=TENSOR[:2048]), 2048)
    units = [TENSOR[at : at + 128] for at in range(0, 2048, 128)]
    for blocks, prefix in ((33, 0), (32, 2048)):
        confirm = Frame(CONFIRM, LONG_IN, payload=confirm_of(blocks, 0xFFFF, units))
        assert says(program, f"accept {LONG_IN} 0", broken, confirm, f"prefix {LONG_IN}")[-1] == f"prefix {prefix}"


def test_a_tensor_in_several_frames_is_no_tensor_in_one(program: Path) -> None:
    """A DATA_END that comes first has a good CRC, and the frames before it are missing."""
    *_, end = pieces(TENSOR)
    assert kinds(says(program, f"accept {LONG_IN} 0", end))[1:] == [MISSING]


def test_the_acknowledgement_of_what_has_not_left_is_a_failure(program: Path) -> None:
    assert says(program, f"send {SHORT_OUT} 4 56", Frame(ACK, SHORT_OUT, 4))[-1] == f"{FAILED} 8 {CORRUPT}"


def test_frames_of_a_run_that_was_left_change_nothing(program: Path) -> None:
    assert says(program, "leave", Frame(OFFER, SHORT_IN), Frame(GRANT, SHORT_OUT)) == []


def test_a_frame_that_a_lost_byte_runs_into_is_found(program: Path) -> None:
    shortened, right = SHORT.encoded(SEED)[:-1], Frame(ACK, SHORT_OUT, 4).encoded(SEED)
    said = says(program, f"accept {SHORT_IN} 0", *SENDS_SHORT, f"bytes {(shortened + right).hex()}")
    assert f"{SENT} 8 0" in said


def test_a_header_cut_off_by_silence_is_no_damaged_frame(program: Path) -> None:
    cut = f"bytes {SHORT.encoded(SEED)[:9].hex()}"
    said = says(program, f"accept {SHORT_IN} 0", SHORT, f"accept {SHORT_IN} 1", cut, "tick 6")
    assert kinds(said) == [GRANT, f"{RECEIVED} 6 0", ACK, GRANT]


def test_a_greeting_of_another_length_is_ignored(program: Path) -> None:
    right = hello(HELLO_REPLY, RUNNING, RUN + 1)
    for payload in (right.payload[:-1], right.payload + b"\0"):
        assert says(program, replace(right, payload=payload)) == []
