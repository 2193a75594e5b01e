"""A network for tests, without weights that mean anything."""

from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.reproduce.network_builder import NetworkBuilder


def tiny_cnn() -> Graph:
    """Three blocks of convolution and pooling and a classifier, for 28x28 digits."""
    net = NetworkBuilder("tiny_cnn", Shape(28, 28, 1))
    for channels in (8, 16, 24):
        net.conv(channels, (3, 3)).max_pool(2, 2)
    return net.dense(10).graph()
