"""One end of a link, frame by frame, as docs/understand/protocol.md says: its answers, and what it calls a failure."""

import random
import struct
import zlib
from pathlib import Path

import pytest

from programs.firmware_on_host import LINK_SOURCES, compile_host
from programs.link_end import (
    ANSWERED,
    ASKED,
    CORRUPT,
    FAILED,
    LONG,
    LONG_IN,
    LONG_OUT,
    LONGEST,
    LONGEST_IN,
    NO_ANSWER,
    OFFERED,
    OTHER_PLAN,
    OTHER_RUN,
    OTHER_VERSION,
    PEER_STOPPED,
    PLAN,
    RECEIVED,
    RESTARTED,
    RUN,
    SEED,
    SENT,
    SHORT_IN,
    SHORT_OUT,
    STARTED,
    TENSOR,
    WRONG_BOARD,
    answer,
    confirm_of,
    damaged,
    kinds,
    lines_of,
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
    HELLO,
    HELLO_REPLY,
    JOINING,
    MISSING,
    OFFER,
    QUERY,
    RUNNING,
    STARTING,
    STOPPED,
    WAIT,
    Frame,
    decoded,
    hello,
    seed_of,
)
from tinysplit.timing.frames import frame_limit


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("answers"), "link_answers", *LINK_SOURCES)


def test_the_crc_is_that_of_zlib(program: Path) -> None:
    for size in (1, 2, 3, 64, 1000):
        block = TENSOR[:size]
        assert lines_of(program, f"crc {block.hex()}") == [str(zlib.crc32(block))]


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 2048, 4095])
def test_zeros_continue_a_crc(program: Path, count: int) -> None:
    register = 0x12345678
    expected = zlib.crc32(bytes(count), register ^ 0xFFFFFFFF) ^ 0xFFFFFFFF
    assert lines_of(program, f"zeros {register} {count}") == [str(expected)]


def test_a_grant_and_a_tensor_of_one_frame(program: Path) -> None:
    data = tensor_out(SHORT_OUT, 56)
    said = says(program, Frame(GRANT, SHORT_OUT, 4), f"send {SHORT_OUT} 4 56", Frame(ACK, SHORT_OUT, 4))
    assert said == [f"{STARTED} 8 0", answer(DATA, SHORT_OUT, 4, payload=data), f"{SENT} 8 0"]
    received = says(program, f"accept {SHORT_IN} 4", Frame(DATA, SHORT_IN, 4, payload=data), f"memory {SHORT_IN}")
    assert received == [answer(GRANT, 6, 4), f"{RECEIVED} 6 0", answer(ACK, 6, 4), f"memory {data.hex()}"]


def test_an_acknowledgement_says_how_many_bytes_left_before_it(program: Path) -> None:
    arrives = Frame(DATA, SHORT_IN, 4, payload=TENSOR[:56])
    said = says(program, f"accept {SHORT_IN} 4", f"accept {LONG_IN} 0", "left 40", arrives, Frame(QUERY, SHORT_IN, 4))
    assert [frame for frame in said if isinstance(frame, Frame) and frame.type == ACK] == [
        answer(ACK, SHORT_IN, 4, offset=40),
        answer(ACK, SHORT_IN, 4),  # repeated: the sender has waited for a question
    ]
    begin = (Frame(GRANT, SHORT_OUT, 4), f"send {SHORT_OUT} 4 56")
    for acknowledgement in (Frame(ACK, SHORT_OUT, 4, offset=300), Frame(GRANT, SHORT_OUT, 5, offset=300)):
        assert says(program, *begin, acknowledgement)[-1] == f"{SENT} 8 {256 * 300}"


def test_a_tensor_of_several_frames_ends_with_its_crc(program: Path) -> None:
    data = tensor_out(LONG_OUT, LONG)
    end = data[4096:] + struct.pack("<I", zlib.crc32(data))
    said = says(program, Frame(GRANT, LONG_OUT, 0), f"send {LONG_OUT} 0 {LONG}")
    assert said[1:] == [
        answer(DATA, LONG_OUT, 0, 0, data[:2048]),
        answer(DATA, LONG_OUT, 0, 32, data[2048:4096]),
        answer(DATA_END, LONG_OUT, 0, 64, end),
    ]
    received = says(program, f"accept {LONG_IN} 0", *pieces(TENSOR), f"memory {LONG_IN}")
    assert received[1:] == [f"{RECEIVED} 7 0", answer(ACK, LONG_IN), f"memory {TENSOR.hex()}"]


