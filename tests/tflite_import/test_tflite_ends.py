"""A .tflite network with two inputs and two outputs, against LiteRT's reference kernels."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from models.tflite_builder import Quantization, TfliteBuilder
from tinysplit.network.ends import by_name
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.sample_files import sample_source
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.quantize_model import quantize_model

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed (extra dev)")

FINE, COARSE = Quantization([1 / 64], 3), Quantization([1 / 8], -20)
RNG = np.random.default_rng(4)


def network(path: Path) -> Path:
    """Save a network that multiplies two int8 maps: one output is that, the other one a sum with the first map."""
    net = TfliteBuilder()
    x, z = net.tensor((1, 4, 3, 2), "int8", FINE), net.tensor((1, 4, 3, 2), "int8", COARSE)
    product = net.tensor((1, 4, 3, 2), "int8", Quantization([1 / 16], 5))
    total = net.tensor((1, 4, 3, 2), "int8", Quantization([1 / 10], 0))
    net.operator("MUL", [x, z], product, "MulOptions")
    net.operator("ADD", [product, x], total, "AddOptions")
    return net.save(path, [x, z], [total, product])


def test_integers_of_two_inputs_and_outputs(tmp_path: Path) -> None:
    path = network(tmp_path / "net.tflite")
    graph = import_model(path)
    assert [end.name for end in graph.inputs] == ["tensor 0", "tensor 1"]
    assert [end.name for end in graph.outputs] == ["tensor 3", "tensor 2"]
    arrays = {f"tensor {k}": RNG.integers(-128, 128, (30, 4, 3, 2)).astype(np.int8) for k in (0, 1)}
    samples = load_samples(sample_source(arrays), graph)
    quantized = quantize_model(graph, path, samples, 8, Console(quiet=True)).quantized
    assert [(round(1 / each.scale), each.zero_point) for each in quantized.input_formats] == [(64, 3), (8, -20)]
    found = by_name(graph.outputs, run_integer(quantized, samples.x))
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for k in range(30):
        for each in interpreter.get_input_details():
            interpreter.set_tensor(each["index"], arrays[each["name"]][k : k + 1])
        interpreter.invoke()
        for each in interpreter.get_output_details():
            expected = interpreter.get_tensor(each["index"])[0].astype(int)
            assert np.abs(found[each["name"]][k] - expected).max() <= 1
