"""One function per ONNX operator: it reads a `Node`, adds layers to the `GraphBuilder` and returns the result.

Each raises InputError for a use of its operator that is not supported; the semantics are those of ONNX Operators.
"""

from tinysplit.onnx_import.operators import (  # noqa: F401 - each declares its operators
    arg_max,
    convolution,
    dense,
    functions,
    group_normalization,
    joining,
    movement,
    normalization,
    pooling,
    recurrent,
    resize,
    softmax,
)
from tinysplit.onnx_import.operators.declaration import DECLARED, Operator

OPERATORS: dict[str, Operator] = {each.name: each for each in sorted(DECLARED, key=lambda each: each.name)}
