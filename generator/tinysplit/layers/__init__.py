"""One file a layer kind; `KINDS` lists them all by the name that templates and tables use."""

from tinysplit.layers.average_pool import AveragePool
from tinysplit.layers.base import Activation, Layer, Shape
from tinysplit.layers.conv import Conv
from tinysplit.layers.dense import Dense
from tinysplit.layers.depthwise_conv import DepthwiseConv
from tinysplit.layers.max_pool import MaxPool
from tinysplit.layers.softmax import Softmax
from tinysplit.layers.window import Pads, Window

KINDS: dict[str, type[Layer]] = {
    kind.kind: kind for kind in (Conv, DepthwiseConv, Dense, MaxPool, AveragePool, Softmax)
}

__all__ = [
    "KINDS",
    "Activation",
    "AveragePool",
    "Conv",
    "Dense",
    "DepthwiseConv",
    "Layer",
    "MaxPool",
    "Pads",
    "Shape",
    "Softmax",
    "Window",
]
