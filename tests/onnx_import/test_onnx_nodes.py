"""ONNX's own node tests, for the operators that are imported: through import, 16-bit quantization and the compiled C.

Each test's first input becomes the network's, with a batch of 1 in front of whatever shape it has; its other inputs
become constants. Where the operator takes the first axis for a batch that it cannot have, it runs once for each of it.
Operators that join activations get each of theirs by a matrix that chooses it from the network's. Behind operators that
only move values comes a matrix that leaves them as they are: it is their order that is tested.
What cannot apply is skipped with what the importer says, and only for the reasons listed here.
"""

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.case.test_case import TestCase as NodeTest
from onnx.reference.ops import op_pool_common

from kernel_cases.kernels_on_host import run_on_host
from models.value_ranges import ranges_of
from session import profiles
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.common.errors import InputError
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.integer_reference import quantize_input, real_outputs, run_layers
from tinysplit.network.onnx_file.composed_operators import COMPOSED
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.onnx_import import import_model
from tinysplit.onnx_import.operators import OPERATORS
from tinysplit.quantize.choose_formats import choose_formats, quantize

BITS = 16
RECURRENT = {"GRU", "LSTM", "RNN"}
LENGTHS = 4  # the operand that has the steps of each sequence
JOINING = {"Div", *(name for name, operator in OPERATORS.items() if operator.joins)} - RECURRENT
slow_pool = op_pool_common.pool
LAST_OPSET = 23  # that ONNX Runtime knows
INTERPOLATED_ERROR = 5e-4  # of a function from a table of 1024 pieces, against its largest value
ROUNDED_ERROR = 1e-4
STEEP_ERROR = {"Log": 1e-2}  # of functions that are steeper than a piece shows
NOT_FLOAT = re.compile("U?INT|BOOL|UNDEFINED|B?FLOAT.+|DOUBLE|STRING")
FIRST_ALONE = {"LayerNormalization", *RECURRENT}  # without statistics, or last states
MOVED = {
    *("Cast", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "SpaceToDepth"),
    *("Split", "Squeeze", "Transpose", "Unsqueeze"),
}
WHY_NOT = (  # parts of what the importer says
    "beside its first one: not supported",  # masks of Dropout, indices of MaxPool
    "is in training mode",
    "has 3 spatial dimensions",
    "is needed",  # maps of 3 dimensions
    "does not depend on an input",  # Shape: a constant
    "holds no layer that computes",  # a reduction over no axes
    "takes fewer pixels with antialias",
    "takes pixels outside the map",
    "TopK '",  # of more than one element, or the smallest
    "which needs constant sizes or scales",  # tf_crop_and_resize of both axes
    "only one weight matrix for all is supported",  # other weights for each matrix of a batch
    "other values to each row",
    "only p=2 is supported",  # sums of absolute values
    "and functions of one value",  # of Max and Min
    "only one for all is supported",  # exponents
    "drops values at random",
    "sequences at once",
    "peephole weights",
    "sequences of",  # of several lengths
    "Unrecognized attribute: mode for operator SpaceToDepth",  # of opset 28
)


def pool_of_maps(padded: NDArray[Any], x_shape: Sequence[int], *arguments: Any, **options: Any) -> NDArray[Any]:  # noqa: ANN401
    """Pool as ONNX does, which takes seconds, but for tests with 3 spatial dimensions: the importer refuses those."""
    return slow_pool(padded, x_shape, *arguments, **options) if len(x_shape) <= len("NCHW") else padded


def node_tests() -> Iterator[NodeTest]:
    with warnings.catch_warnings(), patch.object(op_pool_common, "pool", pool_of_maps):
        warnings.simplefilter("ignore")  # overflows in the making of others
        every = collect_testcases(None)
    for case in every:
        model = case.model
        if model and len(model.graph.node) == 1 and model.graph.node[0].op_type in {*OPERATORS, *COMPOSED}:
            yield case


# Here ONNX takes the size before it is rounded down for the end of the map, other than ONNX Runtime and PyTorch.
ROUNDED_SIZES = {f"test_resize_downsample_scales_{mode}_align_corners" for mode in ("linear", "cubic")}
CASES = {case.name: case for case in node_tests()}


def operator_of(case: NodeTest) -> str:
    assert case.model
    return str(case.model.graph.node[0].op_type)


