"""One file per layer kind; `KINDS` has them all by the name that templates and tables use.

The place of a kind in `KINDS` is its code in weights files: it never changes, new kinds go to the end.
"""

from tinysplit.network.layers.add import Add
from tinysplit.network.layers.arg_max import ArgMax
from tinysplit.network.layers.average_pool import AveragePool
from tinysplit.network.layers.base import Activation, Layer, Shape
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.conv_transpose import ConvTranspose
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.distributed.partial_sum import AverageOfSums, PartialSum
from tinysplit.network.layers.distributed.views import RowJoin, RowSlice
from tinysplit.network.layers.lookup import Lookup
from tinysplit.network.layers.matmul import MatMul
from tinysplit.network.layers.max_pool import MaxPool
from tinysplit.network.layers.mul import Mul
from tinysplit.network.layers.normalization import Normalization
from tinysplit.network.layers.pad import Pad
from tinysplit.network.layers.permute import Permute
from tinysplit.network.layers.prelu import PRelu
from tinysplit.network.layers.recurrent import Cell, Recurrent
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.layers.upsample import Upsample
from tinysplit.network.layers.window import Pads, Window

KINDS: dict[str, type[Layer]] = {
    kind.kind: kind
    for kind in (
        Conv,
        DepthwiseConv,
        Dense,
        ConvTranspose,
        MaxPool,
        AveragePool,
        Add,
        Mul,
        Concat,
        Softmax,
        Lookup,
        PRelu,
        Pad,
        Permute,
        Upsample,
        RowSlice,
        RowJoin,
        PartialSum,
        AverageOfSums,
        Normalization,
        MatMul,
        Recurrent,
        ArgMax,
    )
}

__all__ = [
    "KINDS",
    "Activation",
    "Add",
    "ArgMax",
    "AverageOfSums",
    "AveragePool",
    "Cell",
    "Concat",
    "Conv",
    "ConvTranspose",
    "Dense",
    "DepthwiseConv",
    "Layer",
    "Lookup",
    "MatMul",
    "MaxPool",
    "Mul",
    "Normalization",
    "PRelu",
    "Pad",
    "Pads",
    "PartialSum",
    "Permute",
    "Recurrent",
    "RowJoin",
    "RowSlice",
    "Shape",
    "Softmax",
    "Upsample",
    "Window",
]
