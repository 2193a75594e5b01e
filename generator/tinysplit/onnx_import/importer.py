"""Import of an ONNX file to a `Graph`: read, prepare, then translate one operator after the other."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, ValueInfoProto, numpy_helper

from tinysplit.common.errors import InputError, one_line
from tinysplit.network.ends import ALL_INPUTS, ALL_OUTPUTS, IntegerInput, NetworkInput, NetworkOutput
from tinysplit.network.graph import Graph, with_clamps
from tinysplit.network.layers import ArgMax, Concat, Layer, Permute, Shape
from tinysplit.onnx_import.constant_budget import ConstantBudget
from tinysplit.onnx_import.constants import evaluate, fold
from tinysplit.onnx_import.graph_builder import NO_MAP, OTHER_PADDING, GraphBuilder
from tinysplit.onnx_import.layout import Layout
from tinysplit.onnx_import.memory_order import small_memory_order
from tinysplit.onnx_import.missing import Missing
from tinysplit.onnx_import.model_file import NAMES_NO_TEXT, ModelFile, read_model
from tinysplit.onnx_import.node import (
    COMPUTED_OPERAND,
    NO_OPERAND,
    Constant,
    InputSource,
    Node,
    NodeError,
    Refusal,
    Tensor,
)
from tinysplit.onnx_import.operators import OPERATORS
from tinysplit.onnx_import.operators.declaration import Operator, TakenPad
from tinysplit.onnx_import.parts import read_in_parts
from tinysplit.onnx_import.pieces import take_pieces
from tinysplit.onnx_import.prepare import prepare
from tinysplit.onnx_import.qdq import extract_qdq
from tinysplit.onnx_import.states import check_unread, keeping_states
from tinysplit.tflite_import.kinds import operators_of

QUANTIZED = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinear", "ConvInteger", "MatMulInteger")
QUANTIZED_OPERATOR = Refusal(
    "belongs to a quantized network: give the float one, or one with QuantizeLinear and DequantizeLinear pairs"
)
UNSUPPORTED = "(inputs {}) is not supported: `tinysplit operators` lists the operators that are"
OTHER_ELEMENTS = Refusal(
    "gives other elements than the largest one: leave it out, and take them from what it reads (inputs {})"
)
SEVERAL_ACTIVATIONS = Refusal("reads {} computed values ({}), which only {} may do: not supported")
CONTRADICTION = Refusal("has attributes or constants that contradict each other: {}")
CONSTANT_NOT_FINITE = Refusal("has values in '{}' that are not finite (NaN or infinity): export the network again")
ATTRIBUTE_NOT_FINITE = Refusal("has the {} {}, which is not finite: export the network again")
NO_SECOND_OUTPUT = Refusal("computes the output '{}' of the network, which it does beside its first one: not supported")
COMMON_REFUSALS = (
    SEVERAL_ACTIVATIONS,
    CONTRADICTION,
    CONSTANT_NOT_FINITE,
    ATTRIBUTE_NOT_FINITE,
    NO_MAP,
    OTHER_PADDING,
    COMPUTED_OPERAND,
    NO_OPERAND,
    NO_SECOND_OUTPUT,
)  # of several operators


def import_model(path: Path, *, needs_weights: bool = True) -> Graph:
    """Read an ONNX network (opset 7 and later), float or quantized in QDQ format.

    Batch normalization, activations, constant arithmetic, padding and layout changes are folded into the layers.
    Without `needs_weights`, weights that the file lacks have stand-ins, which serve for estimates.
    Raises InputError, in one line, for what is not supported.
    """
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused with the name of its layer
            return _imported(path, needs_weights=needs_weights)
    except UnicodeDecodeError:  # of any name, where it is first read
        raise InputError(f"{path} is no valid ONNX model: {NAMES_NO_TEXT}") from None


def _imported(path: Path, *, needs_weights: bool) -> Graph:
    file = read_model(path, needs_weights=needs_weights)
    whole = prepare(file.model)
    budget = ConstantBudget()
    constants = fold(whole, file.opset, budget)
    float_model, qdq_formats = extract_qdq(whole, constants)
    model = prepare(float_model)
    pieces = take_pieces(model, constants)
    added = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer if t.name not in constants}
    values: dict[str, Tensor | Constant] = {**constants, **added}
    inputs = [_input(value) for value in model.graph.input if value.name not in values]
    outputs = [output.name for output in model.graph.output]
    names = (name for proto in model.graph.node for name in (proto.name, *proto.input, *proto.output))
    readers = Counter(chain(outputs, *(proto.input for proto in model.graph.node)))
    in_parts = read_in_parts(model.graph.node, outputs)
    builder = GraphBuilder(inputs, names, Counter(readers), in_parts, qdq_formats, budget, pieces)
    values |= {each.output: _read(Tensor(each.layout, each), each.output, readers) for each in inputs}
    missing = Missing(model)
    for proto in model.graph.node:
        if proto.output[0] not in values and not missing.skips(proto):
            try:
                results = _computed(proto, values, builder, file.opset)
            except NodeError as error:
                results = missing.add(proto, error)
            named = zip(proto.output, results, strict=False)
            values |= {name: _read(result, name, readers) for name, result in named if name}
        for read in filter(None, proto.input):
            readers[read] -= 1
            if not readers[read]:
                values.pop(read, None)
    if missing.errors:
        raise missing.error(path)
    for proto in model.graph.node:
        if lacking := next((name for name in proto.output if name in outputs and name not in values), None):
            raise NodeError(proto.op_type, proto.name, NO_SECOND_OUTPUT.template, lacking)
    graph = _graph(file, path, builder, {name: values[name] for name in outputs})
    return graph if file.has_weights else replace(graph, has_weights=False)


def _input(value: ValueInfoProto) -> InputSource:
    shape = [dimension.dim_value for dimension in value.type.tensor_type.shape.dim]
    return InputSource(value.name, Layout.identity(shape))


def _read(value: Tensor | Constant, name: str, readers: Mapping[str, int]) -> Tensor | Constant:
    """Return the ONNX value `name`."""
    return (
        replace(value, name=name, is_shared=value.is_shared or readers[name] > 1)
        if isinstance(value, Tensor)
        else value
    )


def _computed(
    proto: NodeProto, values: dict[str, Tensor | Constant], builder: GraphBuilder, opset: int
) -> Sequence[Tensor | Constant]:
    """Return the known outputs of a node; one that is constant, but not for `fold`, depends on a tensor's shape."""
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in proto.attribute}
    unknown = [name for name in proto.input if name and name not in values]
    if unknown:
        raise NodeError(proto.op_type, proto.name, "reads '{}', a second output: not supported", unknown[0])
    operands = tuple(values[name] if name else None for name in proto.input)
    node = Node(
        proto.op_type, proto.name, proto.output[0], operands, tuple(proto.input), attributes, opset, tuple(proto.output)
    )
    tensors = [operand for operand in operands if isinstance(operand, Tensor)]
    if not tensors:
        constants = [operand for operand in operands if not isinstance(operand, Tensor)]
        return (evaluate(proto, constants, opset, builder.constants),)
    if proto.domain not in ("", "ai.onnx") or proto.op_type not in OPERATORS:
        raise _unsupported(node, proto.domain)
    operator = OPERATORS[proto.op_type]
    if len(tensors) > 1 and not operator.joins:
        joining = ", ".join(name for name, other in OPERATORS.items() if other.joins)
        raise node.error(SEVERAL_ACTIVATIONS, len(tensors), node.shapes, joining)
    _check_finite(node, operator)
    node = replace(
        node,
        operands=tuple(_unpadded(node, operand, operator, builder) for operand in operands),
        attributes={name: attributes[name] for name in operator.attributes if name in attributes},
    )
    n_layers = len(builder.layers)
    try:
        result = operator.convert(node, builder)
    except (ValueError, IndexError, KeyError, TypeError) as error:  # attributes that ONNX's checker lets pass
        raise node.error(CONTRADICTION, one_line(error)) from None
    results = result if isinstance(result, tuple) else (result,)
    if len(builder.layers) == n_layers:
        for each in results:
            builder.count(each.layout.order.size if isinstance(each, Tensor) else 0, node.name)
    return results


