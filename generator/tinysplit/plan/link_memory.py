"""RAM that the links of a board take beside the rest of the firmware."""

from collections.abc import Sequence

from tinysplit.common.alignment import aligned
from tinysplit.memory.schedule import Step, StepKind
from tinysplit.plan.wiring import BoardLink
from tinysplit.split.topology import Cut

# Counted in the ELF files of all families: link_t, uart_link_t and their share of other variables; link_channel_t and
# network_sending_t.
LINK_BYTES = 256
CHANNEL_BYTES = 64
BITMAP_SHARE = 8 * 64  # bytes of a tensor for each byte of its bitmap of blocks


def link_ram_bytes(links: Sequence[BoardLink], steps: Sequence[Step], cuts: Sequence[Cut]) -> int:
    """Return the RAM that the links of a board take, without the buffers of their driver."""
    tensors = [cuts[step.item].payload_bytes for step in steps if step.kind is not StepKind.RUN]
    bitmaps = sum(aligned(-(-size // BITMAP_SHARE)) for size in tensors)
    return len(links) * LINK_BYTES + len(tensors) * CHANNEL_BYTES + bitmaps
