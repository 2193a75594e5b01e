"""ONNX's own node tests, for the operators that are imported: through import, 16-bit quantization and the compiled C.

Each test's first input becomes the network's, with a batch of 1 in front of whatever shape it has; its other inputs
become constants. Operators that join activations get each of theirs by a matrix that chooses it from the network's.
What cannot apply is skipped with what the importer says, and only for the reasons listed here.
"""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.case.test_case import TestCase as NodeTest

from test_kernels import run_on_host
from tinysplit.errors import InputError
from tinysplit.graph import NETWORK_INPUT
from tinysplit.integer_reference import quantize_input, run_layers
from tinysplit.kernels import Kernel
from tinysplit.onnx_import import import_model
from tinysplit.onnx_import.operators import JOINING, OPERATORS
from tinysplit.qformat import IntArray
from tinysplit.quantize import choose_formats, quantize
from tinysplit.quantized import QuantizedGraph
from value_ranges import value_ranges

BITS = 16
LAST_OPSET = 21  # that ONNX Runtime knows
INTERPOLATED_ERROR = 5e-4  # of a function from a table of 1024 pieces, against its largest value
ROUNDED_ERROR = 1e-4
NOT_FLOAT = re.compile("U?INT|BOOL|UNDEFINED|FLOAT16|DOUBLE|STRING")
WHY_NOT = (
    "outputs",  # masks of Dropout, indices of MaxPool, statistics of a training batch
    "spatial dimensions",  # 3-D
    "is needed",  # a batch, or 3-D
    "holds no layer",  # only moves data
    "does not depend on its input",  # a constant
    "ends with a Pad",
    "interpolates",
    "whole factors",
    "does not repeat",
    "names the axes",
    "several rows at once",  # products of matrices
    "only activation",
    "reduces axes",
    "divides a constant",
    "only the channels of every pixel",
    "one for all, or one a channel",
    "contradict each other",
    "enlarges",
    "broadcasts other axes",
    "which only Add",  # quotients of activations
    "computes its operand",  # constants that the network computes
)


def node_tests() -> Iterator[NodeTest]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflows in the making of others
        every = collect_testcases(None)
    for case in every:
        model = case.model
        if model and len(model.graph.node) == 1 and model.graph.node[0].op_type in OPERATORS:
            yield case


CASES = {case.name: case for case in node_tests()}


def network(case: NodeTest) -> tuple[ModelProto, NDArray[np.float32], NDArray[np.float32]]:
    """Return the network of a test, its input and the output that it should have; skips a test without floats."""
    assert case.model
    assert case.data_sets
    inputs, expected = case.data_sets[0]
    element = TensorProto.DataType.Name(case.model.graph.input[0].type.tensor_type.elem_type)
    if NOT_FLOAT.match(element) or not isinstance(inputs[0], np.ndarray) or not inputs[0].size:
        pytest.skip(f"{case.name} is about {element} values: networks are float32")
    node = onnx.NodeProto()
    node.CopyFrom(case.model.graph.node[0])
    names = [value.name for value in case.model.graph.input]
    joined = len(inputs) if node.op_type in JOINING else 1
    x = np.concatenate([np.asarray(values, np.float32).ravel() for values in inputs[:joined]])
    constants = [
        numpy_helper.from_array(np.asarray(a), n) for a, n in zip(inputs[joined:], names[joined:], strict=True)
    ]
    nodes, start = [], 0
    for name, values in zip(names[:joined], inputs[:joined], strict=True):
        source = "network_input"
        if joined > 1:
            source = f"{name}_flat"
            chosen = np.eye(x.size, dtype=np.float32)[:, start : start + values.size]
            constants.append(numpy_helper.from_array(chosen, f"{name}_chosen"))
            nodes.append(helper.make_node("MatMul", ["network_input", f"{name}_chosen"], [source]))
        constants.append(numpy_helper.from_array(np.array(values.shape, np.int64), f"{name}_shape"))
        nodes.append(helper.make_node("Reshape", [source, f"{name}_shape"], [name]))
        start += values.size
    shape = [1, x.size] if joined > 1 else [1, *inputs[0].shape]
    output = case.model.graph.output
    first = helper.make_tensor_value_info("network_input", TensorProto.FLOAT, shape)
    graph = helper.make_graph([*nodes, node], "node_test", [first], output, constants)
    opset = min(max(entry.version for entry in case.model.opset_import if entry.domain == ""), LAST_OPSET)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return model, x.reshape(shape), np.asarray(expected[0])


@pytest.mark.parametrize("name", CASES)
def test_node(name: str, tmp_path: Path) -> None:
    model, x, expected = network(CASES[name])
    path = tmp_path / "node.onnx"
    onnx.save(model, path)
    try:
        graph = import_model(path)
        quantized = quantize(graph, choose_formats(graph, value_ranges(path, graph.value_names, x), BITS), BITS)
    except InputError as error:
        if any(reason in str(error) for reason in WHY_NOT):
            pytest.skip(f"{name}: {error}")
        raise
    outputs = list(run_layers(quantized, quantize_input(quantized, x)))
    last = quantized.output_format.dequantize(outputs[-1]).ravel()[graph.output_order]
    largest = float(np.abs(expected).max()) + float(np.abs(x).max())
    relative = INTERPOLATED_ERROR if any(layer.kind == "lookup" for layer in graph.layers) else ROUNDED_ERROR
    np.testing.assert_allclose(last, expected.ravel(), rtol=0, atol=relative * largest + quantized.output_format.scale)
    check_c(quantized, quantize_input(quantized, x), outputs, tmp_path)


def check_c(quantized: QuantizedGraph, x: IntArray, outputs: list[IntArray], folder: Path) -> None:
    """Compile the layers and hold their outputs against those of the integer reference, bit by bit."""
    graph = quantized.graph
    kernels = {number: Kernel.choose(layer, "cortex-m4") for number, layer in enumerate(quantized.layers, 1)}
    inputs = [
        [
            (x if source == NETWORK_INPUT else outputs[source]).reshape(1, *shape)
            for source, shape in zip(sources, layer.in_shapes, strict=True)
        ]
        for sources, layer in zip(graph.predecessors, graph.layers, strict=True)
    ]
    assert run_on_host(folder, kernels, inputs) == b"".join(output.tobytes() for output in outputs)