def _check_finite(node: Node, operator: Operator) -> None:
    """Raise InputError for a constant or an attribute that is not finite, or NaN where it may be infinite."""
    is_bad = np.isnan if operator.takes_infinity else lambda values: ~np.isfinite(values)
    for name, operand in zip(node.names, node.operands, strict=True):
        if not isinstance(operand, Tensor | None) and operand.dtype.kind == "f" and is_bad(operand).any():
            raise node.error(CONSTANT_NOT_FINITE, name)
    for name, value in node.attributes.items():
        if np.asarray(value).dtype.kind == "f" and is_bad(np.asarray(value)).any():
            raise node.error(ATTRIBUTE_NOT_FINITE, name, value)


def _unpadded(
    node: Node, operand: Tensor | Constant | None, operator: Operator, builder: GraphBuilder
) -> Tensor | Constant | None:
    """Return the operand, after a padding layer where the node cannot absorb the Pad before it."""
    if not isinstance(operand, Tensor) or not operand.layout.is_padded:
        return operand
    is_taken = operator.taken_pad is TakenPad.ANY or (
        operator.taken_pad is TakenPad.ZEROS and operand.layout.pad_value == 0
    )
    if operator.layers and operand.layout.unpadded_map() is None:  # channels are padded, too
        is_taken = False
    return operand if is_taken else builder.padded(node, operand)


