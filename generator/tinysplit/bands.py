"""Layers that walk together: rows of one in place of its whole output, each used up before the next are computed."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from tinysplit.layers import AveragePool, Conv, DepthwiseConv, Layer, MaxPool, Window
from tinysplit.techniques import Widths
from tinysplit.techniques.traversal import Lead, lead_of_blocks


@dataclass(frozen=True, eq=False)
class Bands:
    """A convolution and the pool behind it, `count` times on a band of rows that makes one row of the pool's output."""

    count: int
    producer: Layer  # of one band
    consumer: Layer
    in_step: int  # elements from a band of the input to the next; they may overlap
    out_step: int

    @classmethod
    def of(cls, producer: Layer, consumer: Layer) -> Self | None:
        """Return how they walk together; None where they cannot.

        Every band has to look alike, so that neither may have padding above or below, and none of the rows may be
        needed twice.
        """
        if not isinstance(producer, Conv | DepthwiseConv) or not isinstance(consumer, MaxPool | AveragePool):
            return None
        first, second = producer.window, consumer.window
        rows = _extent(second)
        if any((first.pads.top, first.pads.bottom, second.pads.top, second.pads.bottom)) or rows > second.stride[0]:
            return None
        in_rows = (rows - 1) * first.stride[0] + _extent(first)
        row_elements = producer.in_shape.width * producer.in_shape.channels
        return cls(
            count=consumer.out_shape.height,
            producer=replace(producer, in_shape=producer.in_shape._replace(height=in_rows)),
            consumer=replace(consumer, in_shape=consumer.in_shape._replace(height=rows)),
            in_step=second.stride[0] * first.stride[0] * row_elements,
            out_step=consumer.out_shape.width * consumer.out_shape.channels,
        )

    @cached_property
    def rows_size(self) -> int:
        """Elements that lie between both layers."""
        return self.producer.out_shape.size

    def lead(self, widths: Widths) -> Lead:
        """Return how the pool's output may lie over the input of the convolution, whose widths these are."""
        bands = np.arange(self.count)
        return Lead(lead_of_blocks(bands * self.in_step, (bands + 1) * self.out_step, widths, reads_first=True))


def _extent(window: Window) -> int:
    """Return the rows under a window."""
    return (window.kernel[0] - 1) * window.dilation[0] + 1
