"""RAM that the links of a board take beside the rest of the firmware."""

from collections.abc import Sequence

from tinysplit.common.alignment import aligned
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.graph import Graph

# Counted in the ELF files of all families: link_t, uart_link_t and their share of other variables; link_channel_t and
# network_sending_t.
LINK_BYTES = 256
CHANNEL_BYTES = 64
BITMAP_SHARE = 8 * 64  # bytes of a tensor for each byte of its bitmap of blocks
TIME_BYTES = 16  # network_time_t: the record of a step
COUNTED_STEPS = 8  # records that the RAM of the firmware in the cost table includes, at least


def link_ram_bytes(n_links: int, tensors: Sequence[int]) -> int:
    """Return the RAM that the links of a board take, without the buffers of their driver.

    `tensors` are the bytes of those that the board receives or sends.
    """
    bitmaps = sum(aligned(-(-size // BITMAP_SHARE)) for size in tensors)
    return n_links * LINK_BYTES + len(tensors) * CHANNEL_BYTES + bitmaps


def record_bytes(steps: Sequence[PlanStep], graph: Graph) -> int:
    """Return the RAM of the records of a board's steps beside the rest of the firmware: distributed networks have many.

    Views have none; the host's input and output do.
    """
    recorded = 2 + sum(step.kind is not StepKind.RUN or not graph.layers[step.item].is_view for step in steps)
    return max(0, recorded - COUNTED_STEPS) * TIME_BYTES


def least_link_bytes(driver_bytes: Sequence[int]) -> int:
    """Return the least RAM that a link of a board takes, without tensors: see `all_link_bytes`."""
    return link_ram_bytes(1, ()) + min(driver_bytes, default=0)


def all_link_bytes(n_links: int, tensors: Sequence[int], driver_bytes: Sequence[int], free_bytes: int) -> int:
    """Return the RAM that the links of a board take of `free_bytes` beside the arena, with their driver.

    `driver_bytes` has the bytes of a link by each driver that is possible: the first one that fits is taken, else the
    last one.
    """
    own_bytes = link_ram_bytes(n_links, tensors)
    drivers = [n_links * each for each in driver_bytes] or [0]
    return own_bytes + next((each for each in drivers if own_bytes + each <= free_bytes), drivers[-1])