def test_only_what_is_ready_leaves(program: Path) -> None:
    begin = (Frame(GRANT, LONG_OUT, 0), f"send {LONG_OUT} 0 130")
    said = says(program, *begin, f"extend {LONG_OUT} 256", f"extend {LONG_OUT} {LONG}")
    frames = [entry for entry in said if isinstance(entry, Frame)]
    assert [(f.type, f.offset, len(f.payload)) for f in frames] == [
        (DATA, 0, 128),
        (DATA, 2, 128),
        (DATA, 4, 2048),
        (DATA, 36, 2048),
        (DATA_END, 68, LONG - 68 * 64 + 4),
    ]
    assert frames[-1].payload[-4:] == struct.pack("<I", zlib.crc32(tensor_out(LONG_OUT, LONG)))


@pytest.mark.parametrize("share", [1, 128, 200, 255])
def test_frames_of_a_streamed_tensor_are_as_long_as_the_model_says(tmp_path: Path, share: int) -> None:
    program = compile_host(tmp_path, "link_answers", *LINK_SOURCES, defines=(f"FRAME_SHARE={share}",))
    said = says(program, Frame(GRANT, LONG_OUT, 0), f"send {LONG_OUT} 0 {LONG}")
    frames = [entry for entry in said if isinstance(entry, Frame)]
    lengths = [len(frame.payload) - 4 * (frame.type == DATA_END) for frame in frames]
    lefts = [LONG - sum(lengths[:i]) for i in range(len(lengths))]
    assert lengths == [min(frame_limit(left, share), left) for left in lefts]
    assert sum(lengths) == LONG


def test_the_prefix_counts_checked_bytes_without_a_gap(program: Path) -> None:
    first, second, end = pieces(TENSOR)
    commands = (
        f"accept {LONG_IN} 0",
        first,
        f"prefix {LONG_IN}",
        end,
        f"prefix {LONG_IN}",
        second,
        f"prefix {LONG_IN}",
    )
    prefixes = [line for line in says(program, *commands) if isinstance(line, str) and line.startswith("prefix")]
    assert prefixes == ["prefix 2048", "prefix 2048", f"prefix {LONG}"]


def test_a_hole_is_answered_at_once_and_sent_again(program: Path) -> None:
    first, _, end = pieces(TENSOR)
    said = says(program, f"accept {LONG_IN} 0", first, "bytes " + end.encoded(SEED)[:11].hex())
    assert said[1:] == [answer(MISSING, LONG_IN, 0, 32, b"\xff" * 4)]
    sent = says(
        program, Frame(GRANT, LONG_OUT, 0), f"send {LONG_OUT} 0 {LONG}", Frame(MISSING, LONG_OUT, 0, 32, b"\x06")
    )
    data = tensor_out(LONG_OUT, LONG)
    assert sent[4:] == [
        answer(DATA_END, LONG_OUT, 0, 33, data[33 * 64 : 35 * 64] + struct.pack("<I", zlib.crc32(data)))
    ]


def test_a_long_hole_is_named_by_several_frames(program: Path) -> None:
    _, end = pieces(bytes(LONGEST), LONGEST - 64, LONGEST_IN)
    said = says(program, f"accept {LONGEST_IN} 0", end)
    assert said[1:] == [
        answer(MISSING, LONGEST_IN, 0, 0, b"\xff" * 32),
        answer(MISSING, LONGEST_IN, 0, 256, b"\xff" * 31 + b"\x7f"),
    ]


def test_a_damaged_frame_is_answered_by_the_crcs_of_its_blocks(program: Path) -> None:
    frame = Frame(DATA, LONG_IN, 0, 0, TENSOR[:256])
    arrived = bytearray(TENSOR[:256])
    arrived[70] ^= 0x10
    crcs = b"".join(low_crc(bytes(arrived[i : i + 64])) for i in range(0, 256, 64))
    said = says(program, f"accept {LONG_IN} 0", damaged(frame, 70), f"prefix {LONG_IN}")
    assert said[1:] == [answer(DAMAGED, LONG_IN, payload=b"\x04" + crcs), "prefix 0"]


