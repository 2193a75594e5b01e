"""Frames of a tensor and of the host's transfers at the sizes where one more is needed, counted by hand."""

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.costs.transfers import host_line_seconds, host_seconds, link_seconds, wire_seconds

G0 = load_board("nucleo_g071rb")
BAUD = 64e6 / 556  # what the divider makes of 115200
HOST_BAUD = 64e6 / 69  # and of 921600
HEAD = 8  # bytes of a frame on a host port beside its payload


@pytest.mark.parametrize(
    ("n_bytes", "n_frames", "crc_bytes"),
    [(1, 1, 0), (2047, 1, 0), (2048, 1, 0), (2049, 2, 4), (4096, 2, 4), (4097, 3, 4), (16384, 8, 4), (16385, 9, 4)],
)
def test_a_frame_on_a_link_holds_2048_bytes(n_bytes: int, n_frames: int, crc_bytes: int) -> None:
    uart = G0.link_uarts[0]
    one_way = 10 * (n_bytes + n_frames * (11 + 4) + crc_bytes) / BAUD
    assert wire_seconds(n_bytes, uart, 115200) == pytest.approx(one_way, rel=1e-12)
    assert link_seconds(n_bytes, (uart, uart), LinkDriver.POLLING, 115200) == pytest.approx(one_way, rel=1e-12)


@pytest.mark.parametrize(("n_bytes", "n_loads"), [(1, 1), (1015, 1), (1016, 1), (1017, 2), (2032, 2), (2033, 3)])
def test_a_load_holds_1016_bytes(n_bytes: int, n_loads: int) -> None:
    # LOADs of number, offset and data, then START; an empty frame answers each.
    there = 10 * (n_bytes + 8 * n_loads + 8 + (n_loads + 1) * HEAD) / 921600
    assert host_seconds(G0, n_bytes, 1, 921600)[0] == pytest.approx(
        there + 10 * (n_loads + 1) * HEAD / HOST_BAUD, rel=1e-12
    )
    # START waits for the answer to the last LOAD alone.
    assert host_line_seconds(G0, n_bytes, 1, 921600)[0] == pytest.approx(there + 10 * HEAD / HOST_BAUD, rel=1e-12)


@pytest.mark.parametrize(("n_bytes", "n_reads"), [(1, 1), (1023, 1), (1024, 1), (1025, 2), (2048, 2), (2049, 3)])
def test_a_read_gets_1024_bytes(n_bytes: int, n_reads: int) -> None:
    # DONE, then requests of number, offset and length, answered by data; one more, answered by an error, frees them.
    back = 10 * (8 + HEAD + n_bytes + n_reads * HEAD) / HOST_BAUD
    request = 10 * (10 + HEAD) / 921600
    assert host_seconds(G0, 1, n_bytes, 921600)[1] == pytest.approx(n_reads * request + back, rel=1e-12)
    freeing = request + 10 * (8 + HEAD) / HOST_BAUD
    assert host_line_seconds(G0, 1, n_bytes, 921600)[1] == pytest.approx(n_reads * request + back + freeing, rel=1e-12)
