"""Translate a .tflite network to an ONNX model: its inputs, its operators in their order, its outputs."""

from pathlib import Path

from onnx import ModelProto, helper

from tinysplit.common.errors import InputError
from tinysplit.tflite_import.operators import OPERATORS, unsupported
from tinysplit.tflite_import.tflite_file import DAMAGED, parse
from tinysplit.tflite_import.translation import RefusedError, Translation

OPSET, IR_VERSION = 21, 10  # the first with pairs of 16 bits


def translated(path: Path, contents: bytes) -> ModelProto:
    """Return the network of the contents of the file `path` as an ONNX model.

    Raises InputError, in one line, for a damaged file and for all operators that are not supported.
    """
    translation = Translation(parse(path, contents))
    try:
        inputs = [translation.given(i) for i in translation.file.inputs]
        _translate_operators(translation)
        translation.kind = ""
        outputs = [translation.result(i) for i in translation.file.outputs]
    except InputError as error:
        raise InputError(f"{path} cannot be imported: {error.message}") from None
    except RefusedError as error:
        raise InputError(f"{path} has an output that is no result of an operator: {error}") from None
    read = {name for node in translation.nodes for name in node.input}
    inputs = [value for value in inputs if value.name in read]  # not the sizes of an output, which the file has, too
    graph = helper.make_graph(translation.nodes, "tflite", inputs, outputs, translation.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def _translate_operators(translation: Translation) -> None:
    """Translate all operators in their order. Raises InputError with all that have no translation."""
    refused: dict[str, list[str]] = {}
    for operator in translation.file.operators:
        if refused and translation.reads_unknown(operator) and operator.kind in OPERATORS:
            continue
        translation.kind = operator.kind
        try:
            OPERATORS.get(operator.kind, unsupported)(translation, operator)
        except RefusedError as error:
            refused.setdefault(str(error), []).append(str(operator))
        except DAMAGED:
            refused.setdefault("options and tensors that contradict each other", []).append(str(operator))
    if refused:
        raise InputError("; ".join(f"{', '.join(nodes)}: {reason}" for reason, nodes in refused.items()))
