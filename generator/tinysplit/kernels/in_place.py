"""In which order a kernel reads and writes, and how far before its input an output must begin for that to be right.

A kernel makes its output block after block, from the first element to the last. While the output lies over the input,
all that is written through a block must end before the first byte that is still to be read after it.
"""

from typing import NamedTuple

import numpy as np

from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.window import Window

Size = tuple[int, ...]  # height, width, and channels where they count


class Lead(NamedTuple):
    """The output may begin `least_bytes` or more before the input (less than 0: behind its beginning).

    The distance must be a multiple of `unit_bytes`: of a pixel, where channel after channel is computed and no byte
    of another channel may be touched.
    """

    least_bytes: int
    unit_bytes: int = 1


ANYWHERE = Lead(-(1 << 31))  # of what was read as a whole before anything is written


def lead_of_blocks(firsts: IntArray, ends: IntArray, widths: Widths, *, reads_first: bool) -> int:
    """Return the lead in bytes of a kernel that goes over blocks.

    `firsts` are the first input elements that the blocks read, `ends` are the numbers of output elements that are
    written through each of them. `reads_first`: nothing of a block is written before all that it reads was read.
    """
    x_bytes, y_bytes = widths.x // 8, widths.y // 8
    still_read = np.minimum.accumulate(firsts[::-1])[::-1]
    leads = ends * y_bytes - still_read * x_bytes
    if reads_first:
        leads = ends[:-1] * y_bytes - still_read[1:] * x_bytes
    return int(leads.max(initial=ANYWHERE.least_bytes))


def elementwise_lead(size: int, widths: Widths) -> Lead:
    """Return the lead of a kernel that reads every element before it writes the one at its place, or behind it."""
    elements = np.arange(size)
    return Lead(lead_of_blocks(elements, elements + 1, widths, reads_first=True))


def window_lead(
    in_size: Size, out_size: Size, window: Window, pixels: int, widths: Widths, *, reads_first: bool
) -> Lead:
    """Return the lead where so many neighbouring pixels of a row are computed together, with all their channels."""
    height, width, channels = out_size
    starts = np.arange(0, width, pixels)
    firsts = np.minimum.reduceat(first_reads(in_size, out_size, window), starts, axis=1)
    ends = (np.arange(height)[:, None] * width + np.minimum(starts + pixels, width)) * channels
    return Lead(lead_of_blocks(firsts.reshape(-1), ends.reshape(-1), widths, reads_first=reads_first))


def channelwise_lead(layer: Layer, window: Window, widths: Widths) -> Lead:
    """Return the lead where a pixel's channels are computed one after the other, each from its own channel."""
    channels = np.arange(layer.out_shape.channels)
    firsts = first_reads(layer.in_shape, layer.out_shape, window)[..., None] + channels
    return Lead(lead_of_blocks(firsts.reshape(-1), np.arange(1, firsts.size + 1), widths, reads_first=True))


def first_reads(in_size: Size, out_size: Size, window: Window) -> IntArray:
    """Return the first input element that the window of every output pixel sees: out_h x out_w.

    0 for windows that see nothing but padding.
    """
    height, width, channels = in_size
    rows = _first_positions(out_size[0], height, window.stride[0], window.dilation[0], window.pads.top)
    columns = _first_positions(out_size[1], width, window.stride[1], window.dilation[1], window.pads.left)
    firsts: IntArray = (rows[:, None] * width + columns) * channels
    return firsts


def _first_positions(outputs: int, inputs: int, stride: int, dilation: int, pad: int) -> IntArray:
    begins = np.arange(outputs) * stride - pad
    inside = np.where(begins < 0, begins % dilation, begins)
    return np.where(inside < inputs, inside, 0)
