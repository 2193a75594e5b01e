"""Constant folding: values that do not depend on the network's input, such as dequantized weights and shapes."""

from collections.abc import Sequence

from onnx import NodeProto

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.onnx_session import open_session
from tinysplit.onnx_import.constant_budget import ConstantBudget, node_model
from tinysplit.onnx_import.node import Constant


def evaluate(node: NodeProto, operands: Sequence[Constant | None], opset: int, budget: ConstantBudget) -> Constant:
    """Compute the node's first output with ONNX Runtime.

    Raises InputError where it cannot, or where that takes more than is left of `budget`.
    """
    budget.spend(node, operands, opset)
    given = {name: value for name, value in zip(node.input, operands, strict=True) if value is not None}
    model = node_model(node, given, opset)
    try:
        results = open_session(model).run(None, {value.name: given[value.name] for value in model.graph.input})
    except Exception as error:  # noqa: BLE001 - ONNX Runtime's own errors derive from nothing more specific
        raise InputError(
            f"{node.op_type} '{node.name}' reads constants that cannot be used: {one_line(error)}"
        ) from None
    constant: Constant = results[0]
    return constant
