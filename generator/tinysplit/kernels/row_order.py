"""The order in which a kernel reads input rows and completes output rows: what a streamed transfer needs.

A kernel with a row order takes its input while rows of it still arrive, and gives away rows of its output before the
last one is computed. Layers take part in a streamed transfer only where this order and their place in the arena allow.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tinysplit.kernels.in_place import Lead
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.joining import Joining
from tinysplit.network.layers.pool import Pool


@dataclass(frozen=True)
class RowOrder:
    """A kernel computes all output rows from the first to the last, `passes` times.

    An output row reads no input rows after those of `rows_needed`, from the first pass on; it is complete in the last
    pass. `by_calls`: the kernel is called once for every row, with the shapes of `one_row`. `reason` says why there is
    no such order; it is empty where there is one.
    """

    passes: int = 1
    by_calls: bool = False
    reason: str = ""

    @classmethod
    def none(cls, reason: str) -> Self:
        """Return that there is no row order, and why."""
        return cls(reason=reason)


def usual_order(layer: Layer) -> RowOrder:
    """Return the order of a kernel whose outer loop runs over output rows, or over elements."""
    if layer.out_shape.height == 1:
        return RowOrder.none("its output has one row")
    if rows_needed(layer) is None:
        return RowOrder.none(f"{layer.kind} does not compute row after row")
    return RowOrder(by_calls=not isinstance(layer, Conv | DepthwiseConv | Pool))


def rows_needed(layer: Layer) -> IntArray | None:
    """Return, for each output row, the number of input rows from the first one on that it and all rows before it read.

    None for a layer whose output rows do not follow its input rows.
    """
    rows = np.arange(layer.out_shape.height)
    if isinstance(layer, Conv | DepthwiseConv | Pool):
        ends = rows * layer.window.stride[0] + rows_ahead(layer)
        needed: IntArray = ends.clip(0, layer.in_shape.height)
        return needed
    return rows + 1 if isinstance(layer, Concat) or layer.is_elementwise(0) else None


def rows_ahead(layer: Layer) -> int:
    """Return the number of input rows that the first output row needs, below 1 where it reads padding alone."""
    if not isinstance(layer, Conv | DepthwiseConv | Pool):
        return 1
    window = layer.window
    return (window.kernel[0] - 1) * window.dilation[0] + 1 - window.pads.top


def one_row(layer: Layer) -> Layer:
    """Return a layer that computes one row of the output of `layer`, whose row order is `by_calls`.

    Inputs with a single row, as those that serve every pixel, stay as they are.
    """
    first, *others = (shape._replace(height=1) for shape in layer.in_shapes)
    if isinstance(layer, Joining):
        return replace(layer, in_shape=first, other_shapes=tuple(others))
    return replace(layer, in_shape=first)


def may_arrive_in_place(layer: Layer, k: int, widths: Widths, distance: int) -> bool:
    """Return whether rows of input k, of width `widths.x`, may arrive while `layer` writes its output row by row.

    The input begins `distance` bytes after the output. No row may arrive where the output has been written already;
    rows that no output row reads would do that. The kernel's lead is kept besides.
    """
    needed = rows_needed(layer)
    if needed is None:
        return False
    in_bytes, out_bytes = _sizes(layer, k, widths)
    if distance >= out_bytes or distance <= -in_bytes:
        return True
    ends = np.arange(1, layer.out_shape.height + 1) * (out_bytes // layer.out_shape.height) - distance
    arriving = needed * (in_bytes // layer.in_shapes[k].height)
    return bool(np.all(ends[arriving < in_bytes] <= arriving[arriving < in_bytes]))


def keeps_lead(layer: Layer, k: int, widths: Widths, distance: int, row_lead: Lead | None) -> bool:
    """Return whether a kernel that is called row by row may have its output over input k, `distance` bytes before it.

    `row_lead` is that of a call: the distance changes from row to row.
    """
    in_bytes, out_bytes = _sizes(layer, k, widths)
    if distance >= out_bytes or distance <= -in_bytes:
        return True
    if row_lead is None:
        return False
    height = layer.out_shape.height
    changes = np.arange(height) * (in_bytes // layer.in_shapes[k].height - out_bytes // height)
    return bool(np.all(distance + changes >= row_lead.least_bytes)) and distance % row_lead.unit_bytes == 0


def _sizes(layer: Layer, k: int, widths: Widths) -> tuple[int, int]:
    """Return the bytes of input k and of the output."""
    return layer.in_shapes[k].size * widths.x // 8, layer.out_shape.size * widths.y // 8
