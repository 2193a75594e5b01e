"""The firmware's host port and schedule, compiled for the host with AddressSanitizer: inferences and bad requests."""

import struct
import subprocess
import zlib
from collections.abc import Iterable
from pathlib import Path

import pytest

from programs.firmware_on_host import RUN_SOURCES, compile_host, frame
from tinysplit_hil.wire.frames import Frame, FrameDecoder
from tinysplit_hil.wire.protocol import (
    IDENTIFY_STACK,
    BoardError,
    BoardState,
    ErrorCode,
    Identity,
    MessageType,
    Sending,
    StackUse,
    Stamps,
    unpack_clock,
    unpack_ticks,
)
from tinysplit_hil.wire.protocol import pack_read_stamps as pack_stamps

REPLY = 0x80
RESET, STOP, CHECK, REBOOT = MessageType.RESET, MessageType.STOP, MessageType.CHECK, MessageType.REBOOT
IDENTIFY, LOAD, START = MessageType.IDENTIFY, MessageType.LOAD, MessageType.START
READ_OUTPUT, READ_TIMES = MessageType.READ_OUTPUT, MessageType.READ_TIMES
READ_CLOCK, READ_STAMPS, REPEAT = MessageType.READ_CLOCK, MessageType.READ_STAMPS, MessageType.REPEAT
DONE, TAKEN, ERROR = MessageType.DONE, MessageType.TAKEN, MessageType.ERROR
INPUT = bytes(i % 199 for i in range(300))
OUTPUT = bytes((x + 1) % 256 for x in INPUT[:260])
HOST = ("host", "host_diagnostics", "host_events", "host_queue", "host_send", "frames")
SOURCES = (*HOST, *RUN_SOURCES)
Request = tuple[int, bytes]


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_port(tmp_path_factory.mktemp("staged"), is_staged=True)


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board without buffers beside its arena."""
    return compile_port(tmp_path_factory.mktemp("blocking"), is_staged=False)


def compile_port(folder: Path, *, is_staged: bool, without: str = "") -> Path:
    sources = (f"{name}.c" for name in SOURCES if name != without)
    return compile_host(folder, "host_port", *sources, defines=(f"STAGED={is_staged:d}",))


def ask(port: Path, *requests: Request) -> list[Frame]:
    """Return what the board sends to these requests, which have the sequences 1, 2, ..."""
    stream = b"".join(frame(kind, 0, sequence, payload) for sequence, (kind, payload) in enumerate(requests, 1))
    done = subprocess.run([port], input=stream, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return list(FrameDecoder().feed(done.stdout))


def error(sequence: int, code: ErrorCode, detail: int) -> Frame:
    return Frame(ERROR, sequence, BoardError(code, detail).pack())


def reset(run: int = 5) -> Request:
    return RESET, struct.pack("<I", run)


def load(number: int, offset: int, data: bytes) -> Request:
    return LOAD, struct.pack("<II", number, offset) + data


def start(number: int, data: bytes = INPUT) -> Request:
    return START, struct.pack("<II", number, zlib.crc32(data))


def repeat(number: int, count: int, data: bytes = INPUT) -> Request:
    return REPEAT, struct.pack("<III", number, zlib.crc32(data), count)


def read(number: int, offset: int = 0, length: int = 0) -> Request:
    return READ_OUTPUT, struct.pack("<IIH", number, offset, length)


def inference(number: int) -> tuple[Request, ...]:
    return load(number, 0, INPUT), start(number)


def replies(frames: Iterable[Frame]) -> list[tuple[int, int]]:
    return [(each.type, each.sequence) for each in frames]


def taken(number: int) -> Frame:
    return Frame(TAKEN, 0, struct.pack("<I", number))


def done(number: int, output: bytes = OUTPUT) -> Frame:
    return Frame(DONE, 0, struct.pack("<II", number, zlib.crc32(output)))


def test_an_inference_with_buffers(staged: Path) -> None:
    assert ask(staged, reset(), *inference(0), read(0, 0, 260), read(1)) == [
        Frame(RESET | REPLY, 1),
        Frame(LOAD | REPLY, 2),
        Frame(START | REPLY, 3),
        taken(0),
        done(0),
        Frame(READ_OUTPUT | REPLY, 4, OUTPUT),
        Frame(READ_OUTPUT | REPLY, 5),
    ]


def test_an_inference_without_buffers_takes_the_next_input_when_the_output_is_free(port: Path) -> None:
    frames = ask(port, reset(), *inference(0), load(1, 0, b"1"), read(0, 0, 260), read(1), load(1, 0, b"1"))
    assert frames[3:] == [
        done(0),
        error(4, ErrorCode.BUSY, LOAD),
        Frame(READ_OUTPUT | REPLY, 5, OUTPUT),
        Frame(READ_OUTPUT | REPLY, 6),
        taken(0),
        Frame(LOAD | REPLY, 7),
    ]


def test_the_next_input_is_computed_while_the_output_waits(staged: Path) -> None:
    frames = ask(staged, reset(), *inference(0), *inference(1), *inference(2), read(0, 0, 9), read(1), read(1, 0, 9))
    assert frames[5:] == [
        Frame(LOAD | REPLY, 4),
        Frame(START | REPLY, 5),
        taken(1),
        Frame(LOAD | REPLY, 6),
        Frame(START | REPLY, 7),
        Frame(READ_OUTPUT | REPLY, 8, OUTPUT[:9]),
        Frame(READ_OUTPUT | REPLY, 9),
        done(1),
        taken(2),
        Frame(READ_OUTPUT | REPLY, 10, OUTPUT[:9]),
    ]


def test_a_start_whose_reply_was_lost_does_not_start_again(staged: Path) -> None:
    frames = ask(staged, reset(), *inference(0), start(0), read(1), start(0))
    assert frames[5:] == [Frame(START | REPLY, 4), Frame(READ_OUTPUT | REPLY, 5), Frame(START | REPLY, 6)]


def test_an_input_stays_for_several_inferences(staged: Path) -> None:
    frames = ask(staged, reset(), load(0, 0, INPUT), repeat(0, 3), read(1), read(2), *inference(3), read(3), read(4))
    assert frames[2:] == [
        Frame(REPEAT | REPLY, 3),
        taken(0),
        done(0),
        taken(1),
        Frame(READ_OUTPUT | REPLY, 4),
        done(1),
        taken(2),
        Frame(READ_OUTPUT | REPLY, 5),
        done(2),
        Frame(LOAD | REPLY, 6),
        Frame(START | REPLY, 7),
        taken(3),
        Frame(READ_OUTPUT | REPLY, 8),
        done(3),
        Frame(READ_OUTPUT | REPLY, 9),
    ]


def test_while_an_input_stays_no_other_one_comes(staged: Path) -> None:
    frames = ask(staged, reset(), load(0, 0, INPUT), repeat(0, 9), load(2, 0, b"1"), load(4, 0, b"1"), repeat(0, 9))
    assert frames[6:] == [
        error(4, ErrorCode.BUSY, LOAD),
        error(5, ErrorCode.WRONG_NUMBER, 2),
        Frame(REPEAT | REPLY, 6),  # whose reply was lost
    ]
    again = ask(staged, reset(), load(0, 0, INPUT), repeat(0, 9), reset(6), *inference(0), read(1), load(1, 0, b"1"))
    assert again[-1] == Frame(LOAD | REPLY, 8)  # a new run keeps nothing


def test_a_damaged_input_does_not_stay(staged: Path) -> None:
    frames = ask(staged, reset(), load(0, 0, INPUT), repeat(0, 2, b"other"), load(0, 0, INPUT), repeat(0, 2), read(1))
    assert frames[3] == error(0, ErrorCode.INPUT_CORRUPT, 0)
    assert frames[-5:] == [taken(0), done(0), taken(1), Frame(READ_OUTPUT | REPLY, 6), done(1)]


def test_what_cannot_stay(staged: Path, port: Path) -> None:
    for board, count in ((staged, 0), (port, 2)):
        assert ask(board, reset(), load(0, 0, INPUT), repeat(0, count))[-1] == error(3, ErrorCode.BAD_RANGE, REPEAT)
    assert ask(port, reset(), load(0, 0, INPUT), repeat(0, 1))[-1] == done(0)


def test_a_damaged_input_is_refused_and_may_come_again(staged: Path) -> None:
    frames = ask(staged, reset(), load(0, 0, INPUT), start(0, b"other"), *inference(0))
    assert frames[3] == error(0, ErrorCode.INPUT_CORRUPT, 0)
    assert frames[-2:] == [taken(0), done(0)]


@pytest.mark.parametrize(
    ("request_", "detail"),
    [(load(1, 0, b""), 0), (start(2), 0), (load(7, 0, INPUT), 0)],
)
def test_an_input_that_is_not_the_next_one_is_refused(port: Path, request_: Request, detail: int) -> None:
    assert ask(port, reset(), request_)[1] == error(2, ErrorCode.WRONG_NUMBER, detail)


def test_an_output_that_was_freed_or_is_not_there(staged: Path) -> None:
    requests = (read(0, 0, 1), *inference(0), read(1, 0, 1), read(0, 0, 1), (STOP, b""), read(3, 0, 1))
    frames = ask(staged, reset(), *requests)
    assert frames[1] == error(2, ErrorCode.BUSY, READ_OUTPUT)
    assert frames[6:8] == [error(5, ErrorCode.BUSY, READ_OUTPUT), error(6, ErrorCode.WRONG_NUMBER, 1)]
    assert replies(frames[8:]) == [(STOP | REPLY, 7), (ERROR, 8)]


@pytest.mark.parametrize("request_", [load(0, 0, INPUT), start(0)])
def test_a_stopped_board_takes_no_input(port: Path, request_: Request) -> None:
    assert ask(port, request_) == [error(1, ErrorCode.STOPPED, request_[0])]


def test_a_run_is_joined_once(port: Path) -> None:
    frames = ask(port, reset(5), load(0, 0, INPUT), reset(5), start(0), reset(0), (STOP, b""), reset(5), reset(6))
    assert done(0) in frames  # the second RESET has not thrown the input away
    frames.remove(done(0))
    assert frames[4:] == [
        error(5, ErrorCode.BAD_RANGE, RESET),
        Frame(STOP | REPLY, 6),
        error(7, ErrorCode.BUSY, RESET),
        Frame(RESET | REPLY, 8),
    ]


def test_flash_that_has_changed_ends_the_run(staged: Path) -> None:
    other = bytes([199]) + INPUT[1:]
    requests = ((CHECK, b""), load(0, 0, other), start(0, other), (CHECK, b""), load(1, 0, b""))
    frames = ask(staged, reset(), *requests, reset(6), load(0, 0, b""))
    assert frames[1] == Frame(CHECK | REPLY, 2)
    assert [each for each in frames if each.type == ERROR] == [
        error(0, ErrorCode.FLASH_CORRUPT, 0xBADBAD),
        error(5, ErrorCode.FLASH_CORRUPT, 0xBADBAD),
        error(6, ErrorCode.STOPPED, LOAD),
        error(0, ErrorCode.FLASH_CORRUPT, 0xBADBAD),
        error(7, ErrorCode.FLASH_CORRUPT, 0xBADBAD),
        error(8, ErrorCode.STOPPED, LOAD),
    ]


def test_the_first_failure_counts_and_a_newer_run_makes_up_for_it(staged: Path) -> None:
    failing = bytes([201]) + INPUT[1:]
    frames = ask(staged, reset(), load(0, 0, failing), start(0, failing), (IDENTIFY, b""), load(0, 0, b"1"))
    assert frames[3:5] == [taken(0), error(0, ErrorCode.LINK_PEER_RESTARTED, 1)]
    identity = Identity.unpack(frames[5].payload)
    assert (identity.run, identity.state, identity.error) == (9, BoardState.READY, 0)
    assert frames[6:] == [Frame(LOAD | REPLY, 5)]


def test_identity(staged: Path) -> None:
    frames = ask(staged, (IDENTIFY, b""), reset(), *inference(0), (IDENTIFY, b""))
    hz = 64_000_000
    assert struct.unpack("<4B5I4B8I", frames[0].payload) == (
        *(2, 0, 1, 5, 0x12345678, hz, hz, 300, 260),
        *(0, 2, 1, 0, 3, 0, 0, 0, 0, 9, 5, 0),
    )
    identity = Identity.unpack(frames[-1].payload)
    assert (identity.run, identity.inputs_taken, identity.outputs_done) == (5, 1, 1)
    assert identity.output_crc == zlib.crc32(OUTPUT)


def test_every_bit_of_the_crc_of_an_input_counts(staged: Path) -> None:
    crc = zlib.crc32(INPUT)
    wrong = [(load(0, 0, INPUT), (START, struct.pack("<II", 0, crc ^ 1 << bit))) for bit in range(32)]
    frames = ask(staged, reset(), *(request for requests in wrong for request in requests), *inference(0))
    events = [each for each in frames if each.sequence == 0]
    assert events == [*[error(0, ErrorCode.INPUT_CORRUPT, 0)] * 32, taken(0), done(0)]


def test_times_of_more_than_32_bits_are_not_cut_off(staged: Path) -> None:
    *_, answer, rest, refused = ask(
        staged, reset(), *inference(0), (READ_TIMES, b"\0\0"), (READ_TIMES, b"\2\0"), (READ_TIMES, b"\4\0")
    )
    records = list(struct.iter_unpack("<BBHI", answer.payload))
    assert [kind & 15 for kind, *_ in records] == [3, 0, 4]
    without_links = (3 << 32) - 7
    assert [ticks << (kind >> 4) for kind, _, _, ticks in records] == [3 << 32, without_links & ~3, 3 << 32]
    assert rest.payload == answer.payload[16:]
    assert refused == error(6, ErrorCode.BAD_RANGE, READ_TIMES)


def clock(keep: int) -> Request:
    return READ_CLOCK, bytes([keep])


def stamps(what: Stamps, first_byte: int = 0) -> Request:
    return READ_STAMPS, pack_stamps(what, first_byte)


def test_steps_end_one_after_the_other_while_the_clock_is_kept(staged: Path) -> None:
    _, before, *_, after, ends = ask(staged, reset(), clock(1), *inference(0), clock(1), stamps(Stamps.ENDS))
    first, last = (unpack_clock(reply.payload) for reply in (before, after))
    times = [low for (low,) in struct.iter_unpack("<I", ends.payload)]
    assert len(times) == 3
    assert [first % 2**32, *times, last % 2**32] == sorted({first % 2**32, *times, last % 2**32})
    assert last > first + 2**32


@pytest.mark.parametrize("requests", [(), (clock(1), clock(0)), (clock(1), reset(6))])
def test_ends_are_noted_on_demand_only(staged: Path, requests: tuple[Request, ...]) -> None:
    asked = (stamps(Stamps.ENDS), stamps(Stamps.LINK_TICKS))
    *_, ends, link_ticks = ask(staged, reset(), *requests, *inference(0), *asked)
    assert ends.payload == link_ticks.payload == bytes(12)


def test_links_took_ticks_of_a_layer(staged: Path) -> None:
    *_, link_ticks = ask(staged, reset(), clock(1), *inference(0), stamps(Stamps.LINK_TICKS))
    assert unpack_ticks(link_ticks.payload) == [0, 7, 0]


def test_parts_of_the_stamps(staged: Path) -> None:
    whole, rest, none = ask(staged, *(stamps(Stamps.SENDINGS, first) for first in (0, 16, 32)))
    assert Sending.unpack_all(whole.payload) == [Sending(1 | 2 << 32, 3), Sending(5 | 6 << 32, 7)]
    assert (rest.payload, none.payload) == (whole.payload[16:], b"")


@pytest.mark.parametrize(("what", "first_byte"), [(0, 13), (1, 33), (2, 13), (3, 0)])
def test_stamps_that_there_are_not(staged: Path, what: int, first_byte: int) -> None:
    request = READ_STAMPS, struct.pack("<BH", what, first_byte)
    assert ask(staged, request) == [error(1, ErrorCode.BAD_RANGE, READ_STAMPS)]


@pytest.mark.parametrize(("offset", "size"), [(53, 248), (300, 1), (301, 0), (2**32 - 4, 8)])
def test_a_load_beyond_the_input_is_refused(port: Path, offset: int, size: int) -> None:
    assert ask(port, reset(), load(0, offset, bytes(size)))[1] == error(2, ErrorCode.BAD_RANGE, LOAD)


@pytest.mark.parametrize(
    ("offset", "length", "fits"),
    [(0, 252, True), (8, 252, True), (260, 0, True), (0, 261, False), (9, 252, False), (261, 0, False)],
)
def test_parts_of_the_output(staged: Path, offset: int, length: int, fits: bool) -> None:
    *_, answer = ask(staged, reset(), *inference(0), read(0, offset, length))
    refused = error(4, ErrorCode.BAD_RANGE, READ_OUTPUT)
    assert answer == (Frame(READ_OUTPUT | REPLY, 4, OUTPUT[offset : offset + length]) if fits else refused)


@pytest.mark.parametrize("kind", MessageType)
def test_other_lengths_than_a_type_has_are_refused(port: Path, kind: MessageType) -> None:
    of_weights = (MessageType.BEGIN_WEIGHTS, MessageType.WRITE_WEIGHTS, MessageType.COMMIT_WEIGHTS, MessageType.KEY)
    if kind in (DONE, ERROR, TAKEN, *of_weights):  # this program has its weights in arrays
        assert ask(port, (kind, b"")) == [error(1, ErrorCode.UNKNOWN_TYPE, kind)]
        return
    right = {IDENTIFY: [0, 1], LOAD: range(8, 1025), READ_OUTPUT: [10], READ_TIMES: [2], RESET: [4], START: [8]}
    right |= {READ_CLOCK: [1], READ_STAMPS: [3]}
    for size in sorted({0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 252, 1024} - set(right.get(kind, [0]))):
        assert ask(port, (kind, bytes(size))) == [error(1, ErrorCode.BAD_LENGTH, kind)]


def test_without_diagnostics_there_are_no_requests_for_them(tmp_path: Path) -> None:
    port = compile_port(tmp_path, is_staged=True, without="host_diagnostics")
    requests = (READ_TIMES, bytes(2)), (READ_CLOCK, b"\1"), (READ_STAMPS, pack_stamps(Stamps.ENDS, 0))
    frames = ask(port, *requests, (IDENTIFY, IDENTIFY_STACK), reset(), *inference(0), read(0, 0, 260))
    assert frames[:3] == [error(number, ErrorCode.UNKNOWN_TYPE, kind) for number, (kind, _) in enumerate(requests, 1)]
    assert frames[3] == error(4, ErrorCode.BAD_RANGE, IDENTIFY)
    assert frames[-1] == Frame(READ_OUTPUT | REPLY, 8, OUTPUT)


def test_a_damaged_request_is_asked_for_again(port: Path) -> None:
    good = frame(IDENTIFY, 0, 9, b"")
    done = subprocess.run([port], input=good[:-1] + bytes([good[-1] ^ 1]), capture_output=True, check=True)
    assert list(FrameDecoder().feed(done.stdout)) == [error(9, ErrorCode.BAD_CRC, IDENTIFY)]


def test_a_board_that_is_asked_to_reboots_soon(port: Path) -> None:
    stream = frame(REBOOT, 0, 1, b"") + bytes(50)
    done = subprocess.run([port], input=stream, capture_output=True, check=False)
    assert (done.returncode, list(FrameDecoder().feed(done.stdout))) == (3, [Frame(REBOOT | REPLY, 1)])


def test_identify_answers_the_note(port: Path) -> None:
    state, note, other = ask(port, (IDENTIFY, b"\x00"), (IDENTIFY, b"\x01"), (IDENTIFY, b"\x03"))
    assert Identity.unpack(state.payload).project_hash == 0x12345678
    assert note == Frame(IDENTIFY | REPLY, 2, b'{"board":1}')
    assert other == error(3, ErrorCode.BAD_RANGE, IDENTIFY)


def test_identify_answers_what_of_the_stack_was_used(port: Path) -> None:
    (reply,) = ask(port, (IDENTIFY, IDENTIFY_STACK))
    assert StackUse.unpack(reply.payload) == StackUse(stack_bytes=40, used_bytes=16)
