"""The in-place lead: how far before its input an output must start so that a kernel may overwrite what it has read.

A kernel computes its output block by block, from the first element to the last. If the output overlaps the input, all
bytes written up to the end of a block must be before the first byte that later blocks still read.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.normalization import Normalization
from tinysplit.network.layers.window import Window

Size = tuple[int, ...]  # height, width, and channels where they matter


class Lead(NamedTuple):
    """The output must start at least `least_bytes` before the input; a negative lead allows it to start later.

    The distance must be a multiple of `unit_bytes`: of a pixel, for kernels that compute channel after channel and must
    not overwrite other channels.
    """

    least_bytes: int
    unit_bytes: int = 1


ANYWHERE = Lead(-(1 << 31))  # for kernels that read the whole input before they write


def lead_of_blocks(firsts: IntArray, ends: IntArray, widths: Widths, *, reads_first: bool) -> int:
    """Return the lead in bytes of a kernel that computes blocks.

    `firsts` has the index of the first input element that each block reads, `ends` the number of output elements that
    are written up to the end of each block. `reads_first`: a block reads all of its inputs before it writes.
    """
    x_bytes, y_bytes = widths.x // 8, widths.y // 8
    still_read = np.minimum.accumulate(firsts[::-1])[::-1]
    leads = ends * y_bytes - still_read * x_bytes
    if reads_first:
        leads = ends[:-1] * y_bytes - still_read[1:] * x_bytes
    return int(leads.max(initial=ANYWHERE.least_bytes))


@lru_cache(maxsize=1 << 12)  # parts of layers in many splits have the same shapes
def elementwise_lead(size: int, widths: Widths) -> Lead:
    """Return the lead of a kernel that reads each of `size` elements before it writes the one of the same index."""
    elements = np.arange(size)
    return Lead(lead_of_blocks(elements, elements + 1, widths, reads_first=True))


def groups_lead(layer: Normalization, widths: Widths) -> Lead | None:
    """Return the lead of a normalization, which reads each group before it writes it; None if it must not share memory.

    Groups of channels over a map come one after the other: the output must not overwrite channels of others.
    """
    if layer.is_in_order:
        return elementwise_lead(layer.out_shape.size, widths)
    return Lead(0, layer.in_shape.channels * widths.x // 8) if widths.x == widths.y else None


@lru_cache(maxsize=1 << 12)
def window_lead(
    in_size: Size, out_size: Size, window: Window, pixels: int, widths: Widths, *, reads_first: bool
) -> Lead:
    """Return the lead of a kernel that computes `pixels` neighbouring pixels of a row together, with all channels."""
    height, width, channels = out_size
    starts = np.arange(0, width, pixels)
    firsts = np.minimum.reduceat(first_reads(in_size, out_size, window), starts, axis=1)
    ends = (np.arange(height)[:, None] * width + np.minimum(starts + pixels, width)) * channels
    return Lead(lead_of_blocks(firsts.reshape(-1), ends.reshape(-1), widths, reads_first=reads_first))


def channelwise_lead(layer: Layer, window: Window, widths: Widths) -> Lead:
    """Return the lead of a kernel that computes a pixel's channels one by one, each from the same input channel."""
    return _channelwise_lead(layer.in_shape, layer.out_shape, window, widths)


@lru_cache(maxsize=1 << 12)
def _channelwise_lead(in_size: Size, out_size: Size, window: Window, widths: Widths) -> Lead:
    firsts = first_reads(in_size, out_size, window)[..., None] + np.arange(out_size[-1])
    return Lead(lead_of_blocks(firsts.reshape(-1), np.arange(1, firsts.size + 1), widths, reads_first=True))


def first_reads(in_size: Size, out_size: Size, window: Window) -> IntArray:
    """Return the index of the first input element in the window of each output pixel, an array out_h x out_w.

    It is 0 for windows completely in the padding.
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
