"""Which opsets can be read: old ones are converted to the oldest one that the functions in `operators/` follow."""

from bisect import bisect_left

import onnx
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, version_converter

from tinysplit.common.errors import InputError, one_line

FIRST_OPSET = 7
FOLLOWED_OPSET = 11
LAST_OPSET = onnx.defs.onnx_opset_version()
IR_VERSION = 8  # from 4 on, initializers need not be inputs, as those that the converter adds are not
CONVERTER_ERRORS = (RuntimeError, version_converter.ConvertError, onnx.shape_inference.InferenceError)


def opset_of(model: ModelProto) -> int:
    """Return the opset of ONNX's own operators, 0 where the model names none."""
    return max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=0)


def convert_old(model: ModelProto) -> ModelProto:
    """Return `model` in `FOLLOWED_OPSET` if it is older; all values keep their names.

    Raises InputError where ONNX's converter cannot convert an operator.
    """
    opset = opset_of(model)
    if opset >= FOLLOWED_OPSET:
        return model
    newer = ModelProto()
    newer.CopyFrom(model)
    newer.ir_version = max(model.ir_version, IR_VERSION)
    try:
        return _with_names_of(model, version_converter.convert_version(newer, FOLLOWED_OPSET))
    except CONVERTER_ERRORS as error:
        node = _first_refused(newer)
        reason = one_line(error).rpartition("failed: ")[2]
        raise InputError(
            f"the network has opset {opset}, and ONNX's converter fails at {node.op_type} "
            f"'{node.name or node.output[0]}' ({reason}): export it with opset {FOLLOWED_OPSET} or later"
        ) from None


def _with_names_of(model: ModelProto, converted: ModelProto) -> ModelProto:
    """Return `converted` with the names in `model` of nodes that the converter replaced, as Upsample by Resize.

    The converter leaves a Resize at the positions that are usual in later opsets.

    Between these opsets it replaces single nodes, and adds nothing but constants.
    """
    before, after = ([node for node in m.graph.node if node.op_type != "Constant"] for m in (model, converted))
    names: dict[str, str] = {}
    for old, new in zip(before, after, strict=True):
        new.name = old.name
        if new.op_type == "Resize":  # which took no other positions before
            positions = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            new.attribute.extend(helper.make_attribute(name, value) for name, value in positions.items())
        names.update(zip(new.output, old.output, strict=True))
    for node in converted.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    for output in converted.graph.output:
        output.name = names.get(output.name, output.name)
    return converted


def _first_refused(model: ModelProto) -> NodeProto:
    """Return the node at whose conversion `model` fails: the last one of the shortest beginning that fails."""
    nodes: list[NodeProto] = list(model.graph.node)
    return nodes[bisect_left(range(len(nodes) - 1), True, key=lambda last: _is_refused(model, last))]


def _is_refused(model: ModelProto, last: int) -> bool:
    """Return whether the nodes of `model` up to number `last` cannot be converted."""
    beginning = ModelProto()
    beginning.CopyFrom(model)
    del beginning.graph.node[last + 1 :], beginning.graph.output[:]
    beginning.graph.output.append(ValueInfoProto(name=model.graph.node[last].output[0]))
    try:
        version_converter.convert_version(beginning, FOLLOWED_OPSET)
    except CONVERTER_ERRORS:
        return True
    return False
