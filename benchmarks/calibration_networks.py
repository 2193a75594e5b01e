"""Small networks whose layers are many shapes of every kind; none of them is a network that anybody measures."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinysplit.graph import Graph
from tinysplit.layers import (
    Activation,
    AveragePool,
    Conv,
    Dense,
    DepthwiseConv,
    Layer,
    MaxPool,
    Pads,
    Shape,
    Softmax,
    Window,
)

RELU = Activation(0.0)


@dataclass
class Chain:
    """A network that grows at its end; weights are random."""

    name: str
    shape: Shape
    layers: list[Layer] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def conv(self, channels: int, kernel: tuple[int, int] = (1, 1), stride: int = 1, dilation: int = 1) -> "Chain":
        """Add a convolution that keeps the size of the map but for `stride`."""
        weights = self._random(channels, *kernel, self.shape.channels)
        window = _padded(kernel, stride, dilation)
        return self._add(Conv, weights=weights, bias=self._random(channels), window=window, activation=RELU)

    def depthwise(self, kernel: tuple[int, int] = (3, 3), stride: int = 1) -> "Chain":
        """Add a depthwise convolution that keeps the size of the map but for `stride`."""
        channels = self.shape.channels
        weights, bias = self._random(*kernel, channels), self._random(channels)
        return self._add(DepthwiseConv, weights=weights, bias=bias, window=_padded(kernel, stride, 1), activation=RELU)

    def max_pool(self, size: int, stride: int) -> "Chain":
        """Add a pool without padding."""
        return self._add(MaxPool, window=Window((size, size), (stride, stride)))

    def average_pool(self, size: int = 0) -> "Chain":
        """Add a pool that does not overlap itself; over the whole map without a size."""
        kernel = (size, size) if size else self.shape[:2]
        return self._add(AveragePool, window=Window(kernel, kernel))

    def dense(self, outputs: int) -> "Chain":
        """Add a fully connected layer."""
        return self._add(Dense, weights=self._random(outputs, self.shape.size), bias=self._random(outputs))

    def softmax(self) -> "Chain":
        """Add a softmax."""
        return self._add(Softmax)

    def graph(self) -> Graph:
        """Return the network."""
        shape = self.layers[0].in_shape
        return Graph(
            name=self.name,
            sha256="",
            layers=tuple(self.layers),
            input_name="input",
            sample_shape=tuple(shape),
            input_order=np.arange(shape.size),
            output_shape=tuple(self.shape),
            output_order=np.arange(self.shape.size),
        )

    def _random(self, *shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        return self.rng.uniform(-1, 1, shape).astype(np.float32)

    def _add(self, kind: type[Layer], **fields: Any) -> "Chain":  # noqa: ANN401 (the kind's own)
        number = len(self.layers)
        inputs = (self.layers[-1].output if self.layers else "input",)
        layer = kind(name=f"layer{number}", inputs=inputs, output=f"value{number}", in_shape=self.shape, **fields)
        self.layers.append(layer)
        self.shape = layer.out_shape
        return self


def _padded(kernel: tuple[int, int], stride: int, dilation: int) -> Window:
    height, width = (dilation * (size - 1) for size in kernel)
    pads = Pads(height // 2, width // 2, height - height // 2, width - width // 2)
    return Window(kernel, (stride, stride), (dilation, dilation), pads)


def calibration_networks() -> tuple[Graph, ...]:
    """Return the networks; with 16 bits the largest needs 28 000 bytes of RAM."""
    pointwise = Chain("pointwise", Shape(10, 14, 20)).depthwise((3, 5)).conv(36).depthwise().conv(30).conv(70, stride=2)
    deep = Chain("deep", Shape(4, 6, 90)).depthwise().conv(80).depthwise((3, 3), 2).conv(100).depthwise((2, 2)).conv(50)
    image = Chain("image", Shape(24, 24, 3)).conv(8, (3, 3)).depthwise().conv(14).depthwise((3, 3), 2).conv(24)
    digits = Chain("digits", Shape(26, 26, 1)).conv(6, (5, 5)).max_pool(2, 2).conv(12, (3, 3)).max_pool(3, 2)
    sound = Chain("sound", Shape(40, 12, 1)).conv(40, (8, 4), 2).depthwise((3, 3)).conv(56)
    mixed = Chain("mixed", Shape(15, 15, 9)).conv(15, (3, 3), 1, 2).max_pool(3, 1).conv(24, (3, 3), 2).average_pool(2)
    return (
        pointwise.max_pool(2, 1).average_pool().dense(40).softmax().graph(),
        deep.average_pool().dense(96).dense(7).softmax().graph(),
        image.max_pool(2, 2).conv(20, (3, 3)).conv(33, (2, 2)).average_pool().dense(10).softmax().graph(),
        digits.conv(16, (3, 3)).conv(10, (5, 5)).dense(84).dense(20).softmax().graph(),
        sound.average_pool().dense(12).softmax().graph(),
        mixed.conv(31, (3, 3)).dense(30).dense(64).dense(100).softmax().graph(),
    )
