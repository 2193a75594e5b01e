"""Small networks for tests."""

import numpy as np
from numpy.typing import ArrayLike

from tinysplit.network.graph import Graph
from tinysplit.network.layers import Activation, Dense, Layer, Shape
from tinysplit.network.network_builder import NetworkBuilder

NONE, RELU = Activation(), Activation(0.0, np.inf)


def tiny_cnn() -> Graph:
    """Return three blocks of convolution and pooling and a classifier for 28x28 digits, with arbitrary weights."""
    net = NetworkBuilder("tiny_cnn", Shape(28, 28, 1))
    for channels in (8, 16, 24):
        net.conv(channels, (3, 3)).max_pool(2, 2)
    return net.dense(10).graph()


def dense(
    weights: ArrayLike, bias: ArrayLike, names: tuple[str, str, str] = ("fc", "x", "y"), activation: Activation = NONE
) -> Dense:
    """Return a fully connected layer with weights `outputs x inputs`; `names` are its own, its input's and output's."""
    name, x, y = names
    weights, bias = np.array(weights, np.float32), np.array(bias, np.float32)
    shape = Shape(1, 1, weights.shape[1])
    return Dense(name=name, inputs=(x,), output=y, in_shape=shape, weights=weights, bias=bias, activation=activation)


def chain(*layers: Layer) -> Graph:
    """Return the graph of layers that read each other."""
    return Graph.of_layers("chain", layers)
