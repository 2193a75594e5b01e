"""The frames in which a streamed tensor crosses a link (firmware/common/link_out.c)."""

from tinysplit.common.protocol_limits import LINK_BLOCK_BYTES, LINK_PAYLOAD_BYTES

SHORTEST_LIMIT = 4 * LINK_BLOCK_BYTES  # of the frames of a streamed tensor
SHARES = 256  # parts in which the share of a frame is counted


def frame_limit(left_bytes: int, share: int) -> int:
    """Return the longest payload of the next frame of a tensor of which `left_bytes` have not left.

    It is a `share` (in 256ths) of the whole blocks that are left, as the receiver's layer may wait for rows until the
    frame has ended; 0: there is no such limit.
    """
    if share == 0:
        return LINK_PAYLOAD_BYTES
    limit = -(-left_bytes // LINK_BLOCK_BYTES) * share // SHARES * LINK_BLOCK_BYTES
    return min(max(SHORTEST_LIMIT, limit), LINK_PAYLOAD_BYTES)


def best_share(compute_s: float, line_s: float) -> int:
    """Return the share of frames for a receiver that computes for `compute_s` what arrives within `line_s`.

    A frame of n of N bytes left is there n/N of their `line_s` later, and then `compute_s` of all of them remains:
    nothing is delayed while that is over when the last byte arrives, for n/N up to 1 - compute_s / line_s.
    """
    return min(max(int(SHARES * (1 - compute_s / line_s)), 1), SHARES - 1)
