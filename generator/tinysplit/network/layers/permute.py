"""Reordering of values, where a Transpose or Reshape cannot be folded into the next layer."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.base import Layer, Shape, T


class Loop(NamedTuple):
    """A loop of `turns` iterations, each of which advances the source by `stride` elements."""

    turns: int
    stride: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Permute(Layer):
    """y.flat = x.flat[order], an order that nested loops can produce; `new_shape` is the shape of the output."""

    kind: ClassVar[str] = "permute"
    keeps_sign: ClassVar[bool] = True

    new_shape: Shape
    order: NDArray[np.int64]

    @property
    @override
    def keeps_format(self) -> bool:
        return True

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output."""
        return self.new_shape

    @property
    @override
    def operator_macc(self) -> int:
        """None: values are only moved."""
        return 0

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops that read the source in the order of the output, the outermost first."""
        return loops_of(self.order)

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        return quantized.clamped(self.moved(x))

    def moved(self, x: NDArray[T]) -> NDArray[T]:
        """Return values `x` (N x H x W x C) in the order of the output."""
        return x.reshape(len(x), -1)[:, self.order].reshape(len(x), *self.new_shape)


def loops_of(order: NDArray[np.int64]) -> tuple[Loop, ...]:
    """Return nested loops whose source index runs through `order`, the fewest that there are.

    The innermost loop runs over the longest run of elements at equal distance whose length divides the size; the first
    elements of its runs are an order of their own. Raises ValueError where there are no such loops.
    """
    if order.size == 1:
        return ()
    stride = int(order[1] - order[0])
    breaks = np.flatnonzero(np.diff(order) != stride)
    count = int(breaks[0]) + 1 if breaks.size else order.size
    rows = order.reshape(-1, count) if order.size % count == 0 else order.reshape(-1, 1)
    if (rows - rows[:, :1] != stride * np.arange(rows.shape[1])).any() or rows.shape[1] == 1:
        raise ValueError("no nested loops produce this order")
    return (*loops_of(rows[:, 0]), Loop(count, stride))


def has_loops(order: NDArray[np.int64]) -> bool:
    """Return whether there are nested loops for `order`."""
    try:
        loops_of(order)
    except ValueError:
        return False
    return True
