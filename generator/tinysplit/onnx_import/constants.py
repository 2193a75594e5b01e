"""Constant folding: values that do not depend on the network's input, such as dequantized weights and shapes."""

from collections.abc import Sequence

import onnx
from onnx import NodeProto, numpy_helper

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.onnx_session import open_session
from tinysplit.onnx_import.node import Constant
from tinysplit.onnx_import.size_limits import check_result_size

IR_VERSION = 8  # any that ONNX Runtime reads: the model here is a single node


def evaluate(node: NodeProto, operands: Sequence[Constant | None], opset: int, limit: int) -> Constant:
    """Compute the node's first output with ONNX Runtime.

    Raises InputError where it cannot, or where the result has more than `limit` elements.
    """
    check_result_size(node, operands, opset, limit)
    given = {name: value for name, value in zip(node.input, operands, strict=True) if value is not None}
    graph = onnx.helper.make_graph(
        [node],
        "constant",
        inputs=[],
        outputs=[onnx.helper.make_empty_tensor_value_info(node.output[0])],
        initializer=[numpy_helper.from_array(value, name) for name, value in given.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=IR_VERSION)
    try:
        results = open_session(model).run(None, {})
    except Exception as error:  # noqa: BLE001 - ONNX Runtime's own errors derive from nothing more specific
        raise InputError(
            f"{node.op_type} '{node.name}' reads constants that cannot be used: {one_line(error)}"
        ) from None
    constant: Constant = results[0]
    return constant