def test_a_frame_cut_off_by_silence_counts_as_damaged(program: Path) -> None:
    stream = Frame(DATA, SHORT_IN, 0, payload=TENSOR[:56]).encoded(SEED)
    said = says(program, f"accept {SHORT_IN} 0", f"bytes {stream[:-1].hex()}", "tick 6")
    assert said[1:] == [answer(DAMAGED, SHORT_IN, payload=b"\x01" + low_crc(TENSOR[:56]))]


def test_the_sender_confirms_what_arrived_and_repeats_the_rest(program: Path) -> None:
    data = tensor_out(LONG_OUT, LONG)
    units = [data[i : i + 128] for i in range(0, 2048, 128)]
    wrong = [low_crc(unit) if i != 5 else b"\0\0" for i, unit in enumerate(units)]
    report = Frame(DAMAGED, LONG_OUT, 0, 0, b"\x20" + b"".join(wrong))
    said = says(program, Frame(GRANT, LONG_OUT, 0), f"send {LONG_OUT} 0 {LONG}", report)
    right = [unit for i, unit in enumerate(units) if i != 5]
    end = data[640:768] + struct.pack("<I", zlib.crc32(data))
    assert said[4:] == [
        answer(CONFIRM, LONG_OUT, payload=confirm_of(32, 0xFFFF & ~(1 << 5), right)),
        answer(DATA_END, LONG_OUT, 0, 10, end),
    ]


def test_a_confirmed_tensor_is_whole(program: Path) -> None:
    frame = Frame(DATA, SHORT_IN, 0, payload=TENSOR[:56])
    broken = damaged(frame, 57)  # the CRC itself
    confirm = Frame(CONFIRM, SHORT_IN, payload=confirm_of(1, 1, [TENSOR[:56]]))
    end = Frame(DATA_END, SHORT_IN, payload=TENSOR[:56] + struct.pack("<I", zlib.crc32(TENSOR[:56])))
    said = says(program, f"accept {SHORT_IN} 0", broken, confirm, f"prefix {SHORT_IN}", end, f"memory {SHORT_IN}")
    assert said[2:] == ["prefix 56", f"{RECEIVED} 6 0", answer(ACK, SHORT_IN), f"memory {TENSOR[:56].hex()}"]


def test_the_end_of_a_tensor_whose_crc_was_lost_comes_again(program: Path) -> None:
    *rest, end = pieces(TENSOR)
    broken = damaged(end, LONG - 4096)
    units = [TENSOR[at : at + 64] for at in range(4096, LONG, 64)]
    confirm = Frame(CONFIRM, LONG_IN, 0, 64, confirm_of(15, 0x7FFF, units))
    said = says(program, f"accept {LONG_IN} 0", *rest, broken, confirm, Frame(QUERY, LONG_IN), end)
    assert said[2:] == [answer(MISSING, LONG_IN, 0, 72, b"\x40"), f"{RECEIVED} 7 0", answer(ACK, LONG_IN)]


def test_a_confirmation_of_other_bytes_is_ignored(program: Path) -> None:
    broken = damaged(Frame(DATA, SHORT_IN, 0, payload=TENSOR[:56]), 3)
    confirm = Frame(CONFIRM, SHORT_IN, payload=confirm_of(1, 1, [TENSOR[:56]]))
    assert says(program, f"accept {SHORT_IN} 0", broken, confirm, f"prefix {SHORT_IN}")[2:] == ["prefix 0"]


def test_whole_blocks_are_not_written_again(program: Path) -> None:
    first, second, end = pieces(TENSOR)
    commands = (f"accept {LONG_IN} 0", first, damaged(first, 9), second, end, f"memory {LONG_IN}")
    assert says(program, *commands)[-1] == f"memory {TENSOR.hex()}"