class Network(NamedTuple):
    """A network of one test: samples for its input, and the outputs, side by side, that it should have for each."""

    model: ModelProto
    x: NDArray[np.float32]
    expected: list[NDArray[np.float32]]


def networks(case: NodeTest) -> Iterator[Network]:
    """Yield the network of a test, then the one in which the first axis is a batch; skips a test without floats."""
    assert case.model
    assert case.data_sets
    inputs, outputs = case.data_sets[0]
    first = case.model.graph.input[0]
    kind = first.type.WhichOneof("value")
    element = TensorProto.DataType.Name(first.type.tensor_type.elem_type)
    made = case.model.graph.output[0].type.tensor_type.elem_type
    if made != TensorProto.FLOAT and operator_of(case) != "ArgMax":
        pytest.skip(f"{case.name} makes {TensorProto.DataType.Name(made)}: outputs are float32")
    if kind != "tensor_type" or NOT_FLOAT.match(element):
        pytest.skip(f"{case.name} is about {kind if kind != 'tensor_type' else element} values: networks are float32")
    output = case.model.graph.node[0].output
    expected = [np.asarray(values) for values in outputs[: 1 if operator_of(case) in FIRST_ALONE else len(output)]]
    if not inputs[0].size or not all(values.size for values in expected):
        pytest.skip(f"{case.name} is about a tensor without elements")
    joined = len(inputs) if operator_of(case) in JOINING else 1
    x = np.concatenate([np.asarray(values, np.float32).ravel() for values in inputs[:joined]])
    shape = (x.size,) if joined > 1 else inputs[0].shape
    shapes = [values.shape for values in expected]
    yield Network(_model(case, inputs, joined, shapes), x.reshape(1, *shape), [_flat(expected)])
    if operator_of(case) in RECURRENT:
        yield _of_sequences(case, inputs, expected[0])
    elif joined == 1 and all(values.shape[:1] == inputs[0].shape[:1] for values in expected):
        model = _model(case, [inputs[0][:1], *inputs[1:]], 1, [(1, *own[1:]) for own in shapes])
        each = [_flat(values) for values in zip(*expected, strict=True)]
        yield Network(model, x.reshape(shape)[:, np.newaxis], each)


