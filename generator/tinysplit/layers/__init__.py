"""One file a layer kind; `KINDS` lists them all by the name that templates and tables use."""

from tinysplit.layers.add import Add
from tinysplit.layers.average_pool import AveragePool
from tinysplit.layers.base import Activation, Layer, Shape
from tinysplit.layers.concat import Concat
from tinysplit.layers.conv import Conv
from tinysplit.layers.dense import Dense
from tinysplit.layers.depthwise_conv import DepthwiseConv
from tinysplit.layers.max_pool import MaxPool
from tinysplit.layers.mul import Mul
from tinysplit.layers.softmax import Softmax
from tinysplit.layers.window import Pads, Window

KINDS: dict[str, type[Layer]] = {
    kind.kind: kind for kind in (Conv, DepthwiseConv, Dense, MaxPool, AveragePool, Softmax, Add, Mul, Concat)
}

__all__ = [
    "KINDS",
    "Activation",
    "Add",
    "AveragePool",
    "Concat",
    "Conv",
    "Dense",
    "DepthwiseConv",
    "Layer",
    "MaxPool",
    "Mul",
    "Pads",
    "Shape",
    "Softmax",
    "Window",
]
