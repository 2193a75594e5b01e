"""The latency of streamed hand-offs, counted by hand."""

from dataclasses import replace

import pytest

from tinysplit.split.evaluate.streaming import (
    Costs,
    Parts,
    RunCosts,
    TransferCosts,
    best_share,
    frame_limit,
    inference_s,
)

OVERHEAD, CRC = 15, 4  # bytes of a frame, and of the tensor's CRC
ROWS = Parts(needed_bytes=(64, 128, 192, 256), done_bytes=(64, 128, 192, 256))
PRODUCER, CONSUMER = RunCosts(0, 4.0, ROWS), RunCosts(1, 4.0, ROWS)


def transfer(byte_s: float, *, gives: bool = False, takes: bool = False) -> TransferCosts:
    """Return a transfer of four blocks."""
    return TransferCosts(0, 1, 256, byte_s, gives_rows=gives, takes_rows=takes)


def seconds(*steps: Costs) -> float:
    return inference_s(steps)


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
    byte_s, eight = 0.01, Parts(tuple(range(64, 513, 64)), tuple(range(64, 513, 64)))
    one_frame = replace(transfer(byte_s, takes=True), payload_bytes=512)
    taken = seconds(RunCosts(0, 4.0), one_frame, RunCosts(1, 0.8, eight))
    assert taken == pytest.approx(4 + byte_s * (512 + OVERHEAD) + 0.8)
    taken = seconds(RunCosts(0, 4.0), replace(one_frame, frame_share=1), RunCosts(1, 0.8, eight))
    arrived_s = 4 + byte_s * (512 + 2 * OVERHEAD + CRC)
    assert taken == pytest.approx(arrived_s + 0.4)  # half of the rows came in the second frame


def test_both_ends_overlap() -> None:
    both = seconds(PRODUCER, transfer(0.001, gives=True, takes=True), CONSUMER)
    assert both == pytest.approx(4 + 0.001 * (64 + OVERHEAD + CRC) + 1)  # it is as far as the last row but one


def test_a_consumer_waits_for_the_rows_below_its_own() -> None:
    window = Parts(needed_bytes=(128, 192, 256, 256), done_bytes=(64, 128, 192, 256))
    both = seconds(PRODUCER, transfer(0.001, gives=True, takes=True), RunCosts(1, 4.0, window))
    assert both == pytest.approx(4 + 0.001 * (64 + OVERHEAD + CRC) + 2)


def test_rows_of_several_passes_are_complete_in_the_last_one() -> None:
    passes = RunCosts(0, 4.0, replace(ROWS, passes=2))
    given = seconds(passes, transfer(1e-9, gives=True, takes=True), CONSUMER)
    assert given == pytest.approx(2 + 0.5 + 4)
    taken = seconds(PRODUCER, transfer(1e-9, gives=True, takes=True), RunCosts(1, 4.0, replace(ROWS, passes=2)))
    assert taken == pytest.approx(4 + 0.5 + 2)  # the last row of the first pass waits for the last row


def test_rows_that_no_row_needs_are_awaited_at_the_end() -> None:
    first = Parts(needed_bytes=(64, 64, 64, 64), done_bytes=(64, 128, 192, 256))
    end = seconds(PRODUCER, transfer(0.01, gives=True, takes=True), RunCosts(1, 0.4, first))
    assert end == pytest.approx(4 + 0.01 * (64 + OVERHEAD + CRC))


def test_the_cpus_of_both_ends_also_move_bytes() -> None:
    free = transfer(0.001, gives=True, takes=True)
    costs = replace(free, copy_out_s=0.4, copy_in_s=0.4, send_s=0.04, receive_s=0.0256)
    assert seconds(PRODUCER, costs, CONSUMER) > seconds(PRODUCER, free, CONSUMER) + 0.4


def test_a_sender_without_a_buffer_waits_for_the_acknowledgement() -> None:
    blocking = replace(transfer(0.01, gives=True), blocks_sender=True, reply_s=1.0)
    last_row_s = 0.01 * (64 + OVERHEAD + CRC)
    assert seconds(PRODUCER, blocking, RunCosts(0, 1.0)) == pytest.approx(4 + last_row_s + 1 + 1)


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
