"""Frames of a tensor and of the host's transfers at the sizes where one more is needed, counted by hand."""

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.costs.transfers import host_seconds, link_seconds

G0 = load_board("nucleo_g071rb")
BAUD = 64e6 / 556  # what the divider makes of 115200
HEAD = 8  # bytes of a frame beside its payload


@pytest.mark.parametrize(
    ("n_bytes", "n_frames"), [(1, 1), (1023, 1), (1024, 1), (1025, 2), (2048, 2), (2049, 3), (8192, 8), (8193, 9)]
)
def test_a_frame_holds_1024_bytes(n_bytes: int, n_frames: int) -> None:
    uart = G0.link_uarts[0]
    one_way = 10 * (n_bytes + n_frames * HEAD) / BAUD
    assert link_seconds(n_bytes, uart, uart, 115200) == pytest.approx(one_way + 10 * HEAD / BAUD, rel=1e-12)
    both_ways = one_way + 10 * n_frames * HEAD / BAUD
    assert link_seconds(n_bytes, uart, uart, 115200, half_duplex=True) == pytest.approx(both_ways, rel=1e-12)


@pytest.mark.parametrize(("n_bytes", "n_loads"), [(1, 1), (247, 1), (248, 1), (249, 2), (496, 2), (497, 3)])
def test_a_load_holds_248_bytes(n_bytes: int, n_loads: int) -> None:
    # LOADs of an offset and data, then START; an empty frame answers each.
    expected = 10 * ((n_bytes + 4 * n_loads + (n_loads + 1) * HEAD) / 115200 + (n_loads + 1) * HEAD / BAUD)
    assert host_seconds(G0, n_bytes, 1)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n_bytes", "n_reads"), [(1, 1), (251, 1), (252, 1), (253, 2), (504, 2), (505, 3)])
def test_a_read_gets_252_bytes(n_bytes: int, n_reads: int) -> None:
    # DONE, then requests of offset and length, answered by data.
    expected = 10 * (n_reads * (6 + HEAD) / 115200 + (HEAD + n_bytes + n_reads * HEAD) / BAUD)
    assert host_seconds(G0, 1, n_bytes)[1] == pytest.approx(expected, rel=1e-12)