def _unsupported(node: Node, domain: str) -> NodeError:
    if node.op_type.startswith(QUANTIZED):
        return node.error(QUANTIZED_OPERATOR)
    if node.op_type == "TopK":
        return node.error(OTHER_ELEMENTS, node.shapes)
    name = f"{domain}.{node.op_type}" if domain else node.op_type
    return NodeError(name, node.name, UNSUPPORTED, node.shapes)


def _living(layers: Sequence[Layer], needed: set[str]) -> list[Layer]:
    """Return the layers that compute the `needed` values."""
    living = []
    for layer in reversed(layers):
        if layer.output in needed:
            needed.update(layer.inputs)
            living.append(layer)
    return living[::-1]


def _graph(file: ModelFile, path: Path, builder: GraphBuilder, values: Mapping[str, Tensor | Constant]) -> Graph:
    outputs = [_output(path, name, output, builder, file.opset) for name, output in values.items()]
    inputs = [_taken(path, source, file.input_integers.get(source.output)) for source in builder.inputs]
    layers: Sequence[Layer] = builder.layers
    if file.states:
        layers = keeping_states(layers, inputs, outputs, file.states)
        inputs = [each for each in inputs if each.name not in file.states]
        outputs = [each for each in outputs if each.name not in file.states.values()]
    layers = _living(layers, {output.value for output in outputs})
    check_unread(layers, file.states)
    if not layers:
        raise InputError(f"{path} holds no layer that computes: `tinysplit operators` lists those that do")
    for output in outputs:
        if output.value in {each.name for each in inputs}:
            raise InputError(f"the output '{output.name}' of {path} has but the values of its input '{output.value}'")
    layers = [*_copies_of_inputs(builder, inputs), *layers, *_outputs_together(builder, outputs)]
    clamped = [replace(layer, activation=builder.qdq.activation(layer)) for layer in layers]
    if builder.qdq.values:
        tflite = operators_of(file.model)
        clamped = [replace(layer, tflite=tflite.get(layer.name, "")) for layer in clamped]
    return Graph(
        name=path.stem,
        sha256=file.sha256,
        layers=with_clamps(small_memory_order(clamped, layers[0].inputs[0]), builder.qdq.values),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        qdq_formats=builder.qdq.values,
    )


def _copies_of_inputs(builder: GraphBuilder, inputs: Sequence[NetworkInput]) -> Iterator[Layer]:
    """Yield the layers that copy each of several inputs from the tensor in which they lie side by side."""
    if len(inputs) == 1:
        return
    name = builder.unused(ALL_INPUTS)
    names, sizes = {each.name for each in inputs}, [each.size for each in inputs]
    together = Shape(1, 1, sum(sizes))
    sources = (each for each in builder.inputs if each.output in names)
    for source, size, end in zip(sources, sizes, accumulate(sizes), strict=True):
        yield Permute(
            name=source.output,
            inputs=(name,),
            output=source.output,
            in_shape=together,
            new_shape=source.shape or Shape(1, 1, size),
            order=np.arange(end - size, end),
            keeps_integers=True,
        )


def _outputs_together(builder: GraphBuilder, outputs: Sequence[NetworkOutput]) -> Iterator[Layer]:
    """Yield the layer that brings several outputs together in one tensor."""
    if len(outputs) == 1:
        return
    name = builder.unused(ALL_OUTPUTS)
    first, *others = (Shape(1, 1, output.size) for output in outputs)
    values = tuple(output.value for output in outputs)
    yield Concat(name=name, inputs=values, output=name, in_shape=first, other_shapes=tuple(others), keeps_integers=True)


def _output(path: Path, name: str, output: Tensor | Constant, builder: GraphBuilder, opset: int) -> NetworkOutput:
    """Return an output of the network."""
    if not isinstance(output, Tensor):
        raise InputError(f"the output '{name}' of {path} does not depend on an input")
    if output.layout.is_padded:
        output = builder.padded(Node("Pad", name, name, (output,), (name,), {}, opset), output)
    producer, _, order = builder.as_stored(output)
    shape = order.shape[1:] if order.shape[:1] == (1,) else order.shape
    decides = producer if isinstance(producer, ArgMax) and order.size == 1 else None
    return NetworkOutput(
        name=name,
        shape=shape,
        order=order.ravel(),
        value=builder.source(producer),
        numbered_classes=decides.in_shape.channels if decides else 0,
    )


def _taken(path: Path, source: InputSource, integers: IntegerInput | None) -> NetworkInput:
    """Return an input of the network."""
    if source.order is None:
        raise InputError(f"no output of {path} depends on its input '{source.output}': export the network without it")
    return NetworkInput(name=source.output, shape=source.layout.shape[1:], order=source.order, integers=integers)
