"""Layers that walk together: rows of one in place of its whole output, each used up before the next are computed."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd
from typing import Self

import numpy as np

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.kernels.in_place import Lead, lead_of_blocks
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers import AveragePool, Conv, DepthwiseConv, Layer, MaxPool, Pads, Window


@dataclass(frozen=True, eq=False)
class Bands:
    """A convolution and the layer behind it, `count` times on a band of rows between them.

    The producer makes `unit` rows of a band at a time. Rows above and below the map are filled with the zero point,
    and those that the next band sees, too, are moved to its beginning.
    """

    count: int
    producer: Layer  # of `unit` rows
    consumer: Layer  # of one band
    unit: int
    rows: int  # of a band
    step: int  # rows from a band to the next
    above: int  # rows of the first band that lie above the map
    height: int  # rows of the map
    in_step: int  # elements of the input from a row of the map to the next; what these are made from may overlap
    out_step: int  # elements of the output from a band to the next

    @classmethod
    def of(cls, producer: Layer, consumer: Layer, out_rows: int = 1) -> Self | None:
        """Return how they walk together, `out_rows` rows of the consumer's output a band; None where they cannot.

        Every band has to look alike, so that the producer may have no padding above or below, and a pool neither,
        whose padding counts as nothing.
        """
        if not isinstance(producer, Conv | DepthwiseConv) or _pads_rows(producer.window):
            return None
        if not isinstance(consumer, MaxPool | AveragePool | Conv | DepthwiseConv):
            return None
        first, second, out = producer.window, consumer.window, consumer.out_shape
        if isinstance(consumer, MaxPool | AveragePool) and _pads_rows(second):
            return None
        if out.height % out_rows or out.height == out_rows:
            return None
        count, step, above = out.height // out_rows, out_rows * second.stride[0], second.pads.top
        rows = (out_rows - 1) * second.stride[0] + _extent(second)
        height, width, channels = producer.out_shape
        below = max((count - 1) * step + rows - above - height, 0)
        unit = gcd(rows, step, above, below) if rows > step or above or below else rows
        if (unit < rows or above or below) and width * channels % WORD_BYTES:
            return None  # rows are filled and moved word by word
        in_rows = (unit - 1) * first.stride[0] + _extent(first)
        pads = Pads(0, second.pads.left, 0, second.pads.right)
        return cls(
            count=count,
            producer=replace(producer, in_shape=producer.in_shape._replace(height=in_rows)),
            consumer=replace(
                consumer, in_shape=consumer.in_shape._replace(height=rows), window=replace(second, pads=pads)
            ),
            unit=unit,
            rows=rows,
            step=step,
            above=above,
            height=height,
            in_step=first.stride[0] * producer.in_shape.width * producer.in_shape.channels,
            out_step=out_rows * out.width * out.channels,
        )

    @cached_property
    def row_size(self) -> int:
        """Elements of a row that lies between both layers."""
        return self.producer.out_shape.size // self.unit

    @property
    def rows_size(self) -> int:
        """Elements that lie between both layers."""
        return self.rows * self.row_size

    @property
    def shared(self) -> int:
        """Rows that a band shares with the one before it."""
        return max(self.rows - self.step, 0)

    @property
    def has_padding(self) -> bool:
        """Whether bands reach over the map."""
        return self.above > 0 or self._begins[-1] + self.rows > self.height

    @property
    def calls(self) -> int:
        """How often the producer runs."""
        fresh = self._fresh[:, None] + np.arange(0, self.rows, self.unit)
        ends = self._begins[:, None] + self.rows
        return int(np.sum((fresh >= 0) & (fresh < np.minimum(ends, self.height))))

    @property
    def moved_size(self) -> int:
        """Elements that are moved from the end of bands to the beginning of the next."""
        return (self.count - 1) * self.shared * self.row_size

    def lead(self, widths: Widths) -> Lead:
        """Return how the consumer's output may lie over the producer's input: x of the one, y of the other."""
        firsts, ends = np.maximum(self._fresh, 0) * self.in_step, np.arange(1, self.count + 1) * self.out_step
        return Lead(lead_of_blocks(firsts, ends, widths, reads_first=True))

    @cached_property
    def _begins(self) -> IntArray:
        """The rows of the map with which bands begin."""
        return np.arange(self.count) * self.step - self.above

    @cached_property
    def _fresh(self) -> IntArray:
        """The rows of the map with which the part of each band begins that the one before it does not have."""
        return self._begins + np.where(np.arange(self.count) > 0, self.shared, 0)


def _extent(window: Window) -> int:
    """Return the rows under a window."""
    return (window.kernel[0] - 1) * window.dilation[0] + 1


def _pads_rows(window: Window) -> bool:
    return window.pads.top > 0 or window.pads.bottom > 0
