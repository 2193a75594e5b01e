"""Builds networks layer by layer: published networks, and those of calibration and tests."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.graph import Graph
from tinysplit.network.layers import (
    Activation,
    Add,
    ArgMax,
    AveragePool,
    Cell,
    Concat,
    Conv,
    ConvTranspose,
    Dense,
    DepthwiseConv,
    Layer,
    Lookup,
    MatMul,
    MaxPool,
    Mul,
    Normalization,
    Pad,
    Pads,
    Permute,
    PRelu,
    Recurrent,
    Shape,
    Softmax,
    Upsample,
    Window,
)

RELU = Activation(0.0)


@dataclass
class NetworkBuilder:
    """Builder of a network with random weights. `value` is the current output, which the next layer reads.

    `after` starts a branch at an earlier value; `add`, `mul` and `concat` join branches.
    """

    name: str
    shape: Shape
    value: str = "input"
    layers: list[Layer] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def conv(
        self,
        channels: int,
        kernel: tuple[int, int] = (1, 1),
        stride: int | tuple[int, int] = 1,
        dilation: int = 1,
        activation: Activation = RELU,
        padded: bool = True,
        groups: int = 1,
    ) -> Self:
        """Add a convolution; `padded` keeps the size of the map but for `stride`."""
        weights = self._weights(channels, *kernel, self.shape.channels // groups)
        bias = self._random(channels)
        strides = (stride, stride) if isinstance(stride, int) else stride
        pads = _pads(kernel, dilation) if padded else Pads()
        window = Window(kernel, strides, (dilation, dilation), pads)
        return self._add(Conv, weights=weights, bias=bias, window=window, activation=activation, groups=groups)

    def depthwise(self, kernel: tuple[int, int] = (3, 3), stride: int = 1, activation: Activation = RELU) -> Self:
        """Add a depthwise convolution that keeps the size of the map but for `stride`."""
        channels = self.shape.channels
        weights = self._random(*kernel, channels) / np.sqrt(np.prod(kernel), dtype=np.float32)
        bias = self._random(channels)
        window = Window(kernel, (stride, stride), pads=_pads(kernel, 1))
        return self._add(DepthwiseConv, weights=weights, bias=bias, window=window, activation=activation)

    def max_pool(self, size: int, stride: int) -> Self:
        """Add a max pool without padding."""
        return self._add(MaxPool, window=Window((size, size), (stride, stride)))

    def average_pool(self, size: int = 0) -> Self:
        """Add an average pool with equal size and stride; a global one without a size."""
        kernel = (size, size) if size else self.shape[:2]
        return self._add(AveragePool, window=Window(kernel, kernel))

    def dense(self, outputs: int) -> Self:
        """Add a fully connected layer."""
        return self._add(Dense, weights=self._weights(outputs, self.shape.size), bias=self._random(outputs))

    def softmax(self, *, is_causal: bool = False) -> Self:
        """Add a softmax, in which rows of a causal one mask the channels behind their own number."""
        height, _, channels = self.shape
        later = np.arange(channels) > np.arange(height)[:, np.newaxis, np.newaxis]
        return self._add(Softmax, masked=later if is_causal else None)

    def arg_max(self) -> Self:
        """Add the number of the largest channel."""
        return self._add(ArgMax)

    def tanh(self) -> Self:
        """Add a tanh, computed from a lookup table."""
        return self._add(Lookup, function=np.tanh)

    def prelu(self) -> Self:
        """Add a PRelu with one slope per channel."""
        return self._add(PRelu, slopes=self._random(self.shape.channels))

    def normalize(self, groups: int = 1, *, over_map: bool = False) -> Self:
        """Normalize groups of channels, of each pixel or over the map."""
        gamma, beta = self._random(self.shape.channels), self._random(self.shape.channels)
        return self._add(Normalization, gamma=gamma, beta=beta, epsilon=1e-5, groups=groups, over_map=over_map)

    def recurrent(
        self, units: int, cell: Cell = Cell.GRU, *, resets_product: bool = True, is_relu: bool = False
    ) -> Self:
        """Add a recurrent layer over all pixels."""
        rows = cell.gates * units
        return self._add(
            Recurrent,
            cell=cell,
            weights_x=self._weights(rows, self.shape.channels),
            weights_h=self._weights(rows, units),
            bias_x=self._random(rows),
            bias_h=self._random(rows),
            first_h=self._random(0),
            first_c=self._random(0),
            resets_product=resets_product and cell is Cell.GRU,
            is_relu=is_relu,
        )

    def upsample(self, factor: int) -> Self:
        """Repeat every pixel in both directions."""
        return self._add(Upsample, factors=(factor, factor))

    def pad(self, size: int) -> Self:
        """Add rows and columns of zeros on all sides."""
        return self._add(Pad, pads=Pads(size, size, size, size), value=0.0)

    def transpose(self) -> Self:
        """Add a transpose of height and channels."""
        order = np.arange(self.shape.size).reshape(self.shape).transpose(2, 1, 0)
        return self._add(Permute, new_shape=Shape(*order.shape), order=order.ravel())

    def part(self, *axes: Sequence[int] | slice) -> Self:
        """Take elements of rows, columns and channels, by their indices."""
        order = np.arange(self.shape.size).reshape(self.shape)
        for axis, taken in enumerate(axes):
            order = np.moveaxis(np.moveaxis(order, axis, 0)[taken], 0, axis)
        return self._add(Permute, new_shape=Shape(*order.shape), order=order.ravel())

    def shuffle(self, groups: int) -> Self:
        """Exchange channels of `groups` groups."""
        height, width, channels = self.shape
        order = np.arange(self.shape.size).reshape(height, width, groups, channels // groups).swapaxes(2, 3)
        return self._add(Permute, new_shape=self.shape, order=order.ravel())

    def conv_transpose(self, channels: int, kernel: tuple[int, int], stride: int) -> Self:
        """Add a transposed convolution without cropping."""
        return self._add(
            ConvTranspose,
            weights=self._weights(channels, *kernel, self.shape.channels),
            bias=self._random(channels),
            stride=(stride, stride),
            dilation=(1, 1),
            pads=Pads(),
            growth=(0, 0),
        )

    def after(self, value: str) -> Self:
        """Continue after an earlier value."""
        self.value, self.shape = value, self.shapes[value]
        return self

    def add(self, *others: str, activation: Activation = RELU) -> Self:
        """Add other values of the same shape."""
        return self._join(Add, others, signs=(1,) * (1 + len(others)), activation=activation)

    def mul(self, other: str) -> Self:
        """Multiply by another value of the same shape or with one number per channel."""
        return self._join(Mul, (other,))

    def matmul(self, other: str, *, transposed: bool = False) -> Self:
        """Multiply by the matrices of another value, which has a row for each term, or for each output."""
        scale = self.shape.channels**-0.5
        return self._join(MatMul, (other,), transposed=transposed, scale=scale)

    def concat(self, *others: str) -> Self:
        """Append the channels of other values."""
        return self._join(Concat, others)

    def graph(self) -> Graph:
        """Return the network; there is no file, so the hash is that of its name."""
        return Graph.of_layers(self.name, self.layers, hashlib.sha256(self.name.encode()).hexdigest())

    def _random(self, *shape: int) -> NDArray[np.float32]:
        """Return normally distributed numbers, as weights are: kernels may depend on the distribution."""
        return self.rng.standard_normal(shape).astype(np.float32)

    def _weights(self, channels: int, *shape: int) -> NDArray[np.float32]:
        """Return weights scaled so that the variance of values is kept."""
        weights: NDArray[np.float32] = self._random(channels, *shape) / np.sqrt(np.prod(shape), dtype=np.float32)
        return weights

    def _join(self, kind: type[Layer], others: tuple[str, ...], **fields: Any) -> Self:  # noqa: ANN401 (the kind's own)
        return self._add(kind, others, other_shapes=tuple(self.shapes[name] for name in others), **fields)

    def _add(self, kind: type[Layer], others: tuple[str, ...] = (), **fields: Any) -> Self:  # noqa: ANN401 (the kind's)
        number = len(self.layers) + 1
        self.shapes.setdefault(self.value, self.shape)
        inputs = (self.value, *others)
        layer = kind(name=f"layer{number}", inputs=inputs, output=f"value{number}", in_shape=self.shape, **fields)
        self.layers.append(layer)
        self.value, self.shape = layer.output, layer.out_shape
        self.shapes[self.value] = self.shape
        return self


def _pads(kernel: tuple[int, int], dilation: int) -> Pads:
    height, width = (dilation * (size - 1) for size in kernel)
    return Pads(height // 2, width // 2, height - height // 2, width - width // 2)