def _flat(outputs: Iterable[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.concatenate([values.ravel() for values in outputs])


def _of_sequences(case: NodeTest, inputs: Sequence[NDArray[Any]], expected: NDArray[np.float32]) -> Network:
    """Return the network of one of several sequences, whose number is an axis of all but weights."""
    assert case.model
    node = case.model.graph.node[0]
    is_first = any(each.name == "layout" and each.i for each in node.attribute)
    places = [list(node.input).index(value.name) for value in case.model.graph.input]
    axes = {0: 1 - is_first, LENGTHS: 0, 5: 1 - is_first, 6: 1 - is_first}  # of the number, by operand
    first = [x.take([0], axes[place]) if place in axes else x for place, x in zip(places, inputs, strict=True)]
    states = [expected.take([k], 0 if is_first else -2) for k in range(inputs[0].shape[axes[0]])]
    samples = np.stack([inputs[0].take([k], axes[0]) for k in range(len(states))])
    return Network(_model(case, first, 1, [states[0].shape]), samples, [_flat([own]) for own in states])


def _model(
    case: NodeTest, inputs: Sequence[NDArray[np.float32]], joined: int, shapes: Sequence[tuple[int, ...]]
) -> ModelProto:
    """Return a network around the test's node that reads all of its first inputs from one."""
    assert case.model
    node = onnx.NodeProto()
    node.CopyFrom(case.model.graph.node[0])
    names = [value.name for value in case.model.graph.input]
    size = sum(values.size for values in inputs[:joined])
    constants = [
        numpy_helper.from_array(np.asarray(a), n) for a, n in zip(inputs[joined:], names[joined:], strict=True)
    ]
    nodes, start = [], 0
    for name, values in zip(names[:joined], inputs[:joined], strict=True):
        source = "network_input"
        if joined > 1:
            source = f"{name}_flat"
            chosen = np.eye(size, dtype=np.float32)[:, start : start + values.size]
            constants.append(numpy_helper.from_array(chosen, f"{name}_chosen"))
            nodes.append(helper.make_node("MatMul", ["network_input", f"{name}_chosen"], [source]))
        constants.append(numpy_helper.from_array(np.array(values.shape, np.int64), f"{name}_shape"))
        nodes.append(helper.make_node("Reshape", [source, f"{name}_shape"], [name]))
        start += values.size
    nodes.append(node)
    outputs = case.model.graph.output[: len(shapes)]
    del node.output[list(node.output).index(outputs[-1].name) + 1 :]
    output, shape = outputs[0], shapes[0]
    if node.op_type in MOVED and len(shapes) == 1:
        constants.append(numpy_helper.from_array(np.array([1, prod(shape)], np.int64), "row_shape"))
        constants.append(numpy_helper.from_array(np.eye(prod(shape), dtype=np.float32), "same"))
        nodes.append(helper.make_node("Reshape", [output.name, "row_shape"], ["row"]))
        nodes.append(helper.make_node("MatMul", ["row", "same"], ["moved"]))
        made = [helper.make_tensor_value_info("moved", TensorProto.FLOAT, [1, prod(shape)])]
    else:
        made = [
            helper.make_tensor_value_info(each.name, each.type.tensor_type.elem_type, own)
            for each, own in zip(outputs, shapes, strict=True)
        ]
    first = helper.make_tensor_value_info(
        "network_input", TensorProto.FLOAT, [1, size] if joined > 1 else [1, *inputs[0].shape]
    )
    graph = helper.make_graph([*nodes], "node_test", [first], made, constants)
    opset = min(max(entry.version for entry in case.model.opset_import if entry.domain == ""), LAST_OPSET)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("name", CASES)
def test_node(name: str, tmp_path: Path) -> None:
    path, refusals = tmp_path / "node.onnx", []
    if name in ROUNDED_SIZES:
        pytest.skip(f"{name}: expects other pixels than ONNX Runtime computes")
    for network in networks(CASES[name]):
        onnx.save(network.model, path)
        try:
            graph = import_model(path)
        except InputError as error:
            refusals.append(str(error).replace(f"{path}", "the network"))
            continue
        check(graph, path, network, operator_of(CASES[name]), tmp_path)
        return
    unexpected = [text for text in refusals if not any(reason in text for reason in WHY_NOT)]
    assert not unexpected
    pytest.skip(f"{name}: {refusals[0]}")


def check(graph: Graph, path: Path, network: Network, operator: str, folder: Path) -> None:
    """Compare the integer reference with what the test expects, and the compiled C with it (but in quick)."""
    ranges = ranges_of(graph, path, network.x)
    quantized = quantize(graph, choose_formats(graph, ranges, BITS), BITS)
    x = quantize_input(quantized, network.x)
    outputs = list(run_layers(quantized, x))
    last = real_outputs(quantized, outputs[-1].reshape(len(x), -1)[:, graph.output_order])
    expected = np.stack([each.ravel() for each in network.expected])
    largest = float(np.abs(expected).max()) + float(np.abs(network.x).max())
    relative = INTERPOLATED_ERROR if any(layer.kind == "lookup" for layer in graph.layers) else ROUNDED_ERROR
    relative = STEEP_ERROR.get(operator, relative)
    step = max(formats.scale for formats in quantized.output_formats)
    np.testing.assert_allclose(last, expected, rtol=0, atol=relative * largest + step)
    if profiles.current() is not profiles.Profile.QUICK:
        check_c(quantized, x, outputs, folder)


def check_c(quantized: QuantizedGraph, x: IntArray, outputs: list[IntArray], folder: Path) -> None:
    """Compile the layers and hold their outputs against those of the integer reference, bit by bit."""
    graph = quantized.graph
    kernels = {
        number: LayerSource.choose(shipped_table(), layer, "cortex-m4")
        for number, layer in enumerate(quantized.layers, 1)
    }
    inputs = [
        [
            (x if source == NETWORK_INPUT else outputs[source]).reshape(len(x), *shape)
            for source, shape in zip(sources, layer.in_shapes, strict=True)
        ]
        for sources, layer in zip(graph.predecessors, graph.layers, strict=True)
    ]
    assert run_on_host(folder, kernels, inputs) == b"".join(output.tobytes() for output in outputs)
