"""Constant folding: values that do not depend on the network's input, such as dequantized weights and shapes."""

from collections.abc import Sequence

import onnx
from onnx import ModelProto, NodeProto, numpy_helper

from tinysplit.common.errors import InputError, one_line
from tinysplit.common.input_files.limits import CONSTANT_ELEMENTS
from tinysplit.network.onnx_session import open_session
from tinysplit.onnx_import.node import Constant
from tinysplit.onnx_import.size_limits import check_result_size

READABLE = {  # ONNX Runtime gives other types as the bytes of other ones, or not at all
    *(f"tensor({name})" for name in ("float16", "float", "double", "bool")),
    *(f"tensor({sign}int{bits})" for sign in ("", "u") for bits in (8, 16, 32, 64)),
}
CONTRIBUTED_OPSET = 1  # of the domains of ONNX Runtime's own operators
IR_VERSION = 8  # any that ONNX Runtime reads: the model here is a single node


def fold(model: ModelProto, opset: int) -> tuple[dict[str, Constant], int]:
    """Return the initializers and what the nodes compute from constants alone, by name, and the elements of the latter.

    Raises InputError as `evaluate`.
    """
    values: dict[str, Constant] = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    elements = 0
    for node in model.graph.node:
        if all(name in values for name in node.input if name):
            operands = [values[name] if name else None for name in node.input]
            constant = evaluate(node, operands, opset, limit=CONSTANT_ELEMENTS - elements)
            elements += constant.size
            values[node.output[0]] = constant
    return values, elements


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
    domains = {"": opset, node.domain: opset if node.domain in ("", "ai.onnx") else CONTRIBUTED_OPSET}
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in domains.items()]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
    try:
        session = open_session(model)
        element = session.get_outputs()[0].type
        results = session.run(None, {}) if element in READABLE else None
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
