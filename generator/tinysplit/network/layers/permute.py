"""Copies of values in another order, or of some of them: what no layer does that reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import Layer, Shape, T

LONG_LOOP = 8  # more iterations than compilers write one after the other


class Loop(NamedTuple):
    """A loop of `turns` iterations, each of which advances the source by `stride` elements.

    Where no stride does, `offsets` has the distance of each iteration from the first.
    """

    turns: int
    stride: int
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Permute(Layer):
    """y.flat = x.flat[order]: all values or some, once or several times; `new_shape` is the shape of the output.

    One that `keeps_integers` takes an input of the network, in its own format, of all inputs side by side.
    """

    kind: ClassVar[str] = "permute"
    keeps_sign: ClassVar[bool] = True

    new_shape: Shape
    order: NDArray[np.int64]

    @property
    @override
    def keeps_format(self) -> bool:
        return not self.keeps_integers

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
        """The loops that read the source in the order of the output from `order[0]` on, the outermost first."""
        return loops_of(self.order) if has_loops(self.order) else _loops_with_tables(self.order, self.new_shape)

    @property
    def is_ascending(self) -> bool:
        """Whether values are taken in their order in memory, so that the output may overlap the input."""
        return bool((np.diff(self.order) > 0).all())

    @property
    def copies_lines(self) -> bool:
        """Whether long loops copy neighbours that the output may overlap, which no compiler does in blocks."""
        loop = self.loops[-1] if self.loops else Loop(1, 1)
        return self.is_ascending and loop.stride == 1 and loop.turns > LONG_LOOP

    @override
    def weights_bytes(self, bits: int) -> int:
        """Return the bytes of the offsets that no loop with a stride gives."""
        return sum(values.nbytes for values in _tables(self.loops).values())

    @override
    def constants(self, _: LayerFormats) -> dict[str, IntArray]:
        """Return the offsets of each loop that has some, named by its number from 1."""
        return _tables(self.loops)

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        return quantized.clamped(self.moved(x))

    def moved(self, x: NDArray[T]) -> NDArray[T]:
        """Return values `x` (N x H x W x C) in the order of the output."""
        return x.reshape(len(x), -1)[:, self.order].reshape(len(x), *self.new_shape)


def _tables(loops: Sequence[Loop]) -> dict[str, IntArray]:
    """Return the offsets of loops, by number."""
    found = {f"offsets_{number}": np.array(each.offsets) for number, each in enumerate(loops, 1) if each.offsets}
    return {name: values.astype(np.min_scalar_type(int(-np.abs(values).max()))) for name, values in found.items()}


def _loops_with_tables(order: NDArray[np.int64], shape: Shape) -> tuple[Loop, ...]:
    """Return a loop for each axis of the output where each moves the source on its own, else one for all values."""
    grid = order.reshape(shape) - order[0]
    rows, columns, channels = grid[:, 0, 0], grid[0, :, 0], grid[0, 0, :]
    is_by_axis = (grid == rows[:, None, None] + columns[:, None] + channels).all()
    axes = (rows, columns, channels) if is_by_axis else (grid.ravel(),)
    return tuple(_loop(offsets) for offsets in axes if offsets.size > 1)


def _loop(offsets: NDArray[np.int64]) -> Loop:
    stride = int(offsets[1] - offsets[0])
    regular = (offsets == stride * np.arange(offsets.size)).all()
    return Loop(offsets.size, stride) if regular else Loop(offsets.size, 0, tuple(offsets.tolist()))


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
