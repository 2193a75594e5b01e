"""The protocols that a generated board speaks with its host."""

from enum import StrEnum

from tinysplit.common.protocol_limits import USUAL_HOST_BAUD

MLPERF_BAUD = 115200  # of the benchmark's own runner


class HostProtocol(StrEnum):
    """Frames of docs/understand/protocol.md on all boards, or MLPerf Tiny's lines on the board that reads the input."""

    TINYSPLIT = "tinysplit"
    MLPERF = "mlperf"

    @property
    def usual_baud(self) -> int:
        """The baud rate of host ports unless another one is chosen, or boards cannot make it."""
        return USUAL_HOST_BAUD if self is HostProtocol.TINYSPLIT else MLPERF_BAUD
