"""Networks written down from their published architecture, without weights that mean anything."""

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

RELU6 = Activation(0.0, 6.0)
RELU = Activation(0.0)


@dataclass
class Builder:
    """A chain of layers; `same` pads as TensorFlow does."""

    shape: Shape
    layers: list[Layer] = field(default_factory=list)

    def add(self, layer: Layer) -> None:
        self.layers.append(layer)
        self.shape = layer.out_shape

    def names(self) -> dict[str, Any]:
        name = f"layer{len(self.layers) + 1}"
        return {"name": name, "inputs": (f"{name}_in",), "output": f"{name}_out", "in_shape": self.shape}

    def conv(self, channels: int, kernel: int = 1, stride: int = 1, activation: Activation = RELU) -> None:
        weights = np.zeros((channels, kernel, kernel, self.shape.channels), np.float32)
        window = same(self.shape, kernel, stride)
        bias = np.zeros(channels, np.float32)
        self.add(Conv(**self.names(), weights=weights, bias=bias, window=window, activation=activation))

    def depthwise(self, kernel: int = 3, stride: int = 1, activation: Activation = RELU) -> None:
        weights = np.zeros((kernel, kernel, self.shape.channels), np.float32)
        window = same(self.shape, kernel, stride)
        bias = np.zeros(self.shape.channels, np.float32)
        self.add(DepthwiseConv(**self.names(), weights=weights, bias=bias, window=window, activation=activation))

    def max_pool(self, size: int) -> None:
        self.add(MaxPool(**self.names(), window=Window((size, size), (size, size))))

    def global_average_pool(self) -> None:
        self.add(AveragePool(**self.names(), window=Window((self.shape.height, self.shape.width))))

    def dense(self, outputs: int) -> None:
        weights = np.zeros((outputs, self.shape.size), np.float32)
        self.add(Dense(**self.names(), weights=weights, bias=np.zeros(outputs, np.float32)))

    def softmax(self) -> None:
        self.add(Softmax(**self.names()))

    def graph(self, name: str) -> Graph:
        in_shape = self.layers[0].in_shape
        return Graph(
            name=name,
            sha256=f"{name:0<64}".encode().hex()[:64],
            layers=tuple(self.layers),
            input_name="x",
            sample_shape=tuple(in_shape),
            input_order=np.arange(in_shape.size),
            output_shape=tuple(self.shape),
            output_order=np.arange(self.shape.size),
        )


def same(shape: Shape, kernel: int, stride: int) -> Window:
    begins, ends = [], []
    for size in shape[:2]:
        total = max(0, (-(-size // stride) - 1) * stride + kernel - size)
        begins.append(total // 2)
        ends.append(total - total // 2)
    return Window((kernel, kernel), (stride, stride), pads=Pads(begins[0], begins[1], ends[0], ends[1]))


def mobilenet_v1(alpha: float) -> Graph:
    """MobileNet v1 for 128x128x3 and 1000 classes (arXiv 1704.04861, Table 1); Keras truncates channel counts."""
    net = Builder(Shape(128, 128, 3))
    net.conv(int(alpha * 32), 3, 2, RELU6)
    for channels, stride in (
        *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
        *(((512, 1),) * 5),
        *((1024, 2), (1024, 1)),
    ):
        net.depthwise(3, stride, RELU6)
        net.conv(int(alpha * channels), activation=RELU6)
    net.global_average_pool()
    net.dense(1000)
    net.softmax()
    return net.graph(f"mobilenet_{alpha:.2f}")


def yamnet_256() -> Graph:
    """First six blocks of YAMNet for 96x64 patches, and a pool (seed 000, Table 2)."""
    net = Builder(Shape(96, 64, 1))
    net.conv(32, 3, 2)
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        net.depthwise(3, stride)
        net.conv(channels)
    net.depthwise(3, 2)
    net.global_average_pool()
    return net.graph("yamnet_256")


def tiny_cnn() -> Graph:
    """Three blocks of convolution and pooling and a classifier, for 28x28 digits."""
    net = Builder(Shape(28, 28, 1))
    for channels in (8, 16, 24):
        net.conv(channels, 3)
        net.max_pool(2)
    net.dense(10)
    return net.graph("tiny_cnn")
