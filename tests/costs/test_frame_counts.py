"""Frames of a tensor and of the host's transfers at the sizes where one more is needed, counted by hand."""

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.costs.transfers import host_seconds, link_seconds, wire_seconds

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
    assert link_seconds(n_bytes, uart, uart, 115200) == pytest.approx(one_way + 10 * 11 / BAUD, rel=1e-12)


@pytest.mark.parametrize(("n_bytes", "n_loads"), [(1, 1), (247, 1), (248, 1), (249, 2), (496, 2), (497, 3)])
def test_a_load_holds_248_bytes(n_bytes: int, n_loads: int) -> None:
    # LOADs of an offset and data, then START; an empty frame answers each.
    expected = 10 * ((n_bytes + 4 * n_loads + (n_loads + 1) * HEAD) / 921600 + (n_loads + 1) * HEAD / HOST_BAUD)
    assert host_seconds(G0, n_bytes, 1)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n_bytes", "n_reads"), [(1, 1), (251, 1), (252, 1), (253, 2), (504, 2), (505, 3)])
def test_a_read_gets_252_bytes(n_bytes: int, n_reads: int) -> None:
    # DONE, then requests of offset and length, answered by data.
    expected = 10 * (n_reads * (6 + HEAD) / 921600 + (HEAD + n_bytes + n_reads * HEAD) / HOST_BAUD)
    assert host_seconds(G0, 1, n_bytes)[1] == pytest.approx(expected, rel=1e-12)
