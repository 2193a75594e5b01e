"""The latency of streamed hand-offs, counted by hand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pytest

from tinysplit.common.protocol_limits import line_bytes_of
from tinysplit.timing.figures import Timing
from tinysplit.timing.frames import best_share, frame_limit
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.program import BoardStep, Kind, Program, Rows, Stream
from tinysplit.timing.topology import NETWORK_INPUT, Cut

OVERHEAD, CRC = 15, 4  # bytes of a frame, and of the tensor's CRC
ROWS = Rows(needed_bytes=(64, 128, 192, 256), done_bytes=(64, 128, 192, 256))


@dataclass(frozen=True)
class Run:
    """A layer that may be computed row by row."""

    device: int
    seconds: float
    rows: Rows | None = None


@dataclass(frozen=True)
class Transfer:
    """A tensor from board 0 to board 1."""

    payload_bytes: int
    byte_s: float
    gives: bool = False
    takes: bool = False
    copy_out_s: float = 0.0
    copy_in_s: float = 0.0
    send_s: float = 0.0
    receive_s: float = 0.0
    latency_s: float = 0.0
    reply_s: float = 0.0
    chunk_bytes: int = 1
    frame_share: int = 0
    blocks_sender: bool = False

    @property
    def wire_s(self) -> float:
        return self.byte_s * line_bytes_of(self.payload_bytes)


PRODUCER, CONSUMER = Run(0, 4.0, ROWS), Run(1, 4.0, ROWS)


def transfer(byte_s: float, *, gives: bool = False, takes: bool = False) -> Transfer:
    """Return a transfer of four blocks."""
    return Transfer(256, byte_s, gives=gives, takes=takes)


def seconds(*steps: Run | Transfer) -> float:
    return Timing((program_of(steps),)).i_s


def program_of(steps: Sequence[Run | Transfer]) -> Program:
    """Return a program in which transfer i carries the output of layer i."""
    sent = [step for step in steps if isinstance(step, Transfer)]
    reply_s = max(each.reply_s for each in sent)
    tables = [((0.0, each.wire_s), (each.wire_s, 0.0)) for each in sent]
    none = (0.0, 0.0)
    return Program(
        Handoff(
            wire_s=tuple(tables),
            reply_s=((0.0, reply_s), (reply_s, 0.0)),
            copy_s=(*((each.copy_out_s, each.copy_in_s) for each in sent), none, none),
            send_s=(*((each.send_s, 0.0) for each in sent), none),
            receive_s=(*((0.0, each.receive_s) for each in sent), none),
            host_s=(none, none),
            latency_s=tuple(((0.0, each.latency_s),) * 2 for each in sent),
        ),
        tuple(Cut(number, 0, 1, each.payload_bytes, each.wire_s) for number, each in enumerate(sent)),
        tuple(_steps(steps, sent)),
        streams={
            number: Stream(0.0, each.latency_s, each.chunk_bytes, each.frame_share)
            for number, each in enumerate(sent)
            if each.gives or each.takes
        },
    )


def _steps(steps: Sequence[Run | Transfer], sent: Sequence[Transfer]) -> Iterator[BoardStep]:
    yield BoardStep(Kind.INPUT, 0, NETWORK_INPUT)
    number = 0
    for position, step in enumerate(steps):
        if isinstance(step, Transfer):
            yield BoardStep(Kind.SEND, 0, number, number, is_staged=not step.blocks_sender)
            yield BoardStep(Kind.RECEIVE, 1, number, number, is_staged=True)
            number += 1
            continue
        gives = number if number < len(sent) and sent[number].gives and steps[position + 1] is sent[number] else -1
        takes = number - 1 if number and sent[number - 1].takes else -1
        rows = step.rows._replace(gives=gives, takes=takes) if step.rows and (gives, takes) != (-1, -1) else None
        yield BoardStep(Kind.RUN, step.device, number, seconds=step.seconds, rows=rows)
    last = next(step for step in reversed(steps) if isinstance(step, Run))
    yield BoardStep(Kind.OUTPUT, last.device, len(sent))


def test_a_whole_hand_off_takes_l_plus_t() -> None:
    whole = transfer(0.01)
    assert seconds(PRODUCER, whole, CONSUMER) == pytest.approx(8 + 0.01 * (256 + OVERHEAD))
    costs = replace(whole, copy_out_s=0.1, copy_in_s=0.2, latency_s=0.3, reply_s=5.0)
    assert seconds(PRODUCER, costs, CONSUMER) == pytest.approx(8.6 + 0.01 * (256 + OVERHEAD))


def test_rows_leave_while_the_next_ones_are_computed() -> None:
    given = seconds(PRODUCER, transfer(0.001, gives=True), CONSUMER)
    last_row_s = 0.001 * (64 + OVERHEAD + CRC)
    assert given == pytest.approx(4 + last_row_s + 4)


def test_rows_are_computed_while_the_next_ones_arrive() -> None:
    byte_s, eight = 0.01, Rows(tuple(range(64, 513, 64)), tuple(range(64, 513, 64)))
    one_frame = replace(transfer(byte_s, takes=True), payload_bytes=512)
    taken = seconds(Run(0, 4.0), one_frame, Run(1, 0.8, eight))
    assert taken == pytest.approx(4 + byte_s * (512 + OVERHEAD) + 0.8)
    taken = seconds(Run(0, 4.0), replace(one_frame, frame_share=1), Run(1, 0.8, eight))
    arrived_s = 4 + byte_s * (512 + 2 * OVERHEAD + CRC)
    assert taken == pytest.approx(arrived_s + 0.4)  # half of the rows came in the second frame


def test_both_ends_overlap() -> None:
    both = seconds(PRODUCER, transfer(0.001, gives=True, takes=True), CONSUMER)
    assert both == pytest.approx(4 + 0.001 * (64 + OVERHEAD + CRC) + 1)  # it is as far as the last row but one


def test_a_consumer_waits_for_the_rows_below_its_own() -> None:
    window = Rows(needed_bytes=(128, 192, 256, 256), done_bytes=(64, 128, 192, 256))
    both = seconds(PRODUCER, transfer(0.001, gives=True, takes=True), Run(1, 4.0, window))
    assert both == pytest.approx(4 + 0.001 * (64 + OVERHEAD + CRC) + 2)


def test_rows_of_several_passes_are_complete_in_the_last_one() -> None:
    passes = Run(0, 4.0, ROWS._replace(passes=2))
    given = seconds(passes, transfer(1e-9, gives=True, takes=True), CONSUMER)
    assert given == pytest.approx(2 + 0.5 + 4)
    taken = seconds(PRODUCER, transfer(1e-9, gives=True, takes=True), Run(1, 4.0, ROWS._replace(passes=2)))
    assert taken == pytest.approx(4 + 0.5 + 2)  # the last row of the first pass waits for the last row


def test_rows_that_no_row_needs_are_awaited_at_the_end() -> None:
    first = Rows(needed_bytes=(64, 64, 64, 64), done_bytes=(64, 128, 192, 256))
    end = seconds(PRODUCER, transfer(0.01, gives=True, takes=True), Run(1, 0.4, first))
    assert end == pytest.approx(4 + 0.01 * (64 + OVERHEAD + CRC))


def test_the_cpus_of_both_ends_also_move_bytes() -> None:
    free = transfer(0.001, gives=True, takes=True)
    costs = replace(free, copy_out_s=0.4, copy_in_s=0.4, send_s=0.04, receive_s=0.0256)
    assert seconds(PRODUCER, costs, CONSUMER) > seconds(PRODUCER, free, CONSUMER) + 0.4


def test_a_sender_without_a_buffer_waits_for_the_acknowledgement() -> None:
    blocking = replace(transfer(0.01, gives=True), blocks_sender=True, reply_s=1.0)
    last_row_s = 0.01 * (64 + OVERHEAD + CRC)
    assert seconds(PRODUCER, blocking, Run(0, 1.0)) == pytest.approx(4 + last_row_s + 1 + 1)


def test_a_line_carries_one_tensor_after_the_other() -> None:
    one = transfer(0.01)
    assert seconds(PRODUCER, one, one, CONSUMER) == pytest.approx(8 + 2 * 0.01 * (256 + OVERHEAD))


def test_frames_are_short_where_the_receiver_would_wait_for_them() -> None:
    def lengths(share: int) -> list[int]:
        left, found = 8000, []
        while left:
            found.append(min(frame_limit(left, share), left))
            left -= found[-1]
        return found

    assert lengths(0) == [2048, 2048, 2048, 1856]
    assert lengths(128) == [2048, 2048, 1920, 960, 512, 256, 256]
    assert lengths(1) == [256] * 31 + [64]


def test_the_share_of_a_frame_follows_from_the_slower_of_line_and_layer() -> None:
    assert best_share(1.0, 4.0) == 192
    assert best_share(4.0, 1.0) == 1  # the layer is slower: it should never wait
    assert best_share(0.0, 1.0) == 255


def test_a_chunk_is_filled_while_the_one_before_leaves() -> None:
    slow = replace(transfer(0.02, gives=True), chunk_bytes=79)  # a frame of one row, which takes longer than a row

    def end_s(frames: int) -> float:
        return 1 + 0.02 * (256 + frames * OVERHEAD + CRC) + 4

    assert seconds(PRODUCER, replace(slow, chunk_bytes=1), CONSUMER) == pytest.approx(end_s(3))
    assert seconds(PRODUCER, slow, CONSUMER) == pytest.approx(end_s(4))  # the second frame is chosen after two rows
