"""One function an ONNX operator: it reads a `Node`, adds to the `Chain` and returns what the node computes."""

from collections.abc import Callable

from tinysplit.onnx_import.chain import Chain
from tinysplit.onnx_import.node import Constant, Node, Tensor
from tinysplit.onnx_import.operators import convolution, dense, joining, movement, normalization, pooling, softmax

JOINING = ("Add", "Concat", "Mul", "Sub", "Sum")  # what may read several activations
OPERATORS: dict[str, Callable[[Node, Chain], Tensor | Constant]] = {
    "Add": normalization.add,
    "AveragePool": pooling.average_pool,
    "BatchNormalization": normalization.batch_normalization,
    "Clip": normalization.clip,
    "Concat": joining.concat,
    "Conv": convolution.conv,
    "Div": normalization.div,
    "Dropout": movement.unchanged,
    "Flatten": movement.flatten,
    "Gemm": dense.gemm,
    "GlobalAveragePool": pooling.global_average_pool,
    "GlobalMaxPool": pooling.global_max_pool,
    "Identity": movement.unchanged,
    "MatMul": dense.matmul,
    "MaxPool": pooling.max_pool,
    "Mul": normalization.mul,
    "Pad": movement.pad,
    "ReduceMax": pooling.reduce_max,
    "ReduceMean": pooling.reduce_mean,
    "Relu": normalization.relu,
    "Reshape": movement.reshape,
    "Shape": movement.shape_of,
    "Softmax": softmax.softmax,
    "Squeeze": movement.squeeze,
    "Sub": normalization.sub,
    "Sum": joining.add,
    "Transpose": movement.transpose,
    "Unsqueeze": movement.unsqueeze,
}
