"""Fused layers: a convolution and its consumer, computed a few rows at a time.

Instead of the producer's whole output, the arena stores a tile of its rows. The consumer reads the tile, then the next
tile overwrites it. This is layer fusion with overlapping tiles (Alwani et al., "Fused-layer CNN accelerators",
MICRO 2016), restricted to pairs and to tiles of whole rows.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import gcd
from typing import Self

import numpy as np

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.kernels.in_place import Lead, lead_of_blocks
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers import Conv, DepthwiseConv, Layer, Pads, Window
from tinysplit.network.layers.pool import Pool

_MOST_FUSIONS = 1 << 14  # that are kept: all boards and plans have those of the same layers


@dataclass(frozen=True, eq=False)
class FusedRows:
    """A convolution (producer) and the layer that reads it (consumer), computed in `tiles` tiles of rows.

    The producer computes `call_rows` rows of a tile at a time. Tile rows above and below the producer's output are
    padding and hold the zero point. The halo (rows that the next tile also needs) is moved to the start of the tile.
    """

    tiles: int
    producer: Layer  # with the shapes of one call: `call_rows` output rows
    consumer: Layer  # with the shapes of one tile
    call_rows: int
    tile_rows: int
    tile_stride: int  # rows from one tile to the next
    pad_top: int  # rows of the first tile that are padding above the producer's output
    height: int  # rows of the producer's whole output
    in_row_stride: int  # input elements from the first element that one output row of the producer reads to the next's
    out_tile_stride: int  # output elements of the consumer from one tile to the next

    @classmethod
    @lru_cache(_MOST_FUSIONS)
    def of(cls, producer: Layer, consumer: Layer, out_rows: int = 1) -> Self | None:
        """Return the fusion of two layers with `out_rows` output rows of the consumer per tile, or None if impossible.

        All tiles must have the same shape. Therefore the producer must have no padding above or below, and a pool
        neither, since its padding is not a value.
        """
        if not isinstance(producer, Conv | DepthwiseConv) or _pads_rows(producer.window):
            return None
        if not isinstance(consumer, Pool | Conv | DepthwiseConv):
            return None
        first, second, out = producer.window, consumer.window, consumer.out_shape
        if isinstance(consumer, Pool) and _pads_rows(second):
            return None
        if out.height % out_rows or out.height == out_rows:
            return None
        tiles, stride, pad_top = out.height // out_rows, out_rows * second.stride[0], second.pads.top
        tile_rows = (out_rows - 1) * second.stride[0] + _extent(second)
        height, width, channels = producer.out_shape
        pad_bottom = max((tiles - 1) * stride + tile_rows - pad_top - height, 0)
        has_borders = pad_top or pad_bottom
        call_rows = gcd(tile_rows, stride, pad_top, pad_bottom) if tile_rows > stride or has_borders else tile_rows
        if (call_rows < tile_rows or has_borders) and width * channels % WORD_BYTES:
            return None  # rows are filled and moved word by word
        in_rows = (call_rows - 1) * first.stride[0] + _extent(first)
        own, pads = (Pads(0, window.pads.left, 0, window.pads.right) for window in (first, second))
        return cls(
            tiles=tiles,
            producer=replace(
                producer, in_shape=producer.in_shape._replace(height=in_rows), window=replace(first, pads=own)
            ),
            consumer=replace(
                consumer, in_shape=consumer.in_shape._replace(height=tile_rows), window=replace(second, pads=pads)
            ),
            call_rows=call_rows,
            tile_rows=tile_rows,
            tile_stride=stride,
            pad_top=pad_top,
            height=height,
            in_row_stride=first.stride[0] * producer.in_shape.width * producer.in_shape.channels,
            out_tile_stride=out_rows * out.width * out.channels,
        )

    @cached_property
    def row_size(self) -> int:
        """Elements of a row of the tile."""
        return self.producer.out_shape.size // self.call_rows

    @property
    def tile_size(self) -> int:
        """Elements of the tile."""
        return self.tile_rows * self.row_size

    @property
    def halo_rows(self) -> int:
        """Rows that a tile shares with the one before it."""
        return max(self.tile_rows - self.tile_stride, 0)

    @property
    def out_rows(self) -> int:
        """Output rows of the consumer in a tile."""
        return self.consumer.out_shape.height

    @property
    def needed_rows(self) -> IntArray:
        """Rows of the producer's input, from the first one on, that each tile and all before it read."""
        stride = self.in_row_stride // (self.producer.in_shape.width * self.producer.in_shape.channels)
        extent = self.producer.in_shape.height - (self.call_rows - 1) * stride
        needed: IntArray = (np.minimum(self._begins + self.tile_rows, self.height) - 1) * stride + extent
        return needed

    @property
    def has_padding(self) -> bool:
        """Whether tiles have rows above or below the producer's output."""
        return self.pad_top > 0 or self._begins[-1] + self.tile_rows > self.height

    @cached_property
    def producer_calls(self) -> int:
        """Calls of the producer's kernel for all tiles."""
        fresh = self._fresh[:, None] + np.arange(0, self.tile_rows, self.call_rows)
        ends = self._begins[:, None] + self.tile_rows
        return int(np.sum((fresh >= 0) & (fresh < np.minimum(ends, self.height))))

    @property
    def moved_size(self) -> int:
        """Elements of all halos, moved from the end of a tile to its beginning."""
        return (self.tiles - 1) * self.halo_rows * self.row_size

    def lead(self, widths: Widths) -> Lead:
        """Return the in-place lead of the consumer's output (width y) over the producer's input (width x)."""
        firsts = np.maximum(self._fresh, 0) * self.in_row_stride
        ends = np.arange(1, self.tiles + 1) * self.out_tile_stride
        return Lead(lead_of_blocks(firsts, ends, widths, reads_first=True))

    @cached_property
    def _begins(self) -> IntArray:
        """The first row of every tile, counted in the producer's output: `tiles` numbers."""
        return np.arange(self.tiles) * self.tile_stride - self.pad_top

    @cached_property
    def _fresh(self) -> IntArray:
        """The first row of every tile after its halo, counted in the producer's output: `tiles` numbers."""
        return self._begins + np.where(np.arange(self.tiles) > 0, self.halo_rows, 0)


def _extent(window: Window) -> int:
    """Return the input rows from the first to the last that a window reads."""
    return (window.kernel[0] - 1) * window.dilation[0] + 1


def _pads_rows(window: Window) -> bool:
    return window.pads.top > 0 or window.pads.bottom > 0
