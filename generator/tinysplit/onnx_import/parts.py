"""Parts of what a layer computes: a range of rows, columns and channels, which Slice, Split and Gather take.

Where nothing else reads a layer, it computes such parts alone: no values are copied then.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from onnx import NodeProto

from tinysplit.network.layers import Conv, DepthwiseConv, Layer, MaxPool, Pads, Recurrent, Shape, Window
from tinysplit.network.parts import reads_whole_input, slice_of
from tinysplit.onnx_import.layout import IndexArray

TAKING = {"Gather", "Shape", "Slice", "Split"}  # operators that take parts, or no elements at all
MOVING = {"Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}  # whose readers may


@dataclass(frozen=True)
class Part:
    """Rows, columns and channels of a map, ascending: each of these combined with each."""

    rows: IndexArray
    columns: IndexArray
    channels: IndexArray

    @classmethod
    def of(cls, elements: IndexArray, shape: Shape) -> Self | None:
        """Return the part of a map of `shape` that has these elements, None if they are no combinations."""
        _, width, channels = shape
        axes = (elements // (width * channels), elements // channels % width, elements % channels)
        part = cls(*map(np.unique, axes))
        return part if part.shape.size == elements.size else None

    @property
    def shape(self) -> Shape:
        """Shape of the part."""
        return Shape(self.rows.size, self.columns.size, self.channels.size)

    def computed(self, layer: Layer) -> Layer | None:
        """Return the layer that computes this part of what `layer` does, None if no layer can."""
        if isinstance(layer, Recurrent):
            return self._last_step(layer)
        if not all(np.ptp(axis) == axis.size - 1 for axis in (self.rows, self.columns, self.channels)):
            return None
        cropped = _cropped(layer, self) if self.shape[:2] != layer.out_shape[:2] else layer
        if cropped is None or self.shape.channels == layer.out_shape.channels:
            return cropped
        channels = range(int(self.channels[0]), int(self.channels[-1]) + 1)
        return slice_of(cropped, channels) if reads_whole_input(cropped) else None

    def _last_step(self, layer: Recurrent) -> Layer | None:
        """Return the layer that keeps the state of its last step alone if the part is that."""
        _, width, channels = layer.out_shape
        step = int(self.rows[0]) * width + int(self.columns[0])
        is_last = self.shape == (1, 1, channels) and step == (0 if layer.reverse else layer.steps - 1)
        return replace(layer, only_last=True) if is_last else None


def _cropped(layer: Layer, part: Part) -> Layer | None:
    """Return a layer with a window that computes fewer rows and columns: it pads less."""
    if not isinstance(layer, Conv | DepthwiseConv | MaxPool):
        return None
    begins, ends = zip(
        *(
            _pads(layer.window, axis, int(kept[0]), kept.size, layer.in_shape[axis])
            for axis, kept in enumerate((part.rows, part.columns))
        ),
        strict=True,
    )
    pads = Pads(*begins, *ends)
    return replace(layer, window=replace(layer.window, pads=pads)) if min(pads) >= 0 else None


def _pads(window: Window, axis: int, first: int, count: int, size: int) -> tuple[int, int]:
    """Return the pads of an axis with `count` outputs from `first` on, a negative one where the input has to be cut."""
    stride, extent = window.stride[axis], window.dilation[axis] * (window.kernel[axis] - 1) + 1
    begin = window.pads[axis] - first * stride
    end = (count - 1) * stride + extent - size - begin
    return begin, end if end >= 0 else min(end + stride - 1, 0)


def read_in_parts(nodes: Sequence[NodeProto], outputs: Iterable[str]) -> set[str]:
    """Return the values, but the network's `outputs`, of which nodes read parts alone, or move them to such readers."""
    whole = set(outputs)
    parts: set[str] = set()
    for node in reversed(nodes):
        takes_parts = node.op_type in TAKING or (node.op_type in MOVING and node.output[0] in parts - whole)
        (parts if takes_parts else whole).update(node.input)
    return parts - whole
