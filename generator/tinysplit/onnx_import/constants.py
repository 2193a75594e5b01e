"""Constant folding: values that do not depend on the network's input, such as dequantized weights and shapes."""

from collections.abc import Sequence

from onnx import ModelProto, NodeProto, numpy_helper

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.onnx_session import open_session
from tinysplit.onnx_import.constant_budget import ConstantBudget, node_model
from tinysplit.onnx_import.node import Constant

READABLE = {  # ONNX Runtime gives other types as the bytes of other ones, or not at all
    *(f"tensor({name})" for name in ("float16", "float", "double", "bool")),
    *(f"tensor({sign}int{bits})" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}


def fold(model: ModelProto, opset: int, budget: ConstantBudget) -> dict[str, Constant]:
    """Return the initializers and what nodes compute from constants alone, by name. Raises InputError as `evaluate`."""
    values: dict[str, Constant] = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if all(name in values for name in node.input if name):
            operands = [values[name] if name else None for name in node.input]
            values[node.output[0]] = evaluate(node, operands, opset, budget)
    return values


def evaluate(node: NodeProto, operands: Sequence[Constant | None], opset: int, budget: ConstantBudget) -> Constant:
    """Compute the node's first output with ONNX Runtime.

    Raises InputError where it cannot, or where that takes more than is left of `budget`.
    """
    budget.spend(node, operands, opset)
    given = {name: value for name, value in zip(node.input, operands, strict=True) if value is not None}
    model = node_model(node, given, opset)
    try:
        session = open_session(model)
        element = session.get_outputs()[0].type
        inputs = {value.name: given[value.name] for value in model.graph.input}
        results = session.run(None, inputs) if element in READABLE else None
    except Exception as error:  # noqa: BLE001 - ONNX Runtime's own errors derive from nothing more specific
        raise InputError(
            f"{node.op_type} '{node.name}' reads constants that cannot be used: {one_line(error)}"
        ) from None
    if results is None:
        raise InputError(
            f"{node.op_type} '{node.name}' makes a constant of the type {element}: supported are integers of 8 "
            "bits and more, and floats of 16 and more (not bfloat16)"
        )
    constant: Constant = results[0]
    return constant
