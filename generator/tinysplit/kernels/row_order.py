"""The order in which a kernel reads input rows and completes output rows: what a streamed transfer needs.

A kernel with a row order takes its input while rows of it still arrive, and gives away rows of its output before the
last one is computed. Layers take part in a streamed transfer only where this order and their place in the arena allow.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tinysplit.kernels.in_place import Lead
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.arg_max import ArgMax
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.normalization import Normalization
from tinysplit.network.layers.pool import Pool
from tinysplit.network.layers.softmax import Softmax


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
    if isinstance(layer, Softmax) and layer.masked is not None:
        return RowOrder.none("its mask is that of all rows")
    if rows_needed(layer) is None:
        return RowOrder.none(f"{layer.kind} does not compute row after row")
    return RowOrder(by_calls=not isinstance(layer, Conv | DepthwiseConv | Pool))


def rows_needed(layer: Layer) -> IntArray | None:
    """Return, for each output row, the number of input rows from the first one on that it and all rows before it read.

    None for a layer whose output rows do not follow its input rows.
    """
    if isinstance(layer, Normalization) and layer.over_map:
        return None
    rows = np.arange(layer.out_shape.height)
    if isinstance(layer, Conv | DepthwiseConv | Pool):
        ends = rows * layer.window.stride[0] + rows_ahead(layer)
        needed: IntArray = ends.clip(0, layer.in_shape.height)
        return needed
    return rows + 1 if isinstance(layer, ArgMax | Concat) or layer.is_elementwise(0) else None


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
    return layer.with_in_shapes([shape._replace(height=1) for shape in layer.in_shapes])


def may_arrive_in_place(arrived: IntArray, written: IntArray, in_bytes: int, distance: int) -> bool:
    """Return whether rows of an input may still arrive while an output over it is written, step by step.

    The input begins `distance` bytes after the output. Before each step its first `arrived` bytes are awaited, and
    after it the first bytes of the output are `written`. Nothing may arrive where the output has been written already;
    rows that no step reads would do that.
    """
    if are_apart(in_bytes, int(written[-1]), distance):
        return True
    is_late = arrived < in_bytes
    return bool(np.all(written[is_late] - distance <= arrived[is_late]))


def keeps_lead(layer: Layer, k: int, widths: Widths, distance: int, row_lead: Lead | None) -> bool:
    """Return whether a kernel that is called row by row may have its output over input k, `distance` bytes before it.

    `row_lead` is that of a call: the distance changes from row to row. A row of the output must not reach into the next
    rows of the input, either.
    """
    in_bytes, out_bytes = layer.in_shapes[k].size * widths.x // 8, layer.out_shape.size * widths.y // 8
    if are_apart(in_bytes, out_bytes, distance):
        return True
    if row_lead is None:
        return False
    height = layer.out_shape.height
    distances = distance + np.arange(height) * (in_bytes // layer.in_shapes[k].height - out_bytes // height)
    keeps = np.all(distances >= row_lead.least_bytes) and np.all(distances[1:] >= 0)
    return bool(keeps) and distance % row_lead.unit_bytes == 0


def are_apart(in_bytes: int, out_bytes: int, distance: int) -> bool:
    """Return whether an input that begins `distance` bytes after an output does not overlap it."""
    return distance >= out_bytes or distance <= -in_bytes
