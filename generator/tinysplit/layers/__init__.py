"""One file a layer kind; `KINDS` lists them all by the name that templates and tables use."""

from tinysplit.layers.add import Add
from tinysplit.layers.average_pool import AveragePool
from tinysplit.layers.base import Activation, Layer, Shape
from tinysplit.layers.concat import Concat
from tinysplit.layers.conv import Conv
from tinysplit.layers.conv_transpose import ConvTranspose
from tinysplit.layers.dense import Dense
from tinysplit.layers.depthwise_conv import DepthwiseConv
from tinysplit.layers.lookup import Lookup
from tinysplit.layers.max_pool import MaxPool
from tinysplit.layers.mul import Mul
from tinysplit.layers.pad import Pad
from tinysplit.layers.permute import Permute
from tinysplit.layers.prelu import PRelu
from tinysplit.layers.softmax import Softmax
from tinysplit.layers.upsample import Upsample
from tinysplit.layers.window import Pads, Window

KINDS: dict[str, type[Layer]] = {
    kind.kind: kind
    for kind in (
        *(Conv, DepthwiseConv, ConvTranspose, Dense, MaxPool, AveragePool, Softmax),
        *(Add, Mul, Concat, Lookup, PRelu, Upsample, Pad, Permute),
    )
}

__all__ = [
    "KINDS",
    "Activation",
    "Add",
    "AveragePool",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Dense",
    "DepthwiseConv",
    "Layer",
    "Lookup",
    "MaxPool",
    "Mul",
    "PRelu",
    "Pad",
    "Pads",
    "Permute",
    "Shape",
    "Softmax",
    "Upsample",
    "Window",
]