def test_a_tensor_that_does_not_match_its_crc_is_asked_for_again_and_then_fails(program: Path) -> None:
    frames = pieces(TENSOR)
    frames[-1] = Frame(DATA_END, LONG_IN, 0, 64, TENSOR[4096:] + b"1234")
    everything = answer(MISSING, LONG_IN)
    assert says(program, f"accept {LONG_IN} 0", *frames * 4)[1:] == [*[everything] * 3, f"{FAILED} 7 {CORRUPT}"]
    sent = says(program, Frame(GRANT, LONG_OUT, 0), f"send {LONG_OUT} 0 {LONG}", Frame(MISSING, LONG_OUT, 0))
    assert [f.offset for f in sent[4:] if isinstance(f, Frame)] == [0, 16, 32, 48, 64]


def test_repetitions_have_a_limit(program: Path) -> None:
    begin = (Frame(GRANT, SHORT_OUT, 0), f"send {SHORT_OUT} 0 56")
    missing = Frame(MISSING, SHORT_OUT, 0, 0, b"\x01")
    said = kinds(says(program, *begin, *[missing] * 100))
    assert said == [f"{STARTED} 8 0", *[DATA] * (1 + 16 + 64), f"{FAILED} 8 {CORRUPT}"]


def test_what_the_peer_has_missed_before_it_joined_is_said_again(program: Path) -> None:
    begin = (f"join {RUN}", f"accept {SHORT_IN} 4", f"send {SHORT_OUT} 0 56")
    *_, last = lines_of(program, *begin, hello(HELLO_REPLY, RUNNING, RUN))
    assert decoded(bytes.fromhex(last[4:]), SEED) == [answer(GRANT, SHORT_IN, 4), answer(OFFER, SHORT_OUT)]


def test_an_offer_is_answered_with_wait_and_grant(program: Path) -> None:
    offer = Frame(OFFER, SHORT_IN, 0)
    said = says(program, offer, offer, f"accept {SHORT_IN} 0", offer)
    wait, grant = answer(WAIT, SHORT_IN), answer(GRANT, SHORT_IN)
    assert said == [f"{OFFERED} 6 0", wait, wait, grant, grant]
    taken = (f"accept {SHORT_IN} 0", Frame(DATA, SHORT_IN, 0, payload=TENSOR[:56]))
    assert says(program, *taken, Frame(OFFER, SHORT_IN, 1))[3:] == [answer(WAIT, SHORT_IN, 1)]


def test_an_offer_behind_a_tensor_that_never_arrived_is_a_failure(program: Path) -> None:
    assert says(program, f"accept {SHORT_IN} 3", Frame(OFFER, SHORT_IN, 4))[1:] == [f"{FAILED} 6 {CORRUPT}"]


def test_questions_about_a_tensor_of_the_past_are_answered(program: Path) -> None:
    taken = (f"accept {SHORT_IN} 255", Frame(DATA, SHORT_IN, 255, payload=TENSOR[:56]))
    assert says(program, *taken, Frame(QUERY, SHORT_IN, 255))[3:] == [answer(ACK, SHORT_IN, 255)]
    next_one = (*taken, f"accept {SHORT_IN} 0")
    assert says(program, *next_one, Frame(QUERY, SHORT_IN, 255))[4:] == [answer(GRANT, SHORT_IN, 0)]
    again = Frame(DATA, SHORT_IN, 255, payload=bytes(56))
    repeated = says(program, *next_one, again, f"memory {SHORT_IN}")
    assert repeated[4:] == [answer(GRANT, SHORT_IN, 0), f"memory {TENSOR[:56].hex()}"]


def test_a_grant_of_the_next_tensor_acknowledges(program: Path) -> None:
    begin = (Frame(GRANT, SHORT_OUT, 255), f"send {SHORT_OUT} 255 56")
    said = says(program, *begin, Frame(GRANT, SHORT_OUT, 0), f"send {SHORT_OUT} 0 56")
    assert kinds(said[2:]) == [f"{SENT} 8 0", f"{STARTED} 8 0", DATA]


