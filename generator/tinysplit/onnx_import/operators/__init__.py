"""One function per ONNX operator: it reads a `Node`, adds layers to the `GraphBuilder` and returns the result.

Each raises InputError for a use of its operator that is not supported; the semantics are those of ONNX Operators.
"""

from collections.abc import Callable

from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.node import Constant, Node, Tensor
from tinysplit.onnx_import.operators import (
    convolution,
    dense,
    functions,
    joining,
    movement,
    normalization,
    pooling,
    resize,
    softmax,
)

JOINING = ("Add", "Concat", "Mul", "Sub", "Sum")  # operators that may read several activations
MOVING = ("Dropout", "Flatten", "Identity", "Reshape", "Shape", "Squeeze", "Transpose", "Unsqueeze")
WINDOWED = ("AveragePool", "Conv")  # operators whose window absorbs zero padding
TAKES_ANY_PAD = (*MOVING, "MaxPool", "Pad")
OPERATORS: dict[str, Callable[[Node, GraphBuilder], Tensor | Constant]] = {
    "Add": normalization.add,
    "AveragePool": pooling.average_pool,
    "BatchNormalization": normalization.batch_normalization,
    "Clip": normalization.clip,
    "Concat": joining.concat,
    "Conv": convolution.conv,
    "ConvTranspose": convolution.conv_transpose,
    "Div": normalization.div,
    "Dropout": movement.dropout,
    "Elu": functions.elu,
    "Flatten": movement.flatten,
    "Gemm": dense.gemm,
    "GlobalAveragePool": pooling.global_average_pool,
    "GlobalMaxPool": pooling.global_max_pool,
    "HardSigmoid": functions.hard_sigmoid,
    "HardSwish": functions.hard_swish,
    "Identity": movement.unchanged,
    "LeakyRelu": functions.leaky_relu,
    "MatMul": dense.matmul,
    "MaxPool": pooling.max_pool,
    "Mul": normalization.mul,
    "PRelu": functions.prelu,
    "Pad": movement.pad,
    "ReduceMax": pooling.reduce_max,
    "ReduceMean": pooling.reduce_mean,
    "Relu": normalization.relu,
    "Reshape": movement.reshape,
    "Resize": resize.resize,
    "Shape": movement.shape_of,
    "Sigmoid": functions.sigmoid,
    "Softmax": softmax.softmax,
    "Squeeze": movement.squeeze,
    "Sub": normalization.sub,
    "Sum": joining.add,
    "Tanh": functions.tanh,
    "Transpose": movement.transpose,
    "Unsqueeze": movement.unsqueeze,
}