def test_answers_for_other_numbers_channels_runs_and_boards_are_ignored(program: Path) -> None:
    begin = (Frame(GRANT, SHORT_OUT, 4), f"send {SHORT_OUT} 4 56")
    others = [Frame(ACK, SHORT_OUT, 3), Frame(ACK, LONG_OUT, 4), Frame(ACK, 99, 4), Frame(GRANT, SHORT_OUT, 4)]
    wired = [Frame(ACK, SHORT_OUT, 4, to=3), Frame(ACK, SHORT_OUT, 4, source=6)]
    other_run = "bytes " + Frame(ACK, SHORT_OUT, 4).encoded(seed_of(PLAN, RUN - 1)).hex()
    assert kinds(says(program, *begin, *others, *wired, other_run)) == [f"{STARTED} 8 0", DATA]


def test_a_sender_asks_and_names_the_silence(program: Path) -> None:
    said = kinds(says(program, Frame(GRANT, SHORT_OUT, 0), f"send {SHORT_OUT} 0 56", "tick 1000"))
    assert said[:2] == [f"{STARTED} 8 0", DATA]
    failure = said.index(f"{FAILED} 255 {NO_ANSWER}")
    assert said.count(QUERY) >= 5
    assert said.index(HELLO) > [i for i, kind in enumerate(said) if kind == QUERY][4]
    assert failure > said.index(HELLO)
    back = kinds(
        says(program, Frame(GRANT, SHORT_OUT, 0), f"send {SHORT_OUT} 0 56", "tick 1000", Frame(ACK, SHORT_OUT))
    )
    assert back[-2:] == [f"{ANSWERED} 255 0", f"{SENT} 8 0"]


def test_a_single_lost_answer_costs_a_query(program: Path) -> None:
    said = says(program, Frame(GRANT, SHORT_OUT, 0), f"send {SHORT_OUT} 0 56", "tick 30", Frame(ACK, SHORT_OUT))
    assert kinds(said) == [f"{STARTED} 8 0", DATA, QUERY, f"{SENT} 8 0"]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (hello(HELLO, RUNNING, RUN, version=3), OTHER_VERSION),
        (hello(HELLO_REPLY, RUNNING, RUN, plan=1), OTHER_PLAN),
        (hello(HELLO, RUNNING, RUN, board=7), WRONG_BOARD),
        (hello(HELLO, STOPPED, 0, boot=2), RESTARTED),
        (hello(HELLO_REPLY, STOPPED, RUN), PEER_STOPPED),
        (hello(HELLO, STARTING, RUN - 1), PEER_STOPPED),
        (hello(HELLO_REPLY, RUNNING, RUN + 1), OTHER_RUN),
    ],
)
def test_a_wrong_peer_is_named(program: Path, frame: Frame, reason: int) -> None:
    assert f"{FAILED} 255 {reason}" in kinds(says(program, frame))


def test_a_newer_run_is_joined(program: Path) -> None:
    said = says(program, hello(HELLO, STARTING, RUN + 1))
    assert said[0] == f"{ASKED} 255 {RUN + 1}"
    assert isinstance(said[1], Frame)
    assert (said[1].type, said[1].payload[2], said[1].payload[12:]) == (HELLO_REPLY, JOINING, b"\x4e\0\0\0")


def test_a_stopped_link_says_who_it_is_and_nothing_else(program: Path) -> None:
    said = lines_of(program, "leave", Frame(QUERY, SHORT_IN), hello(HELLO, RUNNING, RUN))
    (frame,) = decoded(bytes.fromhex(said[0][4:]), SEED)
    assert len(said) == 1
    assert frame == answer(HELLO_REPLY, 0, payload=struct.pack("<BBBBIII", 2, 2, STOPPED, 3, 5, PLAN, 0))


def test_garbage_does_no_harm(program: Path) -> None:
    numbers = random.Random(2)  # noqa: S311 (test data)
    for _ in range(20):
        junk = bytes(0xA5 if numbers.random() < 0.1 else numbers.choice(b"\x25\x40\x00\x41\x06") for _ in range(3000))
        flip = bytearray(b"".join(frame.encoded(SEED) for frame in pieces(TENSOR)))
        for _ in range(20):
            flip[numbers.randrange(len(flip))] = numbers.randrange(256)
        lines_of(program, f"join {RUN}", f"accept {LONG_IN} 0", f"bytes {junk.hex()}", f"bytes {flip.hex()}", "tick 9")
